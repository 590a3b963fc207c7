package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// A table record; integers are varints unless said otherwise:
//
//	+-----------+------------+-------------+-------+------------------------------------------------------+
//	| version 01| number (4B)| created (8B)| count | name, count × ( id, start, expiry, permission letters)|
//	+-----------+------------+-------------+-------+------------------------------------------------------+
//
// Texts have their length in front. The name is as the creator wrote it; the record's key holds it in lower case.
// created is in ticks. start and expiry are signed: ticks, or -1 for none.
const tableVersion = 1

// Table is a table of an account. A table that is deleted and made again is another Table with the same Name.
type Table struct {
	// Name is written as its creator wrote it.
	Name string
	// Created is in ticks; together with Name it tells a table from an earlier one of the same name.
	Created int64
	// Policies are the stored access policies, in the order in which they were set.
	Policies []Policy

	account, number uint32
}

// Policy is a stored access policy. A nil time and an empty Permission stand for "not given".
type Policy struct {
	ID            string
	Start, Expiry *time.Time
	Permission    string
}

func (t Table) record() []byte {
	dst := []byte{tableVersion}
	dst = binary.BigEndian.AppendUint32(dst, t.number)
	dst = binary.BigEndian.AppendUint64(dst, uint64(t.Created))
	dst = binary.AppendUvarint(dst, uint64(len(t.Policies)))
	dst = appendText(dst, t.Name)
	for _, p := range t.Policies {
		dst = appendText(dst, p.ID)
		dst = appendOptionalTime(dst, p.Start)
		dst = appendOptionalTime(dst, p.Expiry)
		dst = appendText(dst, p.Permission)
	}
	return dst
}

func appendOptionalTime(dst []byte, t *time.Time) []byte {
	if t == nil {
		return binary.AppendVarint(dst, -1)
	}
	return binary.AppendVarint(dst, edm.Ticks(*t))
}

func decodeTable(account uint32, b []byte) (Table, error) {
	if len(b) < 13 {
		return Table{}, errTruncated
	}
	if b[0] != tableVersion {
		return Table{}, fmt.Errorf("table record has version %d, this server reads version %d", b[0], tableVersion)
	}
	t := Table{account: account, number: binary.BigEndian.Uint32(b[1:]), Created: int64(binary.BigEndian.Uint64(b[5:]))}
	r := reader{b: b[13:], text: string(b[13:])}
	count := r.uvarint()
	t.Name = r.str()
	for range count {
		p := Policy{ID: r.str(), Start: r.optionalTime(), Expiry: r.optionalTime(), Permission: r.str()}
		if r.err != nil {
			return Table{}, fmt.Errorf("table record: %w", r.err)
		}
		t.Policies = append(t.Policies, p)
	}
	return t, r.err
}

func (r *reader) optionalTime() *time.Time {
	ticks := r.varint()
	if ticks < 0 || r.err != nil {
		return nil
	}
	t := edm.TimeOfTicks(ticks)
	return &t
}

// get copies a value; nil if there is none.
func get(from pebble.Reader, key []byte) ([]byte, error) {
	v, closer, err := from.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return append(make([]byte, 0, len(v)), v...), closer.Close()
}

// knownAccount returns the number of an account; 0 if nothing was ever made in it.
func (s *Store) knownAccount(name string) (uint32, error) {
	if n, ok := s.accounts.Load(name); ok {
		if number, ok := n.(uint32); ok {
			return number, nil
		}
	}
	v, err := get(s.db, accountKey(name))
	if err != nil {
		return 0, fmt.Errorf("look up account %s: %w", name, err)
	}
	if v == nil {
		return 0, nil
	}
	if len(v) != 4 {
		return 0, fmt.Errorf("the number of account %s has %d bytes, not 4", name, len(v))
	}
	number := binary.BigEndian.Uint32(v)
	s.accounts.Store(name, number)
	return number, nil
}

// account returns the number of an account, and gives it one at its first use.
func (s *Store) account(name string) (uint32, error) {
	if n, err := s.knownAccount(name); n != 0 || err != nil {
		return n, err
	}
	s.numbers.Lock()
	defer s.numbers.Unlock()
	if n, err := s.knownAccount(name); n != 0 || err != nil {
		return n, err
	}
	n, err := s.nextNumber()
	if err != nil {
		return 0, err
	}
	return n, s.set(accountKey(name), binary.BigEndian.AppendUint32(nil, n), "account "+name)
}

