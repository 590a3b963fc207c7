package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk is the file system below Pebble. It has two states. Open, it passes everything through. Frozen, which it
// becomes for good when the log or a folder cannot be written, or when Pebble says that it cannot go on, it changes
// nothing on disk any more: what is there is what was there at the first fault, and the next process starts from that.
//
// Pebble ends the process where its log fails. Ours lives on for the readers, so a fault of the log is hidden from
// Pebble: a frozen disk takes whatever is meant for the log and drops it. Nobody is told that such a write was done,
// because every acknowledgement asks fault() after the sync; and what readers see is a view from before it.
type disk struct {
	vfs.FS
	dir     string
	reserve uint64 // bytes that have to be free for a write to be let in

	first   atomic.Pointer[error] // why the disk is frozen
	freezes sync.Once
	onFault func(error)

	running atomic.Bool   // Pebble is open: background work may be held up
	closing chan struct{} // closed when background work must not be held up any longer
	full    atomic.Int64  // when a write last found no space, in Unix nanoseconds

	space   sync.Mutex // guards the following
	checked time.Time
	free    uint64
}

// defaultReserve leaves Pebble the space to write its memory tables, the log and compactions to an end, so that a
// disk that fills up stops the writes at the door and the store stays whole and readable.
const defaultReserve = 64 << 20

// Errors of a store that cannot take writes.
var (
	// ErrFull means that the disk has no space left to write safely. Reads are answered; writes are again as soon as
	// there is space.
	ErrFull = errors.New("the disk is full: free some space")
	// ErrFailed means that a write to the disk went wrong, so nobody knows what of it is there. Reads are answered with
	// what was acknowledged; writes are refused until a restart.
	ErrFailed = errors.New("storage failed: writes are refused until the server is restarted")

	errFrozen = errors.New("the data folder is left as it is after a fault")
)

func newDisk(fs vfs.FS, dir string, reserve uint64, onFault func(error)) *disk {
	return &disk{FS: fs, dir: dir, reserve: reserve, onFault: onFault, closing: make(chan struct{})}
}

// freeze stops every change of the disk. The first reason counts.
func (d *disk) freeze(err error) {
	d.freezes.Do(func() {
		err := fmt.Errorf("%w: %w", ErrFailed, err)
		d.first.Store(&err)
		d.onFault(err)
	})
}

// fault returns an ErrFailed once the disk is frozen. Only what was synced before a nil of it is surely on disk.
func (d *disk) fault() error {
	if err := d.first.Load(); err != nil {
		return *err
	}
	return nil
}

// spaceEvery bounds how often the free space is asked for: at 100 MB/s one reserve is some 30 looks.
const spaceEvery = 20 * time.Millisecond

// room returns an error if a write must not be let in: ErrFailed or ErrFull.
func (d *disk) room() error { return d.roomFor("a write", d.reserve) }

// roomToStart asks for less than room: what replaying the log takes, so that a full disk is readable after a restart.
func (d *disk) roomToStart() error { return d.roomFor("a start", d.reserve/4) }

func (d *disk) roomFor(what string, bytes uint64) error {
	if err := d.fault(); err != nil {
		return err
	}
	if bytes == 0 {
		return nil
	}
	d.space.Lock()
	defer d.space.Unlock()
	if now := time.Now(); now.Sub(d.checked) >= spaceEvery {
		usage, err := d.GetDiskUsage(d.dir)
		if err != nil {
			return fmt.Errorf("look at the free space of %s: %w", d.dir, err)
		}
		d.checked, d.free = now, usage.AvailBytes
	}
	if d.free < bytes {
		return fmt.Errorf("%w (%d MiB are free, %s needs %d MiB)", ErrFull, d.free>>20, what, bytes>>20)
	}
	return nil
}

// fullPause is how long background work waits after it found no space: Pebble itself would try again at once.
const fullPause = 200 * time.Millisecond

// admit holds background work up while it cannot succeed, and refuses it on a frozen disk.
func (d *disk) admit() error {
	if d.fault() != nil {
		if d.running.Load() {
			<-d.closing
		}
		return errFrozen
	}
	if wait := time.Until(time.Unix(0, d.full.Load()).Add(fullPause)); wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-d.closing:
		}
	}
	return nil
}

// note remembers that there was no space.
func (d *disk) note(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		d.full.Store(time.Now().UnixNano())
	}
	return err
}

func isLog(name string) bool { return strings.HasSuffix(name, ".log") }

// Create implements vfs.FS.
func (d *disk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if isLog(name) {
		return d.log(func() (vfs.File, error) { return d.FS.Create(name, category) })
	}
	if err := d.admit(); err != nil {
		return nil, err
	}
	f, err := d.FS.Create(name, category)
	if err != nil {
		return nil, d.note(err)
	}
	return &tableFile{f, d}, nil
}

// ReuseForWrite implements vfs.FS.
func (d *disk) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if !isLog(to) {
		return nil, fmt.Errorf("reuse %s: only logs are reused", to)
	}
	return d.log(func() (vfs.File, error) { return d.FS.ReuseForWrite(from, to, category) })
}

