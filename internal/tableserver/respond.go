package tableserver

import (
	"bytes"
	"encoding/xml"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// The Server header of the table service, and that of the web front end, which refuses bad credentials and bad URLs
// (recordings).
const (
	serverHeader   = "Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0"
	frontEndServer = "Microsoft-HTTPAPI/2.0"
)

// defaultVersion is what a request without x-ms-version is answered with.
const defaultVersion = "2019-02-02"

// set writes a header with the spelling that the service uses; http.Header.Set would change it.
func (c *call) set(name, value string) { c.w.Header()[name] = []string{value} }

// commonHeaders are those of every answer (reference §1.4). x-ms-version echoes the request's.
func (c *call) commonHeaders() {
	c.set("Server", serverHeader)
	c.set("x-ms-request-id", c.id)
	version := c.r.Header.Get("x-ms-version")
	if !versionForm.MatchString(version) {
		version = defaultVersion
	}
	c.set("x-ms-version", version)
	if id := c.r.Header.Get("x-ms-client-request-id"); id != "" && len(id) <= 1<<10 {
		c.set("x-ms-client-request-id", id)
	}
}

// odataHeaders are those of every OData answer.
func (c *call) odataHeaders() {
	c.set("Cache-Control", "no-cache")
	c.set("X-Content-Type-Options", "nosniff")
	if applied := c.prefer.applied(); applied != "" {
		c.set("Preference-Applied", applied)
	}
}

// writeJSON answers with a body in the negotiated level.
func (c *call) writeJSON(status int, body []byte) error {
	if err := c.beforeAnswer(); err != nil {
		return err
	}
	c.odataHeaders()
	c.set("Content-Type", c.format.contentType())
	c.write(status, body)
	return nil
}

// write sends a body in chunks, as the service does.
func (c *call) write(status int, body []byte) {
	c.set("Transfer-Encoding", "chunked")
	c.exposeHeaders()
	c.w.WriteHeader(status)
	if c.r.Method != http.MethodHead {
		_, _ = c.w.Write(body) // the client is gone if this does not work
	}
}

// writeNothing answers an OData operation without a body.
func (c *call) writeNothing() error {
	c.odataHeaders()
	return c.writeEmpty()
}

// contentLengthOf204 is Content-Length as net/http lets it pass: it removes the header from a 204, in its own spelling
// only, because HTTP forbids it there. The service sends it (recordings).
const contentLengthOf204 = "content-length"

// writeEmpty answers without a body and without OData headers.
func (c *call) writeEmpty() error {
	if err := c.beforeAnswer(); err != nil {
		return err
	}
	c.set(contentLengthOf204, "0")
	c.exposeHeaders()
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// utf8BOM begins the XML bodies of the service.
const utf8BOM = "\ufeff"

// writeXML answers an ACL or service operation.
func (c *call) writeXML(document any) error {
	body, err := xml.Marshal(document)
	if err != nil {
		return err
	}
	if err := c.beforeAnswer(); err != nil {
		return err
	}
	c.set("Content-Type", "application/xml")
	c.write(http.StatusOK, append([]byte(utf8BOM+xmlDeclaration), closeEmpty(body)...))
	return nil
}

// closeEmpty writes elements without content as the service does: <Cors /> for <Cors></Cors>. Text holds no ">" of its
// own, it is escaped there.
func closeEmpty(document []byte) []byte {
	var out []byte
	for {
		i := bytes.Index(document, []byte("></"))
		if i < 0 {
			return append(out, document...)
		}
		start := bytes.LastIndexByte(document[:i], '<')
		name := document[start+1 : i]
		end := i + len("></") + len(name) + len(">")
		if end <= len(document) && string(document[i+len("></"):end-1]) == string(name) {
			out = append(append(out, document[:i]...), " />"...)
			document = document[end:]
			continue
		}
		out = append(out, document[:i+1]...)
		document = document[i+1:]
	}
}

const (
	xmlDeclaration    = `<?xml version="1.0" encoding="utf-8"?>`
	metadataNamespace = "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"
)

// fail answers with an error in the form that reference §8 gives it.
func (c *call) fail(err error) {
	f := failureOf(err)
	c.seen.ErrorCode = f.code
	if f == errInternal { // not the one with which the service answers filters of tables
		c.s.log.Error("answering with InternalError", slog.Any("error", err), slog.String("request_id", c.id))
	}
	if f.code == frontEndCode {
		c.failFrontEnd(f)
		return
	}
	if f.challenge != "" {
		c.set("WWW-Authenticate", f.challenge)
	}
	if f.code == "AuthenticationFailed" || f.code == "InvalidAuthenticationInfo" {
		c.set("Server", frontEndServer)
	}
	switch {
	case f.frontDoor || c.plain:
		body := c.errorXML(f, "m:")
		c.set("x-ms-error-code", f.code)
		c.set("Content-Type", "application/xml")
		c.set("Content-Length", strconv.Itoa(len(body)))
		c.exposeHeaders()
		c.w.WriteHeader(f.status)
		if c.r.Method != http.MethodHead {
			_, _ = c.w.Write(body)
		}
	case c.format.json:
		c.failureHeaders(f)
		c.set("Content-Type", c.format.contentType())
		c.write(f.status, c.errorJSON(f, ""))
	default:
		c.failureHeaders(f)
		c.set("Content-Type", "application/xml;charset=utf-8")
		c.write(f.status, c.errorXML(f, ""))
	}
}

func (c *call) failureHeaders(f *failure) {
	if c.prefer == returnContent {
		c.prefer = noPreference
	}
	c.odataHeaders()
	if f.uncached {
		delete(c.w.Header(), "Cache-Control")
	}
}

// failFrontEnd answers as the web server in front of the service, without any x-ms header.
func (c *call) failFrontEnd(f *failure) {
	clear(c.w.Header())
	c.set("Server", frontEndServer)
	c.set("Content-Type", "text/html; charset=us-ascii")
	c.set("Connection", "close")
	c.w.WriteHeader(f.status)
	_, _ = c.w.Write([]byte("<HTML><HEAD><TITLE>Bad Request</TITLE></HEAD><BODY><h2>Bad Request - Invalid URL</h2>" +
		"<hr><p>HTTP Error 400. The request URL is invalid.</p></BODY></HTML>\r\n"))
}

// text is the message as it goes out. The time always has seven digits. prefix is an index within a batch.
func (c *call) text(f *failure, prefix string) string {
	return prefix + f.message + "\nRequestId:" + c.id + "\nTime:" + time.Now().UTC().Format("2006-01-02T15:04:05.0000000Z")
}

func (c *call) errorJSON(f *failure, prefix string) []byte {
	b := append([]byte(`{"odata.error":{"code":`), edm.AppendJSONString(nil, f.code)...)
	b = append(b, `,"message":{"lang":"en-US","value":`...)
	b = edm.AppendJSONString(b, c.text(f, prefix))
	return append(b, "}}}"...)
}

// errorXML writes <error> in the metadata namespace, with prefix "m:" or as the default namespace.
func (c *call) errorXML(f *failure, prefix string) []byte {
	var b strings.Builder
	b.WriteString(xmlDeclaration + "<" + prefix + "error xmlns")
	if prefix != "" {
		b.WriteString(":m")
	}
	b.WriteString(`="` + metadataNamespace + `"><` + prefix + "code>" + f.code + "</" + prefix + "code><" +
		prefix + `message xml:lang="en-US">`)
	b.WriteString(xmlText(c.text(f, "")))
	b.WriteString("</" + prefix + "message>")
	if prefix != "" && f.detail != "" && (f.code == "AuthenticationFailed" || f.code == "InvalidAuthenticationInfo") {
		b.WriteString("<m:AuthenticationErrorDetail>")
		b.WriteString(xmlText(f.detail))
		b.WriteString("</m:AuthenticationErrorDetail>")
	}
	b.WriteString("</" + prefix + "error>")
	return []byte(b.String())
}

// unescapedInText are the escapes of xml.EscapeText that text need not have and that the service does not write.
var unescapedInText = strings.NewReplacer("&#xA;", "\n", "&#34;", `"`, "&#39;", "'")

func xmlText(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return unescapedInText.Replace(b.String())
}
