package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Role is a set of the built-in roles of Azure that reach table data.
type Role uint8

// The roles. What each may do is read from its definition: the dataActions under tableServices/tables/entities, and
// for tables the actions tableServices/tables/{read,write,delete}.
const (
	// Reader is Storage Table Data Reader, 76199698-9eea-4c19-bc75-cec21354c6b6: list tables, read entities.
	Reader Role = 1 << iota
	// Contributor is Storage Table Data Contributor, 0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3: what Reader may, create
	// and delete tables, and write entities.
	Contributor
	// Delegator is Storage Table Delegator, 965033a5-c8eb-4f35-b82f-fef460a3606d: get user delegation keys. Whether
	// Reader and Contributor may do so too is unconfirmed (reference §7.6); here they may not.
	Delegator
)

// roleNames are the texts that name a role in a file.
var roleNames = map[string]Role{
	"reader": Reader, "Storage Table Data Reader": Reader, "76199698-9eea-4c19-bc75-cec21354c6b6": Reader,
	"contributor": Contributor, "Storage Table Data Contributor": Contributor, "0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3": Contributor,
	"delegator": Delegator, "Storage Table Delegator": Delegator, "965033a5-c8eb-4f35-b82f-fef460a3606d": Delegator,
}

// Assignment gives a principal a role on an account, or on one table of it.
type Assignment struct {
	Principal string // object id of a user, a managed identity or a service principal
	Role      Role
	Account   string
	Table     string // "" for all tables and the account itself
}

// Roles are all assignments. They do not change.
type Roles struct{ sets map[roleKey]roleSet }

type roleKey struct{ account, principal string }

// roleSet is what one principal has on one account: roles by table in lower case, "" for the account itself.
type roleSet map[string]Role

// NewRoles arranges the assignments.
func NewRoles(assignments ...Assignment) Roles {
	r := Roles{sets: make(map[roleKey]roleSet)}
	for _, a := range assignments {
		k := roleKey{a.Account, strings.ToLower(a.Principal)}
		if r.sets[k] == nil {
			r.sets[k] = make(roleSet)
		}
		r.sets[k][strings.ToLower(a.Table)] |= a.Role
	}
	return r
}

// guidForm is how identifiers of directories and principals look.
var guidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// ParseRoles reads a file of assignments and refuses what it does not know, as a role that is given by mistake is
// worse than a server that does not start:
//
//	{"assignments": [
//	  {"principal": "0f5b…", "role": "contributor", "account": "home"},
//	  {"principal": "7c11…", "role": "reader", "account": "home", "table": "Orders"}]}
//
// A role is reader, contributor or delegator, or the name or id of that built-in role in Azure.
func ParseRoles(from io.Reader) (Roles, error) {
	var file struct {
		Assignments []struct{ Principal, Role, Account, Table string }
	}
	d := json.NewDecoder(from)
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return Roles{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Roles{}, errors.New("something follows the object of assignments")
	}
	if len(file.Assignments) == 0 {
		return Roles{}, errors.New(`no assignments: give {"assignments": [{"principal": …, "role": …, "account": …}]}`)
	}
	assignments := make([]Assignment, len(file.Assignments))
	for i, a := range file.Assignments {
		role, known := roleNames[a.Role]
		switch {
		case !guidForm.MatchString(a.Principal):
			return Roles{}, fmt.Errorf("assignment %d: principal %q is not an object id", i+1, a.Principal)
		case !known:
			return Roles{}, fmt.Errorf("assignment %d: role %q is none of reader, contributor, delegator", i+1, a.Role)
		case a.Account == "":
			return Roles{}, fmt.Errorf("assignment %d: the account is missing", i+1)
		case a.Table != "" && role == Delegator:
			return Roles{}, fmt.Errorf("assignment %d: delegator is a role on an account, not on a table", i+1)
		}
		assignments[i] = Assignment{Principal: a.Principal, Role: role, Account: a.Account, Table: a.Table}
	}
	return NewRoles(assignments...), nil
}

// of returns what a principal has on an account; empty for a principal that nothing is given.
func (r Roles) of(account, principal string) roleSet {
	return r.sets[roleKey{account, strings.ToLower(principal)}]
}

// neededForTables is the role, any of those in it, that an operation on tables needs on the account. Service properties
// and stats need actions that no role for table data holds.
var neededForTables = map[Operation]Role{
	QueryTables:          Reader | Contributor,
	CreateTable:          Contributor,
	DeleteTable:          Contributor,
	GetUserDelegationKey: Delegator,
}

func (s roleSet) allowTables(op Operation) error {
	if op == GetTableACL || op == SetTableACL {
		return noACL()
	}
	if s[""]&neededForTables[op] == 0 {
		return forbidden("AuthorizationPermissionMismatch", " using this permission")
	}
	return nil
}

func (s roleSet) allowEntities(op Operation, table string) error {
	needed := Contributor
	switch op {
	case QueryEntities, GetEntity:
		needed |= Reader
	case InsertEntity, UpdateEntity, MergeEntity, InsertOrReplaceEntity, InsertOrMergeEntity, DeleteEntity:
	default:
		return forbidden("AuthorizationFailure", "")
	}
	if (s[""]|s[strings.ToLower(table)])&needed == 0 {
		return forbidden("AuthorizationPermissionMismatch", " using this permission")
	}
	return nil
}
