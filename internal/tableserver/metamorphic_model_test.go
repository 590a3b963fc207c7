package tableserver

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// The model is the table service on maps, written from the reference and not from the server: it shares no code.

type modelKey struct{ pk, rk string }

// compareKeys orders as the service does, by UTF-16 code units (reference §4.4).
func compareKeys(a, b modelKey) int {
	return cmp.Or(slices.Compare(utf16.Encode([]rune(a.pk)), utf16.Encode([]rune(b.pk))),
		slices.Compare(utf16.Encode([]rune(a.rk)), utf16.Encode([]rune(b.rk))))
}

// modelValue is a typed value; kind is one of the Edm names without their prefix.
type modelValue struct {
	kind string
	num  float64 // Int32, Int64, Double, and Boolean as 0 or 1
	text string
}

// json is how a client sends the property, with its annotation.
func (v modelValue) json(name string) string {
	switch v.kind {
	case "Int64":
		return fmt.Sprintf(`%q:"Edm.Int64",%q:"%.0f"`, name+"@odata.type", name, v.num)
	case "String":
		return fmt.Sprintf("%q:%q", name, v.text)
	default:
		return fmt.Sprintf("%q:%s", name, v.literal())
	}
}

// literal is how a filter writes it.
func (v modelValue) literal() string {
	switch v.kind {
	case "String":
		return "'" + strings.ReplaceAll(v.text, "'", "''") + "'"
	case "Boolean":
		return strconv.FormatBool(v.num != 0)
	case "Double":
		return fmt.Sprintf("%.1f", v.num)
	case "Int64":
		return fmt.Sprintf("%.0fL", v.num)
	default:
		return fmt.Sprintf("%.0f", v.num)
	}
}

func (v modelValue) String() string {
	if v.kind == "String" {
		return "String:" + v.text
	}
	return fmt.Sprint(v.kind, ":", v.num)
}

type modelEntity struct {
	etag  string
	props map[string]modelValue
}

// modelTable is a table and its policies, as "id=permission".
type modelTable struct {
	name     string
	rows     map[modelKey]modelEntity
	policies []string
}

// model holds the tables by their names in lower case.
type model map[string]*modelTable

// modelOp is one write of one entity. ifMatch is "" for none. The zero etag of an answer means that there is none.
type modelOp struct {
	method, ifMatch string
	key             modelKey
	props           map[string]modelValue
}

// outcome returns what the row becomes, nil for gone, or the refusal.
func (op modelOp) outcome(t *modelTable) (after *modelEntity, status int, code string) {
	old, exists := t.rows[op.key]
	switch {
	case op.method == "POST" && exists:
		return nil, 409, "EntityAlreadyExists"
	case op.method != "POST" && op.ifMatch != "" && !exists:
		return nil, 404, "ResourceNotFound"
	case op.ifMatch != "" && op.ifMatch != "*" && op.ifMatch != old.etag:
		return nil, 412, "UpdateConditionNotSatisfied"
	case op.method == "DELETE":
		return nil, 204, ""
	}
	e := modelEntity{props: maps.Clone(op.props)}
	if op.method == "MERGE" && exists {
		e.props = maps.Clone(old.props)
		maps.Copy(e.props, op.props)
	}
	if op.method == "POST" {
		return &e, 201, ""
	}
	return &e, 204, ""
}

// apply makes all changes or none. It returns the index and the answer of the first refusal, or the last answer.
func (m model) apply(table string, ops []modelOp) (index, status int, code string) {
	t := m[strings.ToLower(table)]
	if t == nil {
		return 0, 404, "TableNotFound"
	}
	results := make([]*modelEntity, len(ops))
	for i, op := range ops {
		if results[i], status, code = op.outcome(t); code != "" {
			return i, status, code
		}
	}
	for i, op := range ops {
		if results[i] == nil {
			delete(t.rows, op.key)
		} else {
			t.rows[op.key] = *results[i]
		}
	}
	return len(ops) - 1, status, ""
}

// modelFilter is a comparison, or a connective of others.
type modelFilter struct {
	op      string // eq ne lt le gt ge, and or not
	name    string
	literal modelValue
	of      []modelFilter
}

func (f modelFilter) String() string {
	switch f.op {
	case "and", "or":
		return "(" + f.of[0].String() + ") " + f.op + " (" + f.of[1].String() + ")"
	case "not":
		return "not (" + f.of[0].String() + ")"
	}
	return f.name + " " + f.op + " " + f.literal.literal()
}

func (f modelFilter) matches(k modelKey, e modelEntity) bool {
	switch f.op {
	case "and":
		return f.of[0].matches(k, e) && f.of[1].matches(k, e)
	case "or":
		return f.of[0].matches(k, e) || f.of[1].matches(k, e)
	case "not":
		return !f.of[0].matches(k, e)
	}
	v, found := e.props[f.name]
	switch f.name {
	case "PartitionKey":
		v, found = modelValue{kind: "String", text: k.pk}, true
	case "RowKey":
		v, found = modelValue{kind: "String", text: k.rk}, true
	}
	if !found {
		return false // reference §4.3 rule 4
	}
	order, l := -1, f.literal // rule 3: what does not compare counts as less
	widened := l.kind == "Int32" && (v.kind == "Int64" || v.kind == "Double") || l.kind == "Int64" && v.kind == "Double"
	if v.kind == l.kind || widened { // rules 1 and 2
		order = cmp.Or(cmp.Compare(v.num, l.num), slices.Compare(utf16.Encode([]rune(v.text)), utf16.Encode([]rune(l.text))))
	}
	return map[string]bool{"eq": order == 0, "ne": order != 0, "lt": order < 0, "le": order <= 0, "gt": order > 0, "ge": order >= 0}[f.op]
}

// query returns the matching keys in order.
func (t *modelTable) query(f *modelFilter) []modelKey {
	var keys []modelKey
	for k, e := range t.rows {
		if f == nil || f.matches(k, e) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}

// show writes an entity as it has to come back: the selected properties, or all of them.
func (t *modelTable) show(k modelKey, selected []string) string {
	e := t.rows[k]
	all := maps.Clone(e.props)
	all["PartitionKey"], all["RowKey"] = modelValue{kind: "String", text: k.pk}, modelValue{kind: "String", text: k.rk}
	var out []string
	for name, v := range all {
		if selected == nil || slices.Contains(selected, name) {
			out = append(out, name+"="+v.String())
		}
	}
	for _, name := range selected { // reference §4.4: null for what the entity lacks
		if _, found := all[name]; !found {
			out = append(out, name+"=null")
		}
	}
	slices.Sort(out)
	return e.etag + " " + strings.Join(out, " ")
}

func (k modelKey) path(table string) string {
	quote := func(s string) string { return url.PathEscape(strings.ReplaceAll(s, "'", "''")) }
	return table + "(PartitionKey='" + quote(k.pk) + "',RowKey='" + quote(k.rk) + "')"
}

func (op modelOp) body() string {
	var fields []string
	if op.method == "POST" {
		fields = append(fields, modelValue{kind: "String", text: op.key.pk}.json("PartitionKey"),
			modelValue{kind: "String", text: op.key.rk}.json("RowKey"))
	}
	for _, name := range slices.Sorted(maps.Keys(op.props)) {
		fields = append(fields, op.props[name].json(name))
	}
	return "{" + strings.Join(fields, ",") + "}"
}
