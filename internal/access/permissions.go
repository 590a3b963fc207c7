package access

import (
	"fmt"
	"slices"
	"strings"
)

// Permissions are what a token allows, in the order in which the service writes them; none occurs twice. An upsert needs
// add and update.
type Permissions []Permission

// Permission is one right on entities. The texts are those that users write.
type Permission string

// The permissions of a table SAS (Create a service SAS, table service).
const (
	Read   Permission = "read"
	Add    Permission = "add"
	Update Permission = "update"
	Delete Permission = "delete"
)

// AllPermissions are all that there are, in the service's order.
var AllPermissions = Permissions{Read, Add, Update, Delete}

// ParsePermissions reads the names of permissions, in any order. At least one must be given.
func ParsePermissions(names []string) (Permissions, error) {
	for _, name := range names {
		if !slices.Contains(AllPermissions, Permission(name)) {
			return nil, fmt.Errorf("permission %q is none: there are %s", name, AllPermissions)
		}
	}
	var p Permissions
	for _, one := range AllPermissions {
		if slices.Contains(names, string(one)) {
			p = append(p, one)
		}
	}
	if len(p) == 0 {
		return nil, fmt.Errorf("no permission is given: there are %s", AllPermissions)
	}
	return p, nil
}

// Write says whether any of them changes entities.
func (p Permissions) Write() bool {
	return slices.ContainsFunc(p, func(one Permission) bool { return one != Read })
}

// Names returns the permissions as texts.
func (p Permissions) Names() []string {
	names := make([]string, len(p))
	for i, one := range p {
		names[i] = string(one)
	}
	return names
}

// String lists them for messages.
func (p Permissions) String() string { return strings.Join(p.Names(), ", ") }

// letters are the permissions as a SAS has them.
func (p Permissions) letters() string {
	var b strings.Builder
	for _, one := range p {
		b.WriteByte(one[0])
	}
	return b.String()
}
