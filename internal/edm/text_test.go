package edm_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

func TestTextOfAValueReadsBackTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := value().Draw(t, "value")
		got, err := edm.ParseValue(v.Type(), v.String())
		if err != nil || got != v {
			t.Fatalf("%v %s: got %v, %v", v.Type(), v, got, err)
		}
	})
}

func TestDoubleAlwaysHasAPointOrAnExponent(t *testing.T) { // reference §2.3
	for f, want := range map[float64]string{
		3: "3.0", 0: "0.0", 3.1: "3.1", -2.5: "-2.5", 0.1: "0.1", 1e20: "100000000000000000000.0", 1e21: "1e+21", 1e-6: "0.000001", 1e-7: "1e-07",
		math.MaxFloat64: "1.7976931348623157e+308", math.SmallestNonzeroFloat64: "5e-324", math.Inf(-1): "-Infinity",
	} {
		if got := edm.DoubleValue(f).String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := edm.DoubleValue(math.Copysign(0, -1)).String(); got != "-0.0" {
		t.Errorf("minus zero is %s", got)
	}
}

func TestTypesHaveTheNamesOfTheirAnnotations(t *testing.T) {
	for typ := edm.String; typ <= edm.Binary; typ++ {
		if got, ok := edm.ParseType(typ.String()); !ok || got != typ {
			t.Errorf("%v reads as %v, %v", typ, got, ok)
		}
	}
	if _, ok := edm.ParseType(""); ok {
		t.Error(`"" is a type`)
	}
}

func TestValueOfNoTypeIsRefused(t *testing.T) {
	_, err := edm.ParseValue(0, "x")
	requireCode(t, err, "InvalidInput")
}

func TestTimeIsTrimmedAsTheServiceTrimsIt(t *testing.T) { // reference §2.3, §2.4, §6
	for _, c := range []struct{ in, text, etag string }{
		{"2020-07-24T14:34:32.2506465Z", "2020-07-24T14:34:32.2506465Z", `W/"datetime'2020-07-24T14%3A34%3A32.2506465Z'"`},
		{"2020-07-24T14:34:32.4767000Z", "2020-07-24T14:34:32.4767Z", `W/"datetime'2020-07-24T14%3A34%3A32.4767Z'"`},
		{"2020-07-24T14:34:05.0000000Z", "2020-07-24T14:34:05Z", `W/"datetime'2020-07-24T14%3A34%3A05Z'"`},
		{"2020-07-24T14:34:05.000000199Z", "2020-07-24T14:34:05.0000001Z", `W/"datetime'2020-07-24T14%3A34%3A05.0000001Z'"`},
		{"2020-07-24T14:34:05+02:30", "2020-07-24T12:04:05Z", `W/"datetime'2020-07-24T12%3A04%3A05Z'"`},
		{"0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", `W/"datetime'0001-01-01T00%3A00%3A00Z'"`},
	} {
		in := timeOf(t, c.in)
		if got := edm.FormatTime(in); got != c.text {
			t.Errorf("%s: text %s, want %s", c.in, got, c.text)
		}
		if got := edm.ETagOf(in); got != c.etag {
			t.Errorf("%s: ETag %s, want %s", c.in, got, c.etag)
		}
	}
}

func TestTimeIsReadInEachFormThatTheServiceTakes(t *testing.T) { // reference §1.6, §2.3; "" for refused
	for in, want := range map[string]string{
		"2020-02-29":                        "2020-02-29T00:00:00Z",
		"2020-01-22T10:11Z":                 "2020-01-22T10:11:00Z",
		"2020-01-22T10:11:12":               "2020-01-22T10:11:12Z", // no zone is UTC
		"2020-01-22T10:11:12.1Z":            "2020-01-22T10:11:12.1Z",
		"2020-01-22T10:11:12.1234567+00:00": "2020-01-22T10:11:12.1234567Z",
		"2020-01-22T10:11:12.123456789Z":    "2020-01-22T10:11:12.1234567Z",
		"2020-01-22T10:11:12-14:00":         "2020-01-23T00:11:12Z",
		"2020-01-22T10:11+05:30":            "2020-01-22T04:41:00Z",
		"1601-01-01T00:00:00Z":              "1601-01-01T00:00:00Z",
		"9999-12-31T23:59:59.9999999Z":      "9999-12-31T23:59:59.9999999Z",
		"9999-12-31T23:59:59.9999999+01:00": "9999-12-31T22:59:59.9999999Z",
		"":                                  "", "2020": "", "2020-1-22": "", "2020-13-01": "", "2020-00-01": "", "2020-01-00": "", "2021-02-29": "", "2020-04-31": "",
		"0000-01-01": "", "2020-01-22 10:11:12": "", "2020-01-22T10": "", "2020-01-22T24:00:00Z": "", "2020-01-22T10:60:00Z": "", "2020-01-22T10:11:60Z": "",
		"2020-01-22T10:11:12.Z": "", "2020-01-22T10:11:12z": "", "2020-01-22T10:11:12+0100": "", "2020-01-22T10:11:12+14:01": "", "2020-01-22T10:11:12Zx": "",
		"2020-01-22Z": "", " 2020-01-22": "", "2020-01-22T10:11:12,5Z": "", "２020-01-22": "", "-020-01-22": "", "2020-01-22T10:11:1:": "",
	} {
		got, err := edm.ParseTime(in)
		if want == "" {
			if codeOf(err) != "InvalidInput" {
				t.Errorf("%q: %v, error %v, want InvalidInput", in, got, err)
			}
			continue
		}
		if err != nil || edm.FormatTime(got) != want || got.Location() != time.UTC {
			t.Errorf("%q: %v, error %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"1600-12-31T23:59:59.9999999Z", "1601-01-01T00:59:59+01:00", "9999-12-31T23:59:59-00:01", "0001-01-01T00:00:00+14:00"} {
		_, err := edm.ParseTime(in)
		requireCode(t, err, "OutOfRangeInput")
	}
}

func FuzzParseTime(f *testing.F) {
	for _, seed := range []string{"2020-02-29", "2020-01-22T10:11Z", "2020-01-22T10:11:12.1234567+05:30", "1601-01-01T00:00:00", "9999-12-31T23:59:59.9999999Z", "0001-01-01T00:00:00+14:00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tm, err := edm.ParseTime(s)
		if err != nil {
			if codeOf(err) == "" {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if again, err := edm.ParseTime(edm.FormatTime(tm)); err != nil || !again.Equal(tm) {
			t.Fatalf("%q reads as %v, which reads back as %v, %v", s, tm, again, err)
		}
		if std, err := time.Parse(time.RFC3339Nano, s); err == nil && edm.Ticks(std) != edm.Ticks(tm) {
			t.Fatalf("%q reads as %v, package time says %v", s, tm, std)
		}
	})
}
