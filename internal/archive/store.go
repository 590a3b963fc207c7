package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Store keeps the files of one archive. A file is there whole or not at all.
type Store interface {
	// Put writes a file and has it on stable storage when it returns.
	Put(ctx context.Context, name string, data []byte) error
	// Get reads a file of at most max bytes; fs.ErrNotExist.
	Get(ctx context.Context, name string, max int64) ([]byte, error)
	// List returns the names of all files, unfinished ones among them. A place that is not there has none.
	List(ctx context.Context) ([]string, error)
	// Remove deletes a file.
	Remove(ctx context.Context, name string) error
	// String names the place in messages, without secrets.
	String() string
}

// errTooLong is a file that is longer than its manifest says.
var errTooLong = errors.New("it is longer than it should be")

// readAtMost reads all of r, which must not be longer than max.
func readAtMost(r io.Reader, max int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, max+1))
	if err == nil && int64(len(data)) > max {
		err = errTooLong
	}
	return data, err
}

// partial is the end of the name of a file that is being written.
const partial = ".partial"

// Folder is a Store in a folder, which is made when the first file is written. Its files are for their owner alone.
type Folder struct {
	path string
	wrap func(io.Writer) io.Writer // for tests
}

// NewFolder returns the store in a folder. It does nothing yet.
func NewFolder(path string) *Folder { return &Folder{path: path} }

func (f *Folder) String() string { return f.path }

// Put writes NAME.partial, syncs it, renames it and syncs the folder.
func (f *Folder) Put(_ context.Context, name string, data []byte) error {
	if err := os.MkdirAll(f.path, 0o700); err != nil {
		return err
	}
	unfinished := filepath.Join(f.path, name+partial)
	if err := f.writeSynced(unfinished, data); err != nil {
		return errors.Join(err, ignoreAbsent(os.Remove(unfinished)))
	}
	if err := os.Rename(unfinished, filepath.Join(f.path, name)); err != nil {
		return errors.Join(err, ignoreAbsent(os.Remove(unfinished)))
	}
	return syncFolder(f.path)
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (f *Folder) writeSynced(path string, data []byte) error {
	if err := ignoreAbsent(os.Remove(path)); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	var w io.Writer = file
	if f.wrap != nil {
		w = f.wrap(file)
	}
	_, err = w.Write(data)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// syncFolder makes a rename last.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Get reads a file.
func (f *Folder) Get(_ context.Context, name string, max int64) ([]byte, error) {
	file, err := os.Open(filepath.Join(f.path, name))
	if err != nil {
		return nil, err
	}
	data, err := readAtMost(file, max)
	return data, errors.Join(err, file.Close())
}

// List returns the names of the folder's entries.
func (f *Folder) List(context.Context) ([]string, error) {
	entries, err := os.ReadDir(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// Remove deletes a file.
func (f *Folder) Remove(_ context.Context, name string) error {
	return os.Remove(filepath.Join(f.path, name))
}

// OpenStore returns the store at a place as users write it: a folder, or the https address of a Blob container with or
// without a prefix, for which accounts has the credential. An address with a SAS is refused: it would be seen in the list of
// processes.
func OpenStore(place string, accounts Accounts) (Store, error) {
	switch {
	case place == "":
		return nil, errors.New("name a folder, or the https address of a Blob container, for the archive")
	case isURL(place):
		return newContainer(place, accounts)
	}
	path, err := filepath.Abs(place)
	return NewFolder(path), err
}

// Below returns the place of an archive within a place.
func Below(place, name string) string {
	if isURL(place) {
		return strings.TrimRight(place, "/") + "/" + name
	}
	return filepath.Join(place, name)
}

func isURL(place string) bool {
	return strings.HasPrefix(place, "https://") || strings.HasPrefix(place, "http://")
}

// leftovers returns the files of an archive that was not finished. What else there is makes it an ErrExists.
func leftovers(ctx context.Context, s Store) ([]string, error) {
	names, err := s.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("look into %s: %w", s, err)
	}
	for _, name := range names {
		switch {
		case name == manifestName:
			return nil, fmt.Errorf("%s holds an archive: %w", s, ErrExists)
		case name != manifestName+partial && !chunkPattern.MatchString(strings.TrimSuffix(name, partial)):
			return nil, fmt.Errorf("%s is not empty, it holds %q: give a place of its own: %w", s, name, ErrExists)
		}
	}
	return names, nil
}
