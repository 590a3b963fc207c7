package tablestorage

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strings"
)

// byteOrderMark begins the XML bodies of the service.
var byteOrderMark = []byte("\xef\xbb\xbf")

// parseErrorBody reads code and message of an error in any of the service's forms: OData JSON, OData XML, and the
// prefixed XML of authentication, ACL and service calls. Anything else gives empty strings.
func parseErrorBody(body []byte) (code, message string) {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, byteOrderMark))
	if len(body) == 0 {
		return "", ""
	}
	if body[0] == '{' {
		var j struct {
			Error struct {
				Code    string
				Message struct{ Value string }
			} `json:"odata.error"`
		}
		if json.Unmarshal(body, &j) != nil {
			return "", ""
		}
		return j.Error.Code, withoutRequestID(j.Error.Message.Value)
	}
	// encoding/xml compares local names, so both prefixed and plain elements are found.
	var x struct {
		XMLName xml.Name
		Code    string `xml:"code"`
		Message string `xml:"message"`
		// Blob-style capital names, which front doors use.
		UpperCode    string `xml:"Code"`
		UpperMessage string `xml:"Message"`
	}
	if xml.Unmarshal(body, &x) != nil || !strings.EqualFold(x.XMLName.Local, "error") {
		return "", ""
	}
	return x.Code + x.UpperCode, withoutRequestID(x.Message + x.UpperMessage)
}

// withoutRequestID cuts the lines RequestId and Time off a message.
func withoutRequestID(message string) string {
	if i := strings.Index(strings.ToLower(message), "\nrequestid:"); i >= 0 {
		message = message[:i]
	}
	return strings.TrimSpace(message)
}