// log opens a log. On a frozen disk it is one that nothing is written to.
func (d *disk) log(open func() (vfs.File, error)) (vfs.File, error) {
	if d.fault() == nil {
		f, err := open()
		if err == nil {
			return &logFile{f, d}, nil
		}
		if !d.running.Load() {
			return nil, err
		}
		d.freeze(fmt.Errorf("open a log: %w", err))
	}
	f, err := vfs.NewMem().Create("dropped", vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	return &logFile{f, d}, nil
}

// OpenReadWrite implements vfs.FS.
func (d *disk) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	if err := d.admit(); err != nil {
		return nil, err
	}
	f, err := d.FS.OpenReadWrite(name, category, opts...)
	if err != nil {
		return nil, d.note(err)
	}
	return &tableFile{f, d}, nil
}

// OpenDir implements vfs.FS.
func (d *disk) OpenDir(name string) (vfs.File, error) {
	f, err := d.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &logFile{f, d}, nil
}

// unlessFrozen runs a change of the folder.
func (d *disk) unlessFrozen(change func() error) error {
	if d.fault() != nil {
		return errFrozen
	}
	return d.note(change())
}

// Link implements vfs.FS.
func (d *disk) Link(from, to string) error {
	return d.unlessFrozen(func() error { return d.FS.Link(from, to) })
}

// Remove implements vfs.FS.
func (d *disk) Remove(name string) error {
	return d.unlessFrozen(func() error { return d.FS.Remove(name) })
}

// RemoveAll implements vfs.FS.
func (d *disk) RemoveAll(name string) error {
	return d.unlessFrozen(func() error { return d.FS.RemoveAll(name) })
}

// Rename implements vfs.FS.
func (d *disk) Rename(from, to string) error {
	return d.unlessFrozen(func() error { return d.FS.Rename(from, to) })
}

// MkdirAll implements vfs.FS.
func (d *disk) MkdirAll(dir string, perm os.FileMode) error {
	return d.unlessFrozen(func() error { return d.FS.MkdirAll(dir, perm) })
}

// Unwrap implements vfs.FS.
func (d *disk) Unwrap() vfs.FS { return d.FS }

// logFile is a log or a folder: its first fault freezes the disk, and from then on it drops what it is given.
type logFile struct {
	vfs.File
	d *disk
}

// try runs a change and hides its fault from Pebble, unless Pebble is still opening and can answer with it.
func (f *logFile) try(doing string, change func() error) error {
	if f.d.fault() != nil {
		return nil //nolint:nilerr // Pebble must not see the fault: see disk
	}
	err := change()
	if err == nil || !f.d.running.Load() {
		return err
	}
	f.d.freeze(fmt.Errorf("%s: %w", doing, err))
	return nil
}

// Write implements io.Writer.
func (f *logFile) Write(p []byte) (int, error) {
	err := f.try("write the log", func() error {
		n, err := f.File.Write(p)
		if err == nil && n < len(p) {
			err = io.ErrShortWrite
		}
		return err
	})
	return len(p), err
}

// Sync implements vfs.File.
func (f *logFile) Sync() error { return f.try("sync the log or its folder", f.File.Sync) }

// SyncData implements vfs.File.
func (f *logFile) SyncData() error { return f.try("sync the log", f.File.SyncData) }

// SyncTo implements vfs.File.
func (f *logFile) SyncTo(length int64) (whole bool, err error) {
	err = f.try("sync the log", func() error {
		whole, err = f.File.SyncTo(length)
		return err
	})
	return whole, err
}

// Preallocate implements vfs.File.
func (f *logFile) Preallocate(offset, length int64) error {
	if f.d.fault() != nil {
		return nil //nolint:nilerr // Pebble must not see the fault: see disk
	}
	return f.File.Preallocate(offset, length)
}

// Close implements io.Closer.
func (f *logFile) Close() error {
	err := f.File.Close()
	if f.d.fault() != nil {
		return nil //nolint:nilerr // Pebble must not see the fault: see disk
	}
	return f.try("close the log", func() error { return err })
}

// tableFile is any other file that Pebble writes. Pebble tries again when it cannot be written.
type tableFile struct {
	vfs.File
	d *disk
}

// Write implements io.Writer.
func (f *tableFile) Write(p []byte) (n int, err error) {
	err = f.d.unlessFrozen(func() error {
		n, err = f.File.Write(p)
		return err
	})
	return n, err
}

// WriteAt implements io.WriterAt.
func (f *tableFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.d.unlessFrozen(func() error {
		n, err = f.File.WriteAt(p, off)
		return err
	})
	return n, err
}

// Sync implements vfs.File.
func (f *tableFile) Sync() error { return f.d.unlessFrozen(f.File.Sync) }

// SyncData implements vfs.File.
func (f *tableFile) SyncData() error { return f.d.unlessFrozen(f.File.SyncData) }
