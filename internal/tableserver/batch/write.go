package batch

import (
	"net/http"
	"strconv"
)

// Field is a header line of a part. Names are written as given: the JavaScript SDK looks for "ETag: " in the text.
type Field struct{ Name, Value string }

// Response is one part of an answer.
type Response struct {
	Status int
	Header []Field
	Body   []byte
}

// ChangeSetBoundary and BatchBoundary return the boundaries of an answer with the given id, a GUID.
func ChangeSetBoundary(id string) string { return "changesetresponse_" + id }

// BatchBoundary returns the boundary that the answer's Content-Type header names.
func BatchBoundary(id string) string { return "batchresponse_" + id }

// AppendChangeSet writes the answer to a change set: all parts, or the one of the operation that failed.
func AppendChangeSet(dst []byte, id string, parts []Response) []byte {
	outer, inner := BatchBoundary(id), ChangeSetBoundary(id)
	dst = append(dst, "--"+outer+"\r\nContent-Type: multipart/mixed; boundary="+inner+"\r\n\r\n"...)
	for _, p := range parts {
		dst = append(dst, "--"+inner+"\r\n"...)
		dst = appendPart(dst, p)
	}
	return append(dst, "--"+inner+"--\r\n--"+outer+"--\r\n"...)
}

// AppendQuery writes the answer to a single query.
func AppendQuery(dst []byte, id string, p Response) []byte {
	dst = append(dst, "--"+BatchBoundary(id)+"\r\n"...)
	dst = appendPart(dst, p)
	return append(dst, "--"+BatchBoundary(id)+"--\r\n"...)
}

func appendPart(dst []byte, p Response) []byte {
	dst = append(dst, "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 "...)
	dst = strconv.AppendInt(dst, int64(p.Status), 10)
	dst = append(append(append(dst, ' '), http.StatusText(p.Status)...), "\r\n"...)
	for _, f := range p.Header {
		dst = append(dst, f.Name+": "+f.Value+"\r\n"...)
	}
	dst = append(dst, "\r\n"...)
	dst = append(dst, p.Body...)
	return append(dst, "\r\n"...)
}
