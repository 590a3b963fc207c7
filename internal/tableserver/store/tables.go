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

func (t Table) appendRecord(dst []byte) []byte {
	dst = append(dst, tableVersion)
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
	r := reader{b: b[13:]}
	count := r.uvarint()
	t.Name = string(r.text())
	for range count {
		p := Policy{ID: string(r.text()), Start: r.optionalTime(), Expiry: r.optionalTime(), Permission: string(r.text())}
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
func (s *Store) get(key []byte) ([]byte, error) {
	v, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return append(make([]byte, 0, len(v)), v...), closer.Close()
}

// account returns the number of an account, and gives it one at its first use.
func (s *Store) account(name string) (uint32, error) {
	if n, ok := s.accounts.Load(name); ok {
		if number, ok := n.(uint32); ok {
			return number, nil
		}
	}
	s.numbers.Lock()
	defer s.numbers.Unlock()
	v, err := s.get(accountKey(name))
	if err != nil {
		return 0, fmt.Errorf("look up account %s: %w", name, err)
	}
	if v == nil {
		n, err := s.nextNumber()
		if err != nil {
			return 0, err
		}
		v = binary.BigEndian.AppendUint32(nil, n)
		if err := s.db.Set(accountKey(name), v, s.sync); err != nil {
			return 0, fmt.Errorf("record account %s: %w", name, err)
		}
	}
	if len(v) != 4 {
		return 0, fmt.Errorf("the number of account %s has %d bytes, not 4", name, len(v))
	}
	number := binary.BigEndian.Uint32(v)
	s.accounts.Store(name, number)
	return number, nil
}

// nextNumber gives out the next account or table number; the caller holds numbers.
func (s *Store) nextNumber() (uint32, error) {
	v, err := s.get(numberKey)
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
	if err := s.db.Set(numberKey, binary.BigEndian.AppendUint32(nil, n), s.sync); err != nil {
		return 0, fmt.Errorf("record the last number: %w", err)
	}
	return n, nil
}

// Table returns a table; ErrTableNotFound if the account has none of that name, in any letter case.
func (s *Store) Table(_ context.Context, account, name string) (Table, error) {
	n, err := s.account(account)
	if err != nil {
		return Table{}, err
	}
	return s.table(n, name)
}

func (s *Store) table(account uint32, name string) (Table, error) {
	v, closer, err := s.db.Get(tableKey(account, name))
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
	if _, err := s.table(n, name); !errors.Is(err, ErrTableNotFound) {
		if err == nil {
			err = ErrTableExists
		}
		return err
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
	if err := s.db.Set(tableKey(t.account, t.Name), t.appendRecord(nil), s.sync); err != nil {
		return fmt.Errorf("record table %s: %w", t.Name, err)
	}
	return nil
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
	t, err := s.table(n, name)
	if err != nil {
		return err
	}
	b := s.db.NewBatch()
	defer b.Close() //nolint:errcheck // a batch's Close has nothing to report
	err = errors.Join(b.Delete(tableKey(n, name), nil), b.DeleteRange(appendTablePrefix(nil, t), tableEnd(t), nil))
	if err == nil {
		err = b.Commit(s.sync)
	}
	if err != nil {
		return fmt.Errorf("delete table %s: %w", name, err)
	}
	return nil
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
	t, err := s.table(n, name)
	if err != nil {
		return err
	}
	t.Policies = policies
	return s.putTable(t)
}

// Tables yields the account's tables from the name from on, in the order of their names in lower case.
func (s *Store) Tables(ctx context.Context, account, from string) iter.Seq2[Table, error] {
	return func(yield func(Table, error) bool) {
		n, err := s.account(account)
		if err != nil {
			yield(Table{}, err)
			return
		}
		prefix := tableKeyPrefix(n)
		it, err := s.db.NewIterWithContext(ctx, &pebble.IterOptions{
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
	n, err := s.account(account)
	if err != nil {
		return nil, err
	}
	v, err := s.get(propertiesKey(n))
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
	if err := s.db.Set(propertiesKey(n), value, s.sync); err != nil {
		return fmt.Errorf("record service properties: %w", err)
	}
	return nil
}
