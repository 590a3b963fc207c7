package store

import "sync"

// records keeps what almost every request reads and hardly any changes: tables and service properties, as the views
// that share it show them. A change of a record gives the views after it a new one. It holds tables that exist, under
// their creators' spelling, so it is no larger than the list of tables.
type records struct {
	tables     sync.Map // recordKey → Table
	properties sync.Map // account number → []byte
}

type recordKey struct {
	account uint32
	name    string
}

// shownTable looks a table up in a view.
func (s *Store) shownTable(v *view, account uint32, name string) (Table, error) {
	k := recordKey{account, name}
	if kept, ok := v.records.tables.Load(k); ok {
		if t, ok := kept.(Table); ok {
			return t, nil
		}
	}
	t, err := s.table(v, account, name)
	if err == nil && t.Name == name {
		v.records.tables.Store(k, t)
	}
	return t, err
}

// currentTable looks a table up for a write, whose caller holds the table's lock for reading. DeleteTable forgets it.
func (s *Store) currentTable(account uint32, name string) (Table, error) {
	k := recordKey{account, name}
	if kept, ok := s.current.Load(k); ok {
		if t, ok := kept.(Table); ok {
			return t, nil
		}
	}
	t, err := s.table(s.db, account, name)
	if err == nil && t.Name == name {
		s.current.Store(k, t)
	}
	return t, err
}

// shownProperties returns an account's service properties in a view; nil for none.
func shownProperties(v *view, account uint32) ([]byte, error) {
	if kept, ok := v.records.properties.Load(account); ok {
		if b, ok := kept.([]byte); ok {
			return b, nil
		}
	}
	b, err := get(v, propertiesKey(account))
	if err == nil {
		v.records.properties.Store(account, b)
	}
	return b, err
}
