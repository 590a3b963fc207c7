package migration

import (
	"slices"
	"testing"
)

// The table of steps is the protocol: from every state some command leads to an end, and no state has two steps of one command.
func TestEveryStateLeadsToAnEnd(t *testing.T) {
	states := []string{Planned, Copying, CatchingUp, Holding, Freezing, Syncing, Verifying, Switching, Switched, Purging, Done, Aborting, Aborted}
	for _, state := range states {
		at := state
		for range len(states) {
			i := slices.IndexFunc(steps, func(s step) bool { return s.state == at && s.next != at })
			if i < 0 {
				break
			}
			at = steps[i].next
		}
		if !ended(at) {
			t.Errorf("from %s the steps lead to %s", state, at)
		}
		for _, c := range []command{migrate, purge, abort} {
			n := 0
			for _, s := range steps {
				if s.command == c && s.state == state {
					n++
				}
			}
			if n > 1 {
				t.Errorf("%s has %d steps in state %s", c, n, state)
			}
		}
		if CanAbort(state) && slices.Contains([]string{Switched, Purging, Done, Aborted}, state) {
			t.Errorf("an abort in state %s would take the tenant's place away", state)
		}
	}
	for _, s := range steps {
		if s.name == "" || s.effect == "" || s.again == "" || s.do == nil {
			t.Errorf("step %+v says too little", s)
		}
	}
}
