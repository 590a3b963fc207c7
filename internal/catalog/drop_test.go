package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// later makes an operator's clock run ahead, past the time in which a drop may still be carried out.
func (w *world) later() *world {
	w.catalog.SetClock(func() time.Time { return time.Now().Add(time.Hour) })
	return w
}

// isDrop says whether a request drops a table.
func isDrop(r *http.Request) bool {
	return r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/Tables(")
}

// A deletion sleeps before any of its requests while another finishes it and the tenant is created anew, with entities of the
// same keys. What came later stays; a table whose drop was on its way is given to nobody meanwhile.
func TestDeletionThatSleptLeavesWhatCameLater(t *testing.T) {
	w := newWorld(t).declare(pool(), ownTable())
	for _, model := range []string{"pool", "own-table"} {
		// Asleep before the first, in which it reads the tenant's row, it would rightly delete the new tenant.
		for n, asleep, refusals := 2, true, 0; asleep || refusals == 0 && model == "own-table"; n++ {
			if n > 60 {
				t.Fatalf("%s: still asleep at request %d, %d refusals", model, n, refusals)
			}
			place := w.create(catalog.TenantSpec{ID: "victim", Model: model}).Placement["orders"]
			pk := place.Range.First.PartitionKey
			for i := range 120 {
				w.put(place.Table, pk, fmt.Sprint(i))
			}
			sleeper, renewed := w.operator(t), false
			asleep = false
			sleeper.wire.set(func(i int, r *http.Request) error {
				if i != n {
					return nil
				}
				asleep = true
				other := w.operator(t)
				if err := other.p.Delete(t.Context(), "victim", true); err != nil {
					t.Errorf("%s, asleep before request %d: %v", model, n, err)
				}
				_, err := other.p.Create(t.Context(), catalog.TenantSpec{ID: "victim", Model: model})
				var dropping *catalog.TableDroppingError
				switch renewed = err == nil; {
				case errors.As(err, &dropping):
					refusals++
				case err != nil:
					t.Errorf("%s, asleep before request %d: %v", model, n, err)
				case isDrop(r):
					t.Errorf("%s, asleep before request %d: the table was given away while a request to drop it is on its way", model, n)
				default:
					for i := range 120 {
						other.put(place.Table, pk, fmt.Sprint(i))
					}
				}
				return nil
			}, nil)
			err := sleeper.p.Delete(t.Context(), "victim", true)
			if renewed {
				rec, rerr := w.catalog.Tenant(t.Context(), "victim")
				if rerr != nil || rec.State != tenancy.Active {
					t.Fatalf("%s, asleep before request %d: the new tenant %+v, %v", model, n, rec, rerr)
				}
				if len(w.keys(place.Table)) != 120 {
					t.Fatalf("%s, asleep before request %d (%v): %d of 120 new entities are left", model, n, err, len(w.keys(place.Table)))
				}
				if claims, cerr := w.catalog.Claims(t.Context(), place.Storage, place.Table); cerr != nil || len(claims) != 1 {
					t.Fatalf("%s, asleep before request %d: claims %v, %v", model, n, claims, cerr)
				}
			}
			if err := w.operator(t).p.Delete(t.Context(), "victim", true); err != nil && !errors.Is(err, catalog.ErrNotFound) {
				t.Fatal(err)
			}
			w = w.operator(t).later() // intents of this round have run out for the next
		}
	}
}

func TestDropWhoseAnswerIsLostKeepsTheNameUntilTheRequestIsDead(t *testing.T) {
	w := newWorld(t).declare(ownTable())
	w.create(catalog.TenantSpec{ID: "contoso", Model: "own-table"})
	cut := w.operator(t)
	cut.wire.set(nil, func(_ int, r *http.Request) error {
		if isDrop(r) {
			return errCut
		}
		return nil
	})
	if err := cut.p.Delete(t.Context(), "contoso", false); err == nil {
		t.Fatal("the deletion did not say that it does not know")
	}
	if err := w.p.Delete(t.Context(), "contoso", false); err != nil {
		t.Fatal(err)
	}
	var dropping *catalog.TableDroppingError
	_, err := w.p.Create(t.Context(), catalog.TenantSpec{ID: "contoso", Model: "own-table"})
	if !errors.As(err, &dropping) || dropping.Table != "Orderscontoso" || time.Until(dropping.Until) < 15*time.Minute || time.Until(dropping.Until) > 22*time.Minute {
		t.Errorf("created at once: %v", err)
	}
	if s := w.snapshot(); len(s.Tenants) != 0 {
		t.Errorf("the refusal left %+v", s.Tenants)
	}
	if _, err := w.operator(t).later().p.Create(t.Context(), catalog.TenantSpec{ID: "contoso", Model: "own-table"}); err != nil {
		t.Errorf("created later: %v", err)
	}
}

func TestTableOfAnotherTenantIsNotDropped(t *testing.T) {
	w := newWorld(t).declare(ownTable())
	w.create(catalog.TenantSpec{ID: "contoso", Model: "own-table"})
	table := w.accounts.Home().Table("OrdersContoso")
	err := w.catalog.DropTable(t.Context(), table, "fabrikam", time.Now().Add(time.Minute), func(ctx context.Context) error { return nil }, asIs)
	if !errors.Is(err, catalog.ErrConflict) || !w.tableExists("OrdersContoso") {
		t.Errorf("got %v", err)
	}
	gone := errors.New("the right to drop is lost")
	err = w.catalog.DropTable(t.Context(), table, "contoso", time.Now().Add(time.Minute), func(ctx context.Context) error { return gone }, asIs)
	if !errors.Is(err, gone) || !w.tableExists("OrdersContoso") {
		t.Errorf("got %v", err)
	}
	err = w.catalog.DropTable(t.Context(), table, "contoso", time.Now().Add(-time.Second), func(ctx context.Context) error { return nil }, asIs)
	if !errors.Is(err, context.DeadlineExceeded) || !w.tableExists("OrdersContoso") {
		t.Errorf("past the deadline: %v", err)
	}
}

// asIs is a last look that finds nothing against it.
func asIs(context.Context) error { return nil }
