package catalog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
)

var evacuationTime = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func evacuate(t *testing.T, w *world, name string, tenants ...string) (catalog.EvacuationRecord, []catalog.EvacuationMoveRecord) {
	t.Helper()
	head, err := w.catalog.CreateEvacuation(t.Context(), catalog.Evacuation{Name: name, State: "running", Detail: json.RawMessage(`{"v":1}`), Created: evacuationTime})
	if err != nil {
		t.Fatal(err)
	}
	var moves []catalog.EvacuationMoveRecord
	for i, id := range tenants {
		moves = append(moves, catalog.EvacuationMoveRecord{EvacuationMove: catalog.EvacuationMove{TenantID: id, Number: i, To: "own", State: "waiting"}})
	}
	head, moves, err = w.catalog.ChangeEvacuation(t.Context(), head, moves...)
	if err != nil {
		t.Fatal(err)
	}
	return head, moves
}

func TestEvacuationIsReadAsItWasWritten(t *testing.T) {
	w := newWorld(t)
	evacuate(t, w, "other", "contoso")
	head, moves := evacuate(t, w, "e", "contoso", "fabrikam")
	at := evacuationTime
	head.State, head.Reason, head.Ended = "stopped", "2 failed", at
	moves[1].EvacuationMove = catalog.EvacuationMove{TenantID: "fabrikam", Number: 1, To: "own", Account: "premium", Sources: []string{"a/T"}, Targets: []string{"b"},
		State: "moving", Released: true, Attempts: 3, Lease: catalog.Lease{Owner: "host/1", Epoch: 2, Expires: at}, NotBefore: at,
		Detail: json.RawMessage(`{"error":"x"}`), Started: at, Ended: at}
	wantHead, wantMove, err := w.catalog.ChangeEvacuation(t.Context(), head, moves[1])
	if err != nil {
		t.Fatal(err)
	}
	gotHead, gotMoves, err := w.catalog.Evacuation(t.Context(), "e")
	if err != nil {
		t.Fatal(err)
	}
	ignore := cmp.Options{cmpopts.IgnoreFields(catalog.Evacuation{}, "Updated"), cmpopts.IgnoreFields(catalog.EvacuationMove{}, "Updated")}
	if d := cmp.Diff(wantHead, gotHead, ignore); d != "" {
		t.Errorf("head (-written +read):\n%s", d)
	}
	if d := cmp.Diff([]catalog.EvacuationMoveRecord{moves[0], wantMove[0]}, gotMoves, ignore); d != "" {
		t.Errorf("moves (-written +read):\n%s", d)
	}
	if d := cmp.Diff(moves[1].EvacuationMove, gotMoves[1].EvacuationMove, ignore); d != "" {
		t.Errorf("move (-given +read):\n%s", d)
	}
	all, err := w.catalog.Evacuations(t.Context())
	if err != nil || len(all) != 2 || all[0].Name != "e" || all[1].Name != "other" {
		t.Errorf("evacuations: %+v, %v", all, err)
	}
	if _, _, err := w.catalog.Evacuation(t.Context(), "nobody"); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("an evacuation that is not there: %v", err)
	}
}

func TestNoChangeRestsOnAnEvacuationThatIsNoLongerAsItWasRead(t *testing.T) {
	w := newWorld(t)
	head, moves := evacuate(t, w, "e", "contoso", "fabrikam")
	renewed := moves[0]
	renewed.Lease = catalog.Lease{Owner: "me", Epoch: 1, Expires: evacuationTime}
	if _, err := w.catalog.RenewMove(t.Context(), "e", renewed); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.catalog.ChangeEvacuation(t.Context(), head, moves[0]); !errors.Is(err, catalog.ErrChanged) {
		t.Errorf("a change of a move that was renewed: %v", err)
	}
	next, _, err := w.catalog.ChangeEvacuation(t.Context(), head, moves[1])
	if err != nil {
		t.Fatalf("a renewal of one move stopped a change of another: %v", err)
	}
	if _, _, err := w.catalog.ChangeEvacuation(t.Context(), head); !errors.Is(err, catalog.ErrChanged) {
		t.Errorf("a change on a head that was replaced: %v", err)
	}
	if _, _, err := w.catalog.ChangeEvacuation(t.Context(), next, catalog.EvacuationMoveRecord{EvacuationMove: catalog.EvacuationMove{TenantID: "contoso"}}); !errors.Is(err, catalog.ErrChanged) {
		t.Errorf("a move added a second time: %v", err)
	}
	if _, err := w.catalog.CreateEvacuation(t.Context(), catalog.Evacuation{Name: "e", State: "running"}); !errors.Is(err, catalog.ErrExists) {
		t.Errorf("created again: %v", err)
	}
}

// Whatever becomes of the requests of a change, it is made once or not at all, and who asked for it learns which.
func TestAChangeOfAnEvacuationWhoseAnswersAreLostIsMadeOnce(t *testing.T) {
	for _, lost := range []string{"request", "answer"} {
		for nth := 1; nth <= 4; nth++ {
			t.Run(fmt.Sprint(lost, nth), func(t *testing.T) {
				w := newWorld(t)
				head, moves := evacuate(t, w, "e", "contoso")
				n := 0
				cut := func(_ int, r *http.Request) error {
					if n++; n == nth {
						return errCut
					}
					return nil
				}
				if lost == "request" {
					w.wire.before = cut
				} else {
					w.wire.after = cut
				}
				moves[0].Attempts++
				_, written, err := w.catalog.ChangeEvacuation(t.Context(), head, moves[0])
				w.wire.before, w.wire.after = nil, nil
				_, now, rerr := w.catalog.Evacuation(t.Context(), "e")
				if rerr != nil {
					t.Fatal(rerr)
				}
				switch {
				case err == nil && (now[0].Attempts != 1 || written[0].ETag != now[0].ETag):
					t.Errorf("said to be made, and the move is %+v", now[0])
				case err != nil && !errors.Is(err, catalog.ErrUnclear):
					t.Errorf("one lost %s: %v", lost, err)
				case now[0].Attempts > 1:
					t.Errorf("made %d times", now[0].Attempts)
				}
			})
		}
	}
}
