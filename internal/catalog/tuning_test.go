package catalog_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
)

func TestTuningIsComparedAndSwapped(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	if _, err := w.catalog.CreateMigration(ctx, catalog.Migration{ID: "contoso-1", TenantID: "contoso", State: "copying"}); err != nil {
		t.Fatal(err)
	}
	none, err := w.catalog.Tuning(ctx, "contoso-1")
	if err != nil || none != (catalog.TuningRecord{Tuning: catalog.Tuning{MigrationID: "contoso-1"}}) {
		t.Fatalf("without a row: %+v, %v", none, err)
	}
	first := none
	first.Rate, first.Workers, first.Paused = 500, 2, true
	first, err = w.catalog.SetTuning(ctx, first)
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.catalog.Tuning(ctx, "contoso-1")
	if d := cmp.Diff(first, got, cmpopts.IgnoreFields(catalog.Tuning{}, "Updated")); d != "" || err != nil || got.Changes != 1 {
		t.Errorf("written and read: %v\n%s", err, d)
	}
	if _, err := w.catalog.SetTuning(ctx, none); !errors.Is(err, catalog.ErrChanged) {
		t.Errorf("a second first one: %v", err)
	}
	got.Paused = false
	if got, err = w.catalog.SetTuning(ctx, got); err != nil || got.Changes != 2 {
		t.Errorf("second change: %+v, %v", got, err)
	}
	if _, err := w.catalog.SetTuning(ctx, first); !errors.Is(err, catalog.ErrChanged) {
		t.Errorf("a change of what was read before: %v", err)
	}
}
