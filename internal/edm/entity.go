package edm

import (
	"slices"
	"time"
)

// Property is one named value of an entity. Names are case-sensitive.
type Property struct {
	Name  string
	Value Value
}

// Entity is one row. Properties holds the entity's own properties: no PartitionKey, RowKey or Timestamp, no
// nulls, each name once. Timestamp and ETag are the service's; they are zero for an entity not yet written, and
// are not part of the content.
type Entity struct {
	PartitionKey string
	RowKey       string
	Timestamp    time.Time
	ETag         string
	Properties   []Property
}

// Key returns the entity's key.
func (e *Entity) Key() Key { return Key{e.PartitionKey, e.RowKey} }

// Get returns the value of the named own property.
func (e *Entity) Get(name string) (Value, bool) {
	for i := range e.Properties {
		if e.Properties[i].Name == name {
			return e.Properties[i].Value, true
		}
	}
	return Value{}, false
}

// Set replaces the named own property, or adds it at the end.
func (e *Entity) Set(name string, v Value) {
	for i := range e.Properties {
		if e.Properties[i].Name == name {
			e.Properties[i].Value = v
			return
		}
	}
	e.Properties = append(e.Properties, Property{name, v})
}

// Remove deletes the named own property, if there is one.
func (e *Entity) Remove(name string) {
	e.Properties = slices.DeleteFunc(e.Properties, func(p Property) bool { return p.Name == name })
}

// Clone returns a copy that shares nothing that can change.
func (e *Entity) Clone() *Entity {
	c := *e
	c.Properties = slices.Clone(e.Properties)
	return &c
}
