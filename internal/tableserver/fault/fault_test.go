package fault

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/traffic"
)

func parse(t testing.TB, text string) *Rule {
	t.Helper()
	r, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// hits returns which of n equal requests are hit, counted from 1.
func hits(in *Injector, moment Moment, s Subject, n int) []int {
	var out []int
	for i := 1; i <= n; i++ {
		if _, _, ok := in.At(moment, s); ok {
			out = append(out, i)
		}
	}
	return out
}

func TestWhichOfTheMatchingRequestsAreHit(t *testing.T) {
	for text, want := range map[string][]int{
		"drop":                             {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		"drop,count=2":                     {1, 2},
		"drop,skip=3,count=2":              {4, 5},
		"drop,every=3":                     {3, 6, 9},
		"drop,every=3,count=1":             {3},
		"drop,skip=2,every=4":              {6, 10},
		"drop,probability=1,skip=9":        {10},
		"drop,operation=read":              nil,
		"drop,operation=InsertEntity|read": {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		"drop,operation=write,count=1":     {1},
		"drop,account=other":               nil,
		"drop,account=home,count=1":        {1},
		"drop,table=orders,count=1":        {1},
		"drop,table=order":                 nil,
		"drop,partition=a%2Cb,count=1":     {1},
		"drop,partition=a":                 nil,
		"drop,at=after":                    nil,
	} {
		in := NewInjector(1, parse(t, text))
		s := Subject{Operation: traffic.InsertEntity, Account: "home", Table: "Orders", PartitionKey: "a,b", Keyed: true}
		if got := hits(in, Before, s, 10); !slices.Equal(got, want) {
			t.Errorf("%s: hit %v, want %v", text, got, want)
		}
	}
}

func TestProbabilityFollowsTheSeed(t *testing.T) {
	draw := func(seed uint64) []int {
		return hits(NewInjector(seed, parse(t, "status=503,probability=0.25")), Before, Subject{}, 4000)
	}
	first, again, other := draw(7), draw(7), draw(8)
	if !slices.Equal(first, again) || slices.Equal(first, other) {
		t.Error("the choice does not follow the seed")
	}
	if n := len(first); n < 900 || n > 1100 { // 1,000 ± 3.6 standard deviations of 27
		t.Errorf("%d of 4,000 were hit with a probability of a quarter", n)
	}
}

func TestFirstRuleThatHitsDecides(t *testing.T) {
	in := NewInjector(0, parse(t, "status=503,count=1"), parse(t, "delay=2s,drop"), parse(t, "status=500,at=after,code=OperationTimedOut"))
	want := []Effect{{Status: 503, Code: "ServerBusy"}, {Delay: 2 * time.Second, Drop: true}}
	for _, e := range want {
		if got, _, ok := in.At(Before, Subject{}); !ok || got != e {
			t.Errorf("got %+v, want %+v", got, e)
		}
	}
	if got, rule, _ := in.At(After, Subject{}); got != (Effect{Status: 500, Code: "OperationTimedOut"}) || !strings.HasPrefix(rule, "status=500") {
		t.Errorf("after: %+v by %q", got, rule)
	}
	reports := in.Reports()
	if reports[0].Matched != 2 || reports[0].Hit != 1 || reports[1].Hit != 1 || reports[2].Hit != 1 {
		t.Errorf("reports %+v", reports)
	}
	in.Set(0)
	if _, _, ok := in.At(Before, Subject{}); ok {
		t.Error("a rule outlives Set")
	}
}

func TestUnkeyedRequestMatchesNoPartition(t *testing.T) {
	in := NewInjector(0, parse(t, "drop,partition="))
	if _, _, ok := in.At(Before, Subject{Operation: traffic.CreateTable}); ok {
		t.Error("a table operation matches the empty PartitionKey")
	}
	if _, _, ok := in.At(Before, Subject{Operation: traffic.QueryEntity, Keyed: true}); !ok {
		t.Error("the empty PartitionKey is not matched")
	}
}

func TestWrongRulesNameWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "no field",
		"operation=InsertEntity":             "does nothing",
		"code=ServerBusy":                    "does nothing",
		"delay=1s,code=ServerBusy":           "code needs a status",
		"operation=Insert,drop":              `no operation "Insert"`,
		"operation=read|Nope,drop":           `no operation "Nope"`,
		"drop=after":                         "stands alone",
		"drop,status=500":                    "has no status",
		"drop,drop":                          "twice",
		"status=200":                         "400 to 599",
		"status=600":                         "400 to 599",
		"status=418":                         "give code=TEXT",
		"status=500,code=a b":                "no error code",
		"delay=5":                            "250ms",
		"delay=11m":                          "up to 4m0s",
		"delay=-1s":                          "250ms",
		"drop,probability=0":                 "above 0",
		"drop,probability=1.5":               "above 0",
		"drop,probability=NaN":               "above 0",
		"drop,probability=0.5,every=2":       "exclude",
		"drop,every=0":                       "at least 1",
		"drop,at=later":                      "neither before nor after",
		"drop,table=":                        "empty",
		"drop,partition=%zz":                 "partition",
		"status=500,when=now":                `no field "when"`,
		"status":                             "no value",
		"operation=InsertEntity,status=500,": "no field",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("operation=write|QueryEntity,account=home,table=Orders,partition=a%2Cb,skip=1,every=2,count=3,at=after,delay=1s,status=503,code=ServerBusy")
	f.Add("drop,probability=0.5")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		if e := r.effect; e.Drop && e.Status != 0 || !e.Drop && e.Status == 0 && e.Delay == 0 || e.Status != 0 && e.Code == "" {
			t.Errorf("%q has the effect %+v", text, e)
		}
		if again, err := Parse(r.String()); err != nil || again.effect != r.effect {
			t.Errorf("%q is not read again: %v", r, err)
		}
	})
}
