package store

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// durability turns writes that are in Pebble's memory table and in the log's buffer into writes that are on disk and
// may be seen. One goroutine goes round: it takes the group of the writers that wait, fixes a view of everything
// applied so far, syncs the log once, shows the view to readers, and lets the group go.
//
//	writers: apply … join group n+1 ─────────────────────────────┐ (while n syncs)
//	rounds:  view n, sync n, show n, release group n │ view n+1, sync n+1, …
//
// So a reader never sees what could still be lost, and a view holds a transaction whole or not at all. Writers decide
// on newer data than readers see; what they refuse on such ground is told only after it is on disk (settle).
type durability struct {
	db   *pebble.DB
	disk *disk
	sync bool // false in memory: there is nothing to wait for

	shown   atomic.Pointer[view]
	pending atomic.Int64 // writes that may have been applied and are not on disk

	mu   sync.Mutex // guards next
	next *group
	wake chan struct{}

	changed atomic.Bool // records were changed since the newest view was made

	stopping, stopped chan struct{}
	retired           []*view  // views that were shown; only the goroutine uses it
	records           *records // of the newest view; only the goroutine uses it
}

// group is the writers that wait for one sync.
type group struct {
	size int
	done chan struct{} // closed when err is set
	err  error
}

// view is a fixed state of the store. It may be read while users is above zero, which 1 of the store's own keeps it.
type view struct {
	*pebble.Snapshot
	users   atomic.Int64
	records *records
}

func startDurability(db *pebble.DB, disk *disk, sync bool) *durability {
	d := &durability{db: db, disk: disk, sync: sync, next: newGroup(), wake: make(chan struct{}, 1),
		stopping: make(chan struct{}), stopped: make(chan struct{})}
	d.show(d.newView())
	go d.run()
	return d
}

func newGroup() *group { return &group{done: make(chan struct{})} }

func (d *durability) newView() *view {
	if d.changed.Swap(false) || d.records == nil {
		d.records = &records{}
	}
	v := &view{Snapshot: d.db.NewSnapshot(), records: d.records}
	v.users.Store(1)
	return v
}

// view returns what may be seen now. The caller releases it.
func (d *durability) view() *view {
	for {
		v := d.shown.Load()
		for n := v.users.Load(); n > 0; n = v.users.Load() {
			if v.users.CompareAndSwap(n, n+1) {
				return v
			}
		}
	}
}

func (v *view) release() { v.users.Add(-1) }

// applied runs a change of Pebble that is waited for with wait.
func (d *durability) applied(change func() error) error {
	d.pending.Add(1)
	if err := change(); err != nil {
		d.pending.Add(-1)
		return err
	}
	return nil
}

// wait returns when what the caller applied before is on disk and shown.
func (d *durability) wait() error {
	defer d.pending.Add(-1)
	return d.join()
}

// settle returns when everything that the caller can have read from Pebble itself is on disk.
func (d *durability) settle() error {
	if d.pending.Load() == 0 {
		return d.disk.fault()
	}
	return d.join()
}

func (d *durability) join() error {
	d.mu.Lock()
	g := d.next
	g.size++
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default: // a round is due already, and will take g
	}
	<-g.done
	return g.err
}

func (d *durability) run() {
	defer close(d.stopped)
	for {
		select {
		case <-d.wake:
			d.round()
		case <-d.stopping:
			return
		}
	}
}

func (d *durability) round() {
	d.mu.Lock()
	g := d.next
	if g.size == 0 { // woken twice for the group before
		d.mu.Unlock()
		return
	}
	d.next = newGroup()
	d.mu.Unlock()
	v := d.newView()
	if g.err = d.flush(); g.err != nil {
		v.release()
		d.retired = append(d.retired, v)
	} else {
		d.show(v)
	}
	close(g.done)
}

// flush syncs the log up to here: an empty record that asks for a sync stands behind everything applied so far.
func (d *durability) flush() error {
	if d.sync {
		if err := d.db.LogData(nil, pebble.Sync); err != nil {
			return fmt.Errorf("sync the log: %w", err)
		}
	}
	return d.disk.fault()
}

// maxRetired is how many views are kept before they are closed together: closing the oldest one makes Pebble look for
// compactions, closing the others before it does not.
const maxRetired = 64

func (d *durability) show(v *view) {
	old := d.shown.Swap(v)
	if old == nil {
		return
	}
	old.release()
	if d.retired = append(d.retired, old); len(d.retired) >= maxRetired {
		_ = d.closeRetired() // a snapshot's Close has nothing to report
	}
}

// closeRetired closes the views that nobody uses any more, the newest first.
func (d *durability) closeRetired() (err error) {
	for i, v := range slices.Backward(d.retired) {
		if v.users.Load() == 0 {
			err = errors.Join(err, v.Close())
			d.retired[i] = nil
		}
	}
	d.retired = slices.DeleteFunc(d.retired, func(v *view) bool { return v == nil })
	return err
}

// stop ends the goroutine and closes all views. Nobody waits or reads any more.
func (d *durability) stop() error {
	close(d.stopping)
	<-d.stopped
	v := d.shown.Load()
	v.release()
	d.retired = append(d.retired, v)
	return d.closeRetired()
}
