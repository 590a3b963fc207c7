package edm

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Presence says what a body named, beyond what the entity can hold.
type Presence struct {
	PartitionKey, RowKey bool     // there and not null
	Nulls                []string // own properties that are null: dropped by an insert, kept by a merge
}

// ParseEntity reads one entity: the body of a write as the service takes it, or an answer at MinimalMetadata or
// FullMetadata. The result shares no memory with body.
//
// A property's type is its annotation, before or after it, else that of the JSON value: string, Boolean, number with
// point or exponent (Double), integer within 32 bits (Int32). Strings are read as the annotated type; an integer may
// be annotated as any of the three number types. odata.etag becomes ETag, other odata.* members and annotations are
// ignored. Timestamp is the service's: one that is no time is ignored like any that a client sends. Where the
// service's behaviour is unconfirmed:
//   - an integer beyond 32 bits without annotation is a Double up to 2^53, where that loses nothing, else refused;
//   - an annotation without its property is ignored.
//
// The *Error is InvalidInput for what is not JSON, not UTF-8, nested, or not of its type, OutOfRangeInput for a
// DateTime outside its range, DuplicatePropertiesSpecified, or TooManyProperties for more members than any valid body
// has. Names and limits are left to Entity.Validate.
func ParseEntity(body []byte) (*Entity, Presence, error) {
	if !utf8.Valid(body) {
		return nil, Presence{}, invalidInput("body is not UTF-8")
	}
	var buffer [32]member
	p := entityParser{scanner: scanner{s: string(body)}, members: buffer[:0]}
	e, presence, err := p.entity()
	if err == nil {
		err = p.end()
	}
	if err != nil {
		return nil, Presence{}, err
	}
	return e, presence, nil
}

// ParsePage reads the answer to a query, {"value":[entity, …]}, at MinimalMetadata or FullMetadata. Each entity is
// read as by ParseEntity; nulls, which stand for selected properties that it lacks, are dropped. The entities share
// no memory with body or with each other.
func ParsePage(body []byte) ([]*Entity, error) {
	if !utf8.Valid(body) {
		return nil, invalidInput("page is not UTF-8")
	}
	page := scanner{s: string(body)}
	if !page.take('{') {
		return nil, page.unexpected("an object")
	}
	var entities []*Entity
	found := false
	for more := !page.take('}'); more; {
		name, err := page.name()
		switch {
		case err != nil:
		case name != "value":
			_, err = page.literal()
		case found:
			err = duplicateProperty(name)
		default:
			found = true
			entities, err = parseArray(&page)
		}
		if err != nil {
			return nil, err
		}
		if more = page.take(','); !more && !page.take('}') {
			return nil, page.unexpected("a comma or the end of the object")
		}
	}
	if !found {
		return nil, invalidInput(`page has no "value"`)
	}
	return entities, page.end()
}

// parseArray consumes the array of a page's entities.
func parseArray(page *scanner) ([]*Entity, error) {
	if !page.take('[') {
		return nil, page.unexpected("an array")
	}
	entities := []*Entity{}
	var buffer [32]member
	p := entityParser{members: buffer[:0]}
	for more := !page.take(']'); more; {
		page.skipSpace()
		// A copy of its own for each entity, so that one that is kept does not keep the page.
		end := objectEnd(page.s, page.i)
		p.scanner = scanner{s: strings.Clone(page.s[page.i:end])}
		page.i = end
		e, _, err := p.entity()
		if err != nil {
			return nil, fmt.Errorf("entity %d of the page: %w", len(entities), err)
		}
		entities = append(entities, e)
		if more = page.take(','); !more && !page.take(']') {
			return nil, page.unexpected("a comma or the end of the array")
		}
	}
	return entities, nil
}

// objectEnd returns where the object that starts at i ends: behind the first brace outside strings, since entities
// hold no objects. Without such a brace it is the end of s.
func objectEnd(s string, i int) int {
	for quoted := false; i < len(s); i++ {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == '\\':
			i++
		case s[i] == '}' && !quoted:
			return i + 1
		}
	}
	return len(s)
}

// member is what an object says about one name: its value, its type, or both, in any order.
type member struct {
	name  string
	typ   Type    // 0: no annotation
	value literal // no kind: only the annotation was seen
}

// maxMembers bounds the members of an entity, and so the time that looking for duplicates takes. An entity with 252
// properties, a null for many more, and all annotations stays below it.
const maxMembers = 1024

// entityParser reads entities. members is reused from one to the next.
type entityParser struct {
	scanner
	members []member
	etag    string
}

// entity consumes one object.
func (p *entityParser) entity() (*Entity, Presence, error) {
	p.members, p.etag = p.members[:0], ""
	if !p.take('{') {
		return nil, Presence{}, p.unexpected("an object")
	}
	for more := !p.take('}'); more; {
		if err := p.member(); err != nil {
			return nil, Presence{}, err
		}
		if more = p.take(','); !more && !p.take('}') {
			return nil, Presence{}, p.unexpected("a comma or the end of the object")
		}
	}
	return p.build()
}

