package tenantctl

import (
	"fmt"
	"io"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/fleet"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenantctl/ui"
)

// writeEvacuation writes a summary for people: a few lines, then a line for each tenant.
func writeEvacuation(w io.Writer, s *fleet.Summary) error {
	d := newDescription("Evacuation %s is %s: %d of %s moved, %s.", s.Name, s.State, s.Moved+s.Violated,
		ui.Plural(int64(s.Tenants), "tenant"), ui.Plural(s.Entities, "entity"))
	d.add("reason", "%s", s.Reason)
	if s.State != fleet.Done {
		d.add("left", "%d under way, %d waiting, %d failed", s.Moving, s.Waiting, s.Failed)
		d.add("next", "%s", evacuationNext(s))
	}
	if s.Violated > 0 {
		d.add("past freeze", "%s written at the source while their writes were held", ui.Plural(int64(s.Violated), "tenant"))
	}
	if s.State == fleet.Done {
		d.add("sources", "are kept, each until: tenantctl purge TENANT --archive FOLDER")
	}
	if err := d.write(w); err != nil || len(s.Moves) == 0 {
		return err
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	t := ui.Table{Header: []string{"TENANT", "TO", "STATE", "ENTITIES", "HELD", "TRIES", "REMARK"}, Right: map[int]bool{3: true, 4: true, 5: true}}
	for _, m := range s.Moves {
		to := m.To
		if m.Account != "" {
			to += " in " + m.Account
		}
		t.Rows = append(t.Rows, []string{m.TenantID, to, m.State, ui.Count(m.Entities), ui.Duration(seconds(m.Freeze)), ui.Count(m.Attempts), remark(m)})
	}
	return t.Write(w)
}

// remark is what is worth saying about a tenant beside its state.
func remark(m fleet.MoveSummary) string {
	switch {
	case m.Held:
		return "its writes are held and nobody works on it: " + m.Error
	case m.Lost:
		return fmt.Sprintf("%s is gone; another worker takes it over", m.Worker)
	case m.Worker != "" && m.Released:
		return fmt.Sprintf("by %s, holds writes or is about to", m.Worker)
	case m.Worker != "":
		return "by " + m.Worker
	default:
		return m.Error
	}
}

func evacuationNext(s *fleet.Summary) string {
	if s.State == fleet.Running {
		return "tenantctl work " + s.Name
	}
	return "run the same tenantctl evacuate again"
}

// writeEvacuations writes a line for each evacuation.
func writeEvacuations(w io.Writer, all []*fleet.Summary) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "There are no evacuations.")
		return err
	}
	t := ui.Table{Header: []string{"EVACUATION", "STATE", "TENANTS", "MOVED", "UNDER WAY", "WAITING", "FAILED", "REASON"},
		Right: map[int]bool{2: true, 3: true, 4: true, 5: true, 6: true}}
	for _, s := range all {
		row := []string{s.Name, s.State}
		for _, n := range []int{s.Tenants, s.Moved + s.Violated, s.Moving, s.Waiting, s.Failed} {
			row = append(row, ui.Count(int64(n)))
		}
		t.Rows = append(t.Rows, append(row, s.Reason))
	}
	return t.Write(w)
}
