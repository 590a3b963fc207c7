package tenancy

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

func TestEncodedKeysAreValidAndLeadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), keyText(0, 8), rapid.StringOf(rapid.SampledFrom([]rune("~!/\\#?07F\u0000\u0085"))),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		e := EncodeKey(s)
		if edm.UTF16Len(e) <= edm.MaxKeyUnits {
			if err := edm.ValidateKeyPart("RowKey", e); err != nil {
				t.Fatalf("EncodeKey(%q) = %q: %v", s, e, err)
			}
		}
		if back, err := DecodeKey(e); err != nil || back != s {
			t.Fatalf("%q → %q → %q, %v", s, e, back, err)
		}
	})
}

func TestEncodingIsReadable(t *testing.T) {
	for _, c := range [][2]string{
		{"US AIRWAYS*", "US AIRWAYS*"}, {"EXPRESSJET (CONTINENTAL EXPRS)", "EXPRESSJET (CONTINENTAL EXPRS)"}, {"", ""},
		{"a/b", "a~2Fb"}, {`a\b`, "a~5Cb"}, {"#1?", "~231~3F"}, {"~", "~7E"}, {"\t", "~09"}, {"\u0085", "~85"}, {"\xff", "~!FF"}, {"\xc2", "~!C2"},
	} {
		if got := EncodeKey(c[0]); got != c[1] {
			t.Errorf("EncodeKey(%q) = %q, want %q", c[0], got, c[1])
		}
	}
}

func TestTextsThatEncodeKeyDoesNotProduceAreRefused(t *testing.T) {
	for _, s := range []string{"~", "~2", "~!", "~!F", "~zz", "~2f", "~41", "~!41", "~!C2~!80", "a/b", "~+1", "\xff"} {
		if got, err := DecodeKey(s); err == nil {
			t.Errorf("DecodeKey(%q) = %q", s, got)
		}
	}
}

func FuzzDecodeKey(f *testing.F) {
	for _, s := range []string{"", "a", "~2F", "~!FF", "~7E~7E", "~", "~!"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if out, err := DecodeKey(s); err == nil && EncodeKey(out) != s {
			t.Errorf("DecodeKey(%q) = %q, which encodes to %q", s, out, EncodeKey(out))
		}
	})
}