// member consumes one name and value and notes them in p.members.
func (p *entityParser) member() error {
	name, err := p.name()
	if err != nil {
		return err
	}
	value, err := p.literal()
	if err != nil {
		return err
	}
	property, isType := strings.CutSuffix(name, typeSuffix)
	switch {
	case isType:
		return p.noteType(property, value)
	case name == etagName:
		if value.kind == stringLiteral {
			p.etag = value.text
		}
		return nil
	case strings.HasPrefix(name, "odata.") || strings.Contains(name, "@odata."):
		return nil
	}
	m, err := p.lookup(name)
	if err != nil {
		return err
	}
	if m.value.kind != 0 {
		return duplicateProperty(name)
	}
	m.value = value
	return nil
}

func (p *entityParser) noteType(property string, value literal) error {
	m, err := p.lookup(property)
	if err != nil {
		return err
	}
	if m.typ != 0 {
		return duplicateProperty(property + typeSuffix)
	}
	typ, ok := ParseType(value.text)
	if !ok || value.kind != stringLiteral {
		return invalidInputf("property %q has the unknown type %.40q", property, value.text)
	}
	m.typ = typ
	return nil
}

// lookup returns the member of that name, a new one if there is none. It looks from the end: a value mostly follows
// its annotation.
func (p *entityParser) lookup(name string) (*member, error) {
	for i := len(p.members) - 1; i >= 0; i-- {
		if p.members[i].name == name {
			return &p.members[i], nil
		}
	}
	if len(p.members) == maxMembers {
		return nil, tooManyProperties(fmt.Sprintf("more than %d members", maxMembers))
	}
	p.members = append(p.members, member{name: name})
	return &p.members[len(p.members)-1], nil
}

// build makes the entity of the members.
func (p *entityParser) build() (*Entity, Presence, error) {
	e := &Entity{ETag: p.etag, Properties: make([]Property, 0, len(p.members))}
	var presence Presence
	var err error
	for i := range p.members {
		m := &p.members[i]
		switch {
		case m.value.kind == 0:
		case m.name == partitionKeyName:
			e.PartitionKey, presence.PartitionKey, err = m.key()
		case m.name == rowKeyName:
			e.RowKey, presence.RowKey, err = m.key()
		case m.name == timestampName:
			if t, ok := parseTime(m.value.text); ok {
				e.Timestamp = t
			}
		case m.value.kind == nullLiteral:
			presence.Nulls = append(presence.Nulls, m.name)
		default:
			var v Value
			v, err = m.property()
			e.Properties = append(e.Properties, Property{m.name, v})
		}
		if err != nil {
			return nil, Presence{}, err
		}
	}
	return e, presence, nil
}

// key returns a PartitionKey or RowKey, and whether it is there: null counts as absent.
func (m *member) key() (string, bool, error) {
	if m.value.kind == nullLiteral {
		return "", false, nil
	}
	if m.value.kind != stringLiteral || m.typ != 0 && m.typ != String {
		return "", false, invalidInputf("%s is no string", m.name)
	}
	return m.value.text, true, nil
}

// property returns the typed value of an own property that is not null.
func (m *member) property() (Value, error) {
	switch m.value.kind {
	case trueLiteral, falseLiteral:
		if m.typ == 0 || m.typ == Boolean {
			return BooleanValue(m.value.kind == trueLiteral), nil
		}
	case numberLiteral:
		switch m.typ {
		case 0:
			return m.number()
		case Int32, Int64, Double:
			return m.parse(m.typ)
		}
	case stringLiteral:
		if m.typ == 0 {
			return StringValue(m.value.text), nil
		}
		return m.parse(m.typ)
	}
	return Value{}, invalidInputf("property %q: JSON value cannot be read as %v", m.name, m.typ)
}

// number returns a number without annotation.
func (m *member) number() (Value, error) {
	if strings.ContainsAny(m.value.text, ".eE") {
		return m.parse(Double)
	}
	i, err := strconv.ParseInt(m.value.text, 10, 64)
	switch {
	case err == nil && i == int64(int32(i)):
		return Int32Value(int32(i)), nil
	case err == nil && isExactDouble(i):
		return DoubleValue(float64(i)), nil
	}
	return Value{}, invalidInputf("property %q: %.40s needs the annotation Edm.Int64", m.name, m.value.text)
}

// isExactDouble says whether a double holds i. Beyond 2^53 either way only some do; they are left out, since a
// neighbour that was meant would give the same double.
func isExactDouble(i int64) bool { return -1<<53 <= i && i <= 1<<53 }

func (m *member) parse(t Type) (Value, error) {
	v, err := ParseValue(t, m.value.text)
	if err == nil {
		return v, nil
	}
	if time, ok := parseTime(m.value.text); ok && t == DateTime {
		return Value{}, timeOutOfRange(m.name, time)
	}
	return Value{}, invalidInputf("property %q: %.100q is no %v", m.name, m.value.text, t)
}
