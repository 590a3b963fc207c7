package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Format is the version of the data folder: keys, values and records as drawn in this package. It stands alone
// on a line in the file FORMAT.
const Format = "aztenancy tableserver format 1"

// Errors of the store; compare with errors.Is.
var (
	ErrTableNotFound   = errors.New("the table does not exist")
	ErrTableExists     = errors.New("the table exists already")
	ErrNotFound        = errors.New("the entity does not exist")
	ErrExists          = errors.New("the entity exists already")
	ErrConditionNotMet = errors.New("the entity's ETag is another one")
	ErrInUse           = errors.New("another process uses it: stop that one, or give another folder")
)

// Options says where the data is.
type Options struct {
	// Dir is the data folder; it is created if it does not exist. Empty means memory, without syncs.
	Dir string
	// Logger receives Pebble's warnings and errors; nil discards them.
	Logger *slog.Logger
	// Now replaces the wall clock in tests.
	Now func() time.Time

	fs      vfs.FS // tests: another file system; Dir is empty then
	reserve uint64 // tests: bytes that have to be free on fs
}

// Store is an ordered set of tables of several accounts. Every write is atomic, and durable before its method
// returns. It is safe for concurrent use; Close must come after every other call has returned.
type Store struct {
	db         *pebble.DB
	disk       *disk
	durability *durability
	clock      *clock

	// tables keep a table from being deleted between a write's look at it and the write; partitions keep two
	// writes to one partition from deciding on the same entities. Both are striped by hash: see locks.go.
	tables     tableLocks
	partitions partitionLocks

	numbers  sync.Mutex // guards numberKey and account creation
	read     atomic.Int64
	accounts sync.Map // account name → number
	current  sync.Map // recordKey → Table, as writes see them: see currentTable
}

// Open opens the folder, or makes it. A folder with another format, or one that a process uses (ErrInUse), is refused.
func Open(o Options) (*Store, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	fs, dir, reserve := o.fs, "", o.reserve
	var lock *pebble.Lock
	switch {
	case o.fs != nil:
	case o.Dir == "":
		fs = vfs.NewMem()
	default:
		var err error
		if lock, err = prepareFolder(o.Dir); err != nil {
			return nil, err
		}
		defer lock.Close() //nolint:errcheck // Pebble holds a reference of its own until its Close.
		fs, dir, reserve = vfs.Default, filepath.Join(o.Dir, "pebble"), defaultReserve
	}
	log := pebbleLogger{o.Logger, nil}
	disk := newDisk(fs, dir, reserve, func(err error) { o.Logger.Error("the store stops taking writes", slog.Any("error", err)) })
	log.fatal = disk.freeze
	if err := disk.roomToStart(); err != nil { // Pebble would wait for space without a word
		return nil, fmt.Errorf("open data folder %s: %w", o.Dir, err)
	}
	durable := o.fs != nil || o.Dir != ""
	opts := &pebble.Options{
		FS:                          disk,
		Lock:                        lock,
		DisableWAL:                  !durable,
		FormatMajorVersion:          pebble.FormatNewest,
		Logger:                      log,
		MemTableSize:                16 << 20,
		MemTableStopWritesThreshold: 4,
		CacheSize:                   80 << 20,
		L0CompactionThreshold:       4,
	}
	for i := range opts.Levels { // most inserts look for a key that is not there
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	db, err := pebble.Open(dir, opts)
	if err == nil && disk.fault() != nil {
		err = errors.Join(disk.fault(), db.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("open data folder %s: %w", o.Dir, err)
	}
	disk.running.Store(true)
	s := &Store{db: db, disk: disk}
	if s.clock, err = openClock(db, o.Now); err != nil {
		close(disk.closing)
		return nil, errors.Join(err, db.Close())
	}
	s.durability = startDurability(db, disk, durable)
	return s, nil
}

// prepareFolder makes the folder, locks it and checks or writes its format version.
func prepareFolder(dir string) (*pebble.Lock, error) {
	data := filepath.Join(dir, "pebble")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, fmt.Errorf("make data folder: %w", err)
	}
	lock, err := pebble.LockDirectory(data, vfs.Default)
	if err != nil {
		if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) || strings.Contains(err.Error(), "held by current process") {
			return nil, fmt.Errorf("open data folder %s: %w", dir, ErrInUse)
		}
		return nil, fmt.Errorf("lock data folder %s: %w", dir, err)
	}
	if err := checkFormat(dir, data); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// checkFormat compares the folder's format version with ours; a new folder gets ours before any data.
func checkFormat(dir, data string) error {
	name := filepath.Join(dir, "FORMAT")
	text, err := os.ReadFile(name)
	if err == nil {
		if got := strings.TrimSpace(string(text)); got != Format {
			return fmt.Errorf("data folder %s has format %q, but this server reads and writes %q: "+
				"start the version that wrote it, or give another folder", dir, got, Format)
		}
		return nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read the format of data folder %s: %w", dir, err)
	}
	desc, err := pebble.Peek(data, vfs.Default)
	if err != nil {
		return fmt.Errorf("look into data folder %s: %w", dir, err)
	}
	if desc.Exists {
		return fmt.Errorf("data folder %s holds data but no FORMAT file: it was not written by this server, or is damaged; "+
			"give another folder", dir)
	}
	return WriteFile(name, []byte(Format+"\n"), 0o600)
}

// WriteFile puts a file in place so that a crash leaves the old one or the new one, and syncs it.
func WriteFile(name string, data []byte, perm os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // gone already when the rename worked
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(perm), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(name))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Close writes what is in memory to disk and releases the folder.
func (s *Store) Close() error {
	err := s.durability.stop()
	if s.disk.fault() == nil {
		err = errors.Join(err, s.clock.stop())
	}
	close(s.disk.closing)
	return errors.Join(err, s.db.Close(), s.disk.fault())
}

// Healthy says whether the store takes writes: ErrFull and ErrFailed if not. Reads are answered all the same.
func (s *Store) Healthy(context.Context) error { return s.disk.room() }

// pebbleLogger passes Pebble's errors on and drops its daily news.
type pebbleLogger struct {
	log   *slog.Logger
	fatal func(error)
}

// Infof implements pebble.Logger.
func (pebbleLogger) Infof(string, ...any) {}

// Errorf implements pebble.Logger.
func (l pebbleLogger) Errorf(format string, args ...any) { l.log.Error(fmt.Sprintf(format, args...)) }

// Fatalf is called where Pebble cannot go on without breaking a promise, such as a manifest that cannot be written.
// Pebble expects the process to end. Instead the disk is frozen: what Pebble does after the return reaches no file.
func (l pebbleLogger) Fatalf(format string, args ...any) { l.fatal(fmt.Errorf(format, args...)) }
