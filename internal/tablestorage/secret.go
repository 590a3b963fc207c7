package tablestorage

import (
	"encoding/json"
	"fmt"
	"io"
)

// redacted is what a secret prints as.
const redacted = "REDACTED"

// Secret holds a text that must not be printed: an account key, a SAS, a client secret. Every verb of fmt and JSON
// show REDACTED, or nothing at all when it is empty. The text is behind a pointer, so that a Secret in an unexported
// field, where fmt cannot call its methods, does not show it either.
type Secret struct{ text *string }

// NewSecret wraps a text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// Reveal returns the text. Only the code that signs or sends it should ask.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero says whether the secret is empty.
func (s Secret) IsZero() bool { return s.text == nil }

// String returns REDACTED.
func (s Secret) String() string {
	if s.text == nil {
		return ""
	}
	return redacted
}

// Format writes REDACTED for every verb and flag.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalJSON writes "REDACTED".
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }
