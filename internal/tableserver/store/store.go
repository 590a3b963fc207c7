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
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
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

	fs vfs.FS // tests: a file system that can lose what was not synced; Dir is empty then
}

// Store is an ordered set of tables of several accounts. Every write is atomic, and durable before its method
// returns. It is safe for concurrent use; Close must come after every other call has returned.
type Store struct {
	db    *pebble.DB
	sync  *pebble.WriteOptions
	clock *clock

	// tables keep a table from being deleted between a write's look at it and the write; partitions keep two
	// writes to one partition from deciding on the same entities. Both are striped by hash: see locks.go.
	tables     tableLocks
	partitions partitionLocks

	numbers  sync.Mutex // guards numberKey and account creation
	accounts sync.Map   // account name → number
}

// Open opens the folder, or makes it. A folder with another format, or one that a process uses (ErrInUse), is refused.
func Open(o Options) (*Store, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	opts := &pebble.Options{
		FormatMajorVersion:    pebble.FormatNewest,
		Logger:                pebbleLogger{o.Logger},
		MemTableSize:          16 << 20,
		CacheSize:             64 << 20,
		L0CompactionThreshold: 4,
	}
	s := &Store{sync: pebble.Sync}
	dir := ""
	switch {
	case o.fs != nil:
		opts.FS = o.fs
	case o.Dir == "":
		opts.FS = vfs.NewMem()
		s.sync = pebble.NoSync
	default:
		lock, err := prepareFolder(o.Dir)
		if err != nil {
			return nil, err
		}
		opts.Lock = lock
		dir = filepath.Join(o.Dir, "pebble")
		defer lock.Close() //nolint:errcheck // Pebble holds a reference of its own until its Close.
	}
	db, err := pebble.Open(dir, opts)
	if err != nil {
		return nil, fmt.Errorf("open data folder %s: %w", o.Dir, err)
	}
	s.db = db
	if s.clock, err = openClock(db, s.sync, o.Now); err != nil {
		return nil, errors.Join(err, db.Close())
	}
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
	return errors.Join(s.clock.stop(), s.db.Close())
}

// Healthy reads one key, to see that the store answers.
func (s *Store) Healthy(context.Context) error {
	_, closer, err := s.db.Get(clockKey)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read from the store: %w", err)
	}
	return closer.Close()
}

// pebbleLogger passes Pebble's errors on and drops its daily news.
type pebbleLogger struct{ log *slog.Logger }

func (pebbleLogger) Infof(string, ...any) {}

func (l pebbleLogger) Errorf(format string, args ...any) { l.log.Error(fmt.Sprintf(format, args...)) }

// Fatalf is called where Pebble cannot go on without breaking a promise, such as a failed sync of its log. The
// process ends, as it would for a kill; what was acknowledged is on disk.
func (l pebbleLogger) Fatalf(format string, args ...any) {
	l.log.Error("storage cannot go on: " + fmt.Sprintf(format, args...))
	os.Exit(3)
}
