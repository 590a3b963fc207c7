package provider

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

func quote(s string) string { return fmt.Sprintf("%q", s) }

// sentence makes an error read as a diagnostic's detail: a capital at its start, a full stop at its end.
func sentence(err error) string {
	s := strings.TrimSpace(err.Error())
	if s == "" {
		return s
	}
	r, size := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(r)) + s[size:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

// addServiceError says what could not be done. Errors of the service say themselves what to do about them.
func addServiceError(diags *diag.Diagnostics, summary string, err error) {
	diags.AddError(summary, sentence(err))
}

// refuseProtected says that deletion protection stands in the way.
func refuseProtected(diags *diag.Diagnostics, what string) {
	diags.AddError(what+" is protected from deletion",
		"Its `deletion_protection` is true in Terraform's state. To destroy it, set `deletion_protection = false`"+
			", apply, and then destroy it. A change of the flag takes effect only once it is applied.")
}
