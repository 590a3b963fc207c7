package catalog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

func TestMigrationIsReadAsItWasWritten(t *testing.T) {
	w := newWorld(t)
	at := time.Date(2026, 7, 1, 12, 0, 0, 123456700, time.UTC)
	want := catalog.Migration{ID: "contoso-1", TenantID: "contoso", From: "pool", To: "own-table", Source: contoso().Placement, Target: contoso().Placement, State: "copying",
		Lease: catalog.Lease{Owner: "host/1", Epoch: 3, Expires: at}, Copied: 7, Total: 1 << 40, Detail: json.RawMessage(`{"v":1}`), Created: at}
	rec, err := w.catalog.CreateMigration(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.catalog.Migration(t.Context(), "contoso-1")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got.Migration, cmpopts.IgnoreFields(catalog.Migration{}, "Updated")); d != "" {
		t.Errorf("read back (-want +got):\n%s", d)
	}
	if d := cmp.Diff(rec, got, cmpopts.IgnoreFields(catalog.Migration{}, "Updated")); d != "" {
		t.Errorf("written and read (-written +read):\n%s", d)
	}
	got.State, got.Ended, got.Lease = "done", at, catalog.Lease{}
	if got, err = w.catalog.UpdateMigration(t.Context(), got); err != nil || !got.Ended.Equal(at) || !got.Lease.Expires.IsZero() {
		t.Errorf("ended: %+v, %v", got, err)
	}
	if _, err := w.catalog.UpdateMigration(t.Context(), rec); !errors.Is(err, catalog.ErrChanged) {
		t.Errorf("update of what was read before: %v", err)
	}
	if _, err := w.catalog.CreateMigration(t.Context(), want); !errors.Is(err, catalog.ErrExists) {
		t.Errorf("created again: %v", err)
	}
	want.ID, want.TenantID = "fabrikam-1", "fabrikam"
	if _, err := w.catalog.CreateMigration(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	for tenant, n := range map[string]int{"": 2, "contoso": 1, "nobody": 0} {
		if all, err := w.catalog.Migrations(t.Context(), tenant); err != nil || len(all) != n {
			t.Errorf("migrations of %q: %d, %v; want %d", tenant, len(all), err, n)
		}
	}
}

func TestLogHasEachNumberOnce(t *testing.T) {
	w := newWorld(t)
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	var want []catalog.Step
	for seq := int64(1); seq <= 12; seq++ {
		s := catalog.Step{MigrationID: "m|1", Seq: seq, Kind: catalog.StepIntent, Name: "freeze", Detail: fmt.Sprint("détail ", seq), Time: at}
		if err := w.catalog.AppendStep(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		want = append(want, s)
	}
	if err := w.catalog.AppendStep(t.Context(), want[4]); !errors.Is(err, catalog.ErrExists) {
		t.Errorf("number 5 again: %v", err)
	}
	if err := w.catalog.AppendStep(t.Context(), catalog.Step{MigrationID: "m|1"}); err == nil {
		t.Error("number 0 was written")
	}
	if err := w.catalog.AppendStep(t.Context(), catalog.Step{MigrationID: "m|10", Seq: 1}); err != nil {
		t.Fatal(err)
	}
	got, err := w.catalog.Steps(t.Context(), "m|1")
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
}

func TestChunksAreReadInOrderAndApartFromSteps(t *testing.T) {
	w := newWorld(t)
	if err := w.catalog.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	var want []catalog.Chunk
	for _, logical := range []string{"invoices", "orders"} {
		for n := range 120 { // more than one transaction
			want = append(want, catalog.Chunk{MigrationID: "m1", Logical: logical, Number: n, Range: tenancy.WholeTable(), After: edm.Key{PartitionKey: "p", RowKey: "r"},
				Started: true, Done: n%2 == 0, Count: int64(n), Keys: []byte{1, 2}, Detail: json.RawMessage(`{"a":"b"}`)})
		}
	}
	if err := w.catalog.PutChunks(t.Context(), want...); err != nil {
		t.Fatal(err)
	}
	want[0].Content, want[0].Detail = []byte{0xFF}, nil
	if err := w.catalog.PutChunks(t.Context(), want[0]); err != nil {
		t.Fatal(err)
	}
	if err := w.catalog.AppendStep(t.Context(), catalog.Step{MigrationID: "m1", Seq: 1}); err != nil {
		t.Fatal(err)
	}
	got, err := w.catalog.Chunks(t.Context(), "m1")
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(catalog.Chunk{}, "Updated")); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
}
