package tableserver

import (
	"net/http"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// format is how a client wants its answer.
type format struct {
	level edm.Metadata
	// json says that errors go out as JSON; otherwise as XML, for Accept */* or none (reference §8.2).
	json bool
	// refusal is the answer to an operation that has a body to send in a format that does not exist any more.
	refusal *failure
}

var (
	errAtom    = fail("AtomFormatNotSupported", "Atom format is not supported.")
	errVerbose = fail("JsonFormatNotSupported", "JSON format is not supported.")
)

// formatOf reads Accept, which $format overrides. Blanks do not count, and the first media type that names a
// known format does.
func formatOf(h http.Header, q query) format {
	text := h.Get("Accept")
	if f := q.get("$format"); f != "" {
		text = f
	}
	text = strings.ToLower(strings.ReplaceAll(text, " ", ""))
	f := format{level: edm.MinimalMetadata}
	for media := range strings.SplitSeq(text, ",") {
		kind, params, _ := strings.Cut(media, ";")
		switch kind {
		case "application/json", "json":
			f.json = true
			f.level, f.refusal = levelOf(params)
			return f
		case "*/*", "application/*":
			f.refusal = nil
			return f
		}
	}
	f.refusal = errAtom
	return f
}

func levelOf(params string) (edm.Metadata, *failure) {
	for p := range strings.SplitSeq(params, ";") {
		switch p {
		case "odata=nometadata":
			return edm.NoMetadata, nil
		case "odata=fullmetadata":
			return edm.FullMetadata, nil
		case "odata=verbose":
			return edm.MinimalMetadata, errVerbose
		}
	}
	return edm.MinimalMetadata, nil
}

// contentType is the Content-Type of a JSON body.
func (f format) contentType() string {
	switch f.level {
	case edm.NoMetadata:
		return "application/json;odata=nometadata;streaming=true;charset=utf-8"
	case edm.FullMetadata:
		return "application/json;odata=fullmetadata;streaming=true;charset=utf-8"
	default:
		return "application/json;odata=minimalmetadata;streaming=true;charset=utf-8"
	}
}

// preference is a Prefer header; it counts for Create Table and Insert Entity only.
type preference uint8

const (
	noPreference preference = iota
	returnContent
	returnNoContent
)

func preferenceOf(h http.Header) preference {
	switch strings.ToLower(strings.TrimSpace(h.Get("Prefer"))) {
	case "return-no-content":
		return returnNoContent
	case "return-content":
		return returnContent
	}
	return noPreference
}

// applied is the value of Preference-Applied, "" for no header.
func (p preference) applied() string {
	return [...]string{"", "return-content", "return-no-content"}[p]
}
