package auth

import (
	"maps"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// texts of keys; 😀 sorts before ～ in UTF-16 code units, after it in UTF-8.
var texts = []string{"", "a", "a b", "ab", "b+c", "b", "😀", "～"}

// The range rule of reference §7.5, literally: without srk and erk only PartitionKeys are compared, with them pairs.
func inRange(fields url.Values, k edm.Key) bool {
	if fields.Has("spk") {
		first := edm.CompareText(k.PartitionKey, fields.Get("spk"))
		if first < 0 || first == 0 && fields.Has("srk") && edm.CompareText(k.RowKey, fields.Get("srk")) < 0 {
			return false
		}
	}
	if fields.Has("epk") {
		last := edm.CompareText(k.PartitionKey, fields.Get("epk"))
		if last > 0 || last == 0 && fields.Has("erk") && edm.CompareText(k.RowKey, fields.Get("erk")) > 0 {
			return false
		}
	}
	return true
}

func genRange() *rapid.Generator[url.Values] {
	return rapid.Custom(func(t *rapid.T) url.Values {
		fields := url.Values{}
		for _, names := range [][]string{{"spk", "srk"}, {"epk", "erk"}} {
			for _, name := range names[:rapid.IntRange(0, 2).Draw(t, "fields")] {
				fields.Set(name, rapid.SampledFrom(texts).Draw(t, name))
			}
		}
		return fields
	})
}

func TestKeysAreAllowedExactlyInTheRangeOfTheToken(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		fields := genRange().Draw(rt, "range")
		g := grantOf(t, tableToken(t, "se=2026-07-01&sp=r&"+fields.Encode()))
		for _, pk := range texts {
			for _, rk := range texts {
				k := edm.Key{PartitionKey: pk, RowKey: rk}
				if allowed := g.AllowKey(k) == nil; allowed != inRange(fields, k) || allowed != g.Range().Contains(k) {
					rt.Fatalf("%v with %v: allowed is %v", k, fields, allowed)
				}
			}
		}
	})
}

func TestChangedByteInASignedURLIsRefused(t *testing.T) {
	tokens := []string{
		tableToken(t, "st=2026-01-01&se=2026-07-01T00:00Z&sp=raud&sip=127.0.0.1&spr=https&spk=a%20b&srk=%C3%A9&epk=b&erk=c"),
		tableToken(t, "si=p&spk=contoso%7C00&epk=contoso%7C15"),
		accountToken(t, "ss=t&srt=sco&sp=rwdlacu&st=2026-01-01&se=2026-07-01&sip=127.0.0.1&spr=https"),
	}
	a := newTestAuthenticator(t, testPolicies{"devstoreaccount1/orders": {{ID: "p", Expiry: noon, Permission: "r"}}})
	meaning := func(query string) sasToken {
		token, err := parseSAS(query)
		if err != nil || token == nil {
			return nil
		}
		token["tn"] = strings.ToLower(token["tn"]) // table names are compared without regard to case
		return token
	}
	rapid.Check(t, func(rt *rapid.T) {
		query := rapid.SampledFrom(tokens).Draw(rt, "token")
		if _, err := a.Authenticate(sasRequest(query), DevelopmentAccount); err != nil {
			rt.Fatal(err)
		}
		changed := []byte(query)
		changed[rapid.IntRange(0, len(query)-1).Draw(rt, "place")] = rapid.Byte().Draw(rt, "byte")
		if maps.Equal(meaning(string(changed)), meaning(query)) {
			return // the same bytes, or another spelling of them
		}
		if _, err := a.Authenticate(sasRequest(string(changed)), DevelopmentAccount); codeOf(t, err) == "" {
			rt.Fatalf("%q is accepted", changed)
		}
	})
}

func FuzzSASQuery(f *testing.F) {
	for _, seed := range []string{
		"", "sig", "sv=2019-02-02&sig=x", "sv=2019-02-02&ss=t&srt=sco&sp=r&se=2026-07-01&sig=%3D",
		"sv=2019-02-02&tn=orders&si=p&spk=&erk=%00&sig=%zz", "sv=2025-07-05&skoid=x&sig=", "sp=r&sp=r&sig=x", "%73ig=x&sv=;&&&==",
		"sv=2012-02-12&tn=%C3%A9&se=x&sp=r&sig=x", "tn=orders&ss=t&sig=a&sv=9999-99-99",
	} {
		f.Add(seed)
	}
	a := newTestAuthenticator(f, nil)
	f.Fuzz(func(t *testing.T, query string) {
		if g, err := a.Authenticate(sasRequest(query), DevelopmentAccount); g != nil || codeOf(t, err) == "" {
			t.Fatalf("%q opens the door: %v", query, err)
		}
		for _, sign := range []func(testing.TB, string) string{tableToken, accountToken} {
			fields, err := url.ParseQuery(query)
			if err != nil || fields.Has("sig") || fields.Has("sv") || fields.Has("tn") {
				continue
			}
			_, err = a.Authenticate(sasRequest(sign(t, query)), DevelopmentAccount)
			codeOf(t, err) // whatever it is, it is a grant or a refusal
		}
	})
}
