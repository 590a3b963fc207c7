package archive

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrNoArchive says that there is nothing at a place, or nothing that is an archive.
	ErrNoArchive = errors.New("there is no archive")
	// ErrIncomplete says that an archive has no manifest: whoever wrote it did not come to its end.
	ErrIncomplete = errors.New("the archive is incomplete: it has no manifest, so it was never finished")
	// ErrExists says that there is an archive, or something else, where one shall be written.
	ErrExists = errors.New("the place is taken")
)

// FaultError says that a file of an archive is not what was written.
type FaultError struct {
	Place string
	File  string
	What  string
}

func (e *FaultError) Error() string {
	return fmt.Sprintf("archive %s is damaged: %s: %s", e.Place, e.File, e.What)
}

// VersionError says that an archive has a format that this version does not read.
type VersionError struct {
	Place  string
	Format int
	Tool   string // that wrote it
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("archive %s has format %d and was written by %q; this version reads format %d only: use the version that wrote it",
		e.Place, e.Format, e.Tool, FormatVersion)
}

// maxExamples is how many keys or faults an error names.
const maxExamples = 10

// ConflictError says that the place to restore to holds something else than the archive. Nothing was written.
type ConflictError struct {
	Table     string   // where to
	Extra     int64    // entities that the archive does not have
	Differing int64    // entities that differ from the archive's
	Examples  []string // differing keys, with the names of the properties
}

func (e *ConflictError) Error() string {
	s := fmt.Sprintf("%s is not empty, and not what the archive holds: %d of its entities are not in the archive, %d differ from it", e.Table, e.Extra, e.Differing)
	if len(e.Examples) > 0 {
		s += ": " + strings.Join(e.Examples, "; ")
	}
	return s + ". Restore to an empty place, such as a table of its own with --to-table"
}

// DifferencesError says that after a restore the place does not hold what the archive does.
type DifferencesError struct {
	Table     string
	Missing   int64
	Extra     int64
	Differing int64
	Examples  []string
}

func (e *DifferencesError) Error() string {
	s := fmt.Sprintf("%s was restored and then read: %d entities of the archive are missing there, %d differ, %d are not in the archive",
		e.Table, e.Missing, e.Differing, e.Extra)
	if len(e.Examples) > 0 {
		s += ": " + strings.Join(e.Examples, "; ")
	}
	return s + ". Somebody else writes there"
}
