package traffic

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"time"
)

// Fields names the columns of an access log.
type Fields uint8

// OwnFields are short names in lower case; AzureFields those of the StorageTableLogs table of Azure Monitor, so
// that a query written for one reads the other.
const (
	OwnFields Fields = iota
	AzureFields
)

// ParseFields reads "own" or "azure".
func ParseFields(text string) (Fields, bool) {
	switch text {
	case "own":
		return OwnFields, true
	case "azure":
		return AzureFields, true
	}
	return OwnFields, false
}

// Log writes one JSON line for each request. It is safe for concurrent use. A line that cannot be written is lost,
// and the request is answered all the same.
type Log struct {
	handler slog.Handler
	fields  Fields
	keys    Keys
}

// NewLog returns a log that writes to w, one Write for each line.
func NewLog(w io.Writer, fields Fields, keys Keys) *Log {
	// The line is made of the fields alone: slog's own time, level and message say nothing here.
	drop := func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
			return slog.Attr{}
		}
		return a
	}
	return &Log{handler: slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: drop}), fields: fields, keys: keys}
}

// Write adds a finished request.
func (l *Log) Write(r *Request, host string) {
	record := slog.NewRecord(time.Time{}, slog.LevelInfo, "", 0)
	if l.fields == AzureFields {
		record.AddAttrs(l.azure(r, host)...)
	} else {
		record.AddAttrs(l.own(r)...)
	}
	_ = l.handler.Handle(context.Background(), record)
}

const logTime = "2006-01-02T15:04:05.0000000Z"

func (l *Log) own(r *Request) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("at", r.Start.UTC().Format(logTime)),
		slog.String("operation", string(r.Operation)),
		slog.String("account", r.Account),
		slog.String("table", r.Table),
		slog.Int("status", r.Status),
		slog.String("error", r.ErrorCode),
		slog.Float64("duration_ms", milliseconds(r.Duration)),
		slog.Int("entities", r.Entities),
		slog.Int64("bytes_in", r.BytesIn),
		slog.Int64("bytes_out", r.BytesOut),
		slog.String("request_id", r.ID),
		slog.String("client_request_id", r.ClientID),
		slog.String("auth", r.Scheme),
		slog.String("remote", r.Remote),
		slog.String("user_agent", r.UserAgent),
	}
	if r.Keyed {
		name := "partition_key_hash"
		if l.keys == PlainKeys {
			name = "partition_key"
		}
		attrs = append(attrs, slog.String(name, l.keys.Show(r.PartitionKey)))
	}
	if r.Injected != "" {
		attrs = append(attrs, slog.String("injected", r.Injected))
	}
	return attrs
}

// azure follows the columns of StorageTableLogs (Azure Monitor reference). Columns of which this server knows
// nothing are left out. PartitionKey is ours: Azure's logs have it in the Uri only.
func (l *Log) azure(r *Request, host string) []slog.Attr {
	scheme, protocol := "http", "HTTP"
	if r.TLS != "" {
		scheme, protocol = "https", "HTTPS"
	}
	attrs := []slog.Attr{
		slog.String("TimeGenerated", r.Start.UTC().Format(logTime)),
		slog.String("Type", "StorageTableLogs"),
		slog.String("SchemaVersion", "1.0"),
		slog.String("Category", string(r.Operation.Category())),
		slog.String("ServiceType", "table"),
		slog.String("AccountName", r.Account),
		slog.String("OperationName", string(r.Operation)),
		slog.String("OperationVersion", r.Version),
		slog.String("ObjectKey", "/"+r.Account+"/"+r.Table),
		slog.String("StatusCode", strconv.Itoa(r.Status)),
		slog.String("StatusText", statusText(r)),
		slog.Float64("DurationMs", milliseconds(r.Duration)),
		slog.Float64("ServerLatencyMs", milliseconds(r.Duration)),
		slog.Int64("RequestBodySize", r.BytesIn),
		slog.Int64("ResponseBodySize", r.BytesOut),
		slog.String("CorrelationId", r.ID),
		slog.String("ClientRequestId", r.ClientID),
		slog.String("AuthenticationType", r.Scheme),
		slog.String("CallerIpAddress", r.Remote),
		slog.String("UserAgentHeader", r.UserAgent),
		slog.String("Protocol", protocol),
		slog.String("TlsVersion", r.TLS),
		slog.String("Uri", l.keys.address(r, scheme, host)),
	}
	if r.Keyed {
		attrs = append(attrs, slog.String("PartitionKey", l.keys.Show(r.PartitionKey)))
	}
	return attrs
}

// statusText is the error code, or the word that Azure has for success with each kind of credential.
func statusText(r *Request) string {
	switch {
	case r.ErrorCode != "":
		return r.ErrorCode
	case r.Status == 0:
		return "NetworkError"
	case r.Scheme == "SAS":
		return "SASSuccess"
	}
	return "Success"
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