// AccountNames returns the accounts in which something was ever made, in the order of their names.
func (s *Store) AccountNames() (names []string, err error) {
	now := s.durability.view()
	defer now.release()
	first := accountKey("")
	it, err := now.NewIter(&pebble.IterOptions{LowerBound: first, UpperBound: append(accountKey(""), math.MaxUint8)})
	if err != nil {
		return nil, fmt.Errorf("list accounts: %w", err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		names = append(names, string(it.Key()[len(first):]))
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return nil, fmt.Errorf("list accounts: %w", err)
	}
	return names, nil
}

// set records one value and returns when it is on disk.
func (s *Store) set(key, value []byte, what string) error {
	return s.write(what, func() error { return s.db.Set(key, value, pebble.NoSync) })
}

// write makes a change of records and returns when it is on disk.
func (s *Store) write(what string, change func() error) error {
	err := s.disk.room()
	if err == nil {
		err = s.durability.applied(change)
	}
	if err == nil {
		s.durability.changed.Store(true)
		err = s.durability.wait()
	}
	if err != nil {
		return fmt.Errorf("record %s: %w", what, err)
	}
	return nil
}

// nextNumber gives out the next account or table number; the caller holds numbers.
func (s *Store) nextNumber() (uint32, error) {
	v, err := get(s.db, numberKey)
	if err != nil {
		return 0, fmt.Errorf("read the last number: %w", err)
	}
	var n uint32
	if len(v) == 4 {
		n = binary.BigEndian.Uint32(v)
	}
	if n++; n >= maxNumber {
		return 0, errors.New("all table numbers are used up")
	}
	// Without a sync: what bears the number comes after it in the log.
	if err := s.db.Set(numberKey, binary.BigEndian.AppendUint32(nil, n), pebble.NoSync); err != nil {
		return 0, fmt.Errorf("record the last number: %w", err)
	}
	return n, nil
}

// Table returns a table; ErrTableNotFound if the account has none of that name, in any letter case.
func (s *Store) Table(_ context.Context, account, name string) (Table, error) {
	n, err := s.knownAccount(account)
	if err != nil {
		return Table{}, err
	}
	now := s.durability.view()
	defer now.release()
	return s.shownTable(now, n, name)
}

func (s *Store) table(from pebble.Reader, account uint32, name string) (Table, error) {
	v, closer, err := from.Get(tableKey(account, name))
	if errors.Is(err, pebble.ErrNotFound) {
		return Table{}, ErrTableNotFound
	}
	if err != nil {
		return Table{}, fmt.Errorf("look up table %s: %w", name, err)
	}
	t, err := decodeTable(account, v)
	return t, errors.Join(err, closer.Close())
}

// CreateTable makes an empty table; ErrTableExists if the name is taken in any letter case.
func (s *Store) CreateTable(_ context.Context, account, name string) error {
	n, err := s.account(account)
	if err != nil {
		return err
	}
	l := s.tables.of(n, name)
	l.Lock()
	defer l.Unlock()
	if _, err := s.table(s.db, n, name); !errors.Is(err, ErrTableNotFound) {
		if err == nil {
			err = ErrTableExists
		}
		return s.refuse(err)
	}
	created, err := s.clock.next(1)
	if err != nil {
		return err
	}
	s.numbers.Lock()
	number, err := s.nextNumber()
	s.numbers.Unlock()
	if err != nil {
		return err
	}
	return s.putTable(Table{Name: name, Created: created, account: n, number: number})
}

func (s *Store) putTable(t Table) error {
	return s.set(tableKey(t.account, t.Name), t.record(), "table "+t.Name)
}

// DeleteTable removes a table and all of its entities; ErrTableNotFound if there is none.
func (s *Store) DeleteTable(_ context.Context, account, name string) error {
	n, err := s.account(account)
	if err != nil {
		return err
	}
	l := s.tables.of(n, name)
	l.Lock()
	defer l.Unlock()
	t, err := s.table(s.db, n, name)
	if err != nil {
		return s.refuse(err)
	}
	defer s.current.Delete(recordKey{n, t.Name})
	b := s.db.NewBatch()
	defer b.Close() //nolint:errcheck // a batch's Close has nothing to report
	err = errors.Join(b.Delete(tableKey(n, name), nil), b.DeleteRange(appendTablePrefix(nil, t), tableEnd(t), nil))
	if err != nil {
		return fmt.Errorf("delete table %s: %w", name, err)
	}
	return s.write("the deletion of table "+name, func() error { return s.db.Apply(b, pebble.NoSync) })
}

// SetPolicies replaces the stored access policies of a table.
func (s *Store) SetPolicies(_ context.Context, account, name string, policies []Policy) error {
	n, err := s.account(account)
	if err != nil {
		return err
	}
	l := s.tables.of(n, name)
	l.Lock()
	defer l.Unlock()
	t, err := s.table(s.db, n, name)
	if err != nil {
		return s.refuse(err)
	}
	t.Policies = policies
	return s.putTable(t)
}

// Tables yields the account's tables from the name from on, in the order of their names in lower case.
func (s *Store) Tables(ctx context.Context, account, from string) iter.Seq2[Table, error] {
	return func(yield func(Table, error) bool) {
		n, err := s.knownAccount(account)
		if err != nil {
			yield(Table{}, err)
			return
		}
		now := s.durability.view()
		defer now.release()
		prefix := tableKeyPrefix(n)
		it, err := now.NewIterWithContext(ctx, &pebble.IterOptions{
			LowerBound: append(prefix[:len(prefix):len(prefix)], strings.ToLower(from)...),
			UpperBound: append(prefix[:len(prefix):len(prefix)], math.MaxUint8),
		})
		if err != nil {
			yield(Table{}, fmt.Errorf("list tables: %w", err))
			return
		}
		for ok := it.First(); ok; ok = it.Next() {
			t, err := decodeTable(n, it.Value())
			if !yield(t, err) || err != nil {
				break
			}
		}
		if err := errors.Join(it.Error(), it.Close()); err != nil {
			yield(Table{}, fmt.Errorf("list tables: %w", err))
		}
	}
}

// Properties returns what SetProperties kept for an account; nil if nothing.
func (s *Store) Properties(_ context.Context, account string) ([]byte, error) {
	n, err := s.knownAccount(account)
	if err != nil {
		return nil, err
	}
	now := s.durability.view()
	defer now.release()
	v, err := shownProperties(now, n)
	if err != nil {
		return nil, fmt.Errorf("read service properties: %w", err)
	}
	return v, nil
}

// SetProperties keeps opaque service properties for an account.
func (s *Store) SetProperties(_ context.Context, account string, value []byte) error {
	n, err := s.account(account)
	if err != nil {
		return err
	}
	return s.set(propertiesKey(n), value, "service properties")
}
