package traffic

import (
	"slices"
	"strings"
)

// Operation is the name of an operation, as Azure's logs spell it (Storage Analytics logged operations and status
// messages, REST reference). It is empty for a request that asked for none.
type Operation string

// The operations.
const (
	QueryTables           Operation = "QueryTables"
	QueryTable            Operation = "QueryTable"
	CreateTable           Operation = "CreateTable"
	DeleteTable           Operation = "DeleteTable"
	GetTableACL           Operation = "GetTableAcl"
	SetTableACL           Operation = "SetTableAcl"
	QueryEntities         Operation = "QueryEntities"
	QueryEntity           Operation = "QueryEntity"
	InsertEntity          Operation = "InsertEntity"
	UpdateEntity          Operation = "UpdateEntity"
	MergeEntity           Operation = "MergeEntity"
	InsertOrReplaceEntity Operation = "InsertOrReplaceEntity"
	InsertOrMergeEntity   Operation = "InsertOrMergeEntity"
	DeleteEntity          Operation = "DeleteEntity"
	Batch                 Operation = "EntityGroupTransaction"
	GetProperties         Operation = "GetTableServiceProperties"
	SetProperties         Operation = "SetTableServiceProperties"
	GetStats              Operation = "GetTableServiceStats"
	GetUserDelegationKey  Operation = "GetUserDelegationKey"
	Preflight             Operation = "TablePreflightRequest"
)

// Category is the group of an operation in Azure's resource logs.
type Category string

// The categories of StorageTableLogs.
const (
	Read   Category = "StorageRead"
	Write  Category = "StorageWrite"
	Delete Category = "StorageDelete"
)

var categories = map[Operation]Category{
	QueryTables: Read, QueryTable: Read, GetTableACL: Read, QueryEntities: Read, QueryEntity: Read,
	GetProperties: Read, GetStats: Read, GetUserDelegationKey: Read, Preflight: Read,
	CreateTable: Write, SetTableACL: Write, InsertEntity: Write, UpdateEntity: Write, MergeEntity: Write,
	InsertOrReplaceEntity: Write, InsertOrMergeEntity: Write, Batch: Write, SetProperties: Write,
	DeleteTable: Delete, DeleteEntity: Delete,
}

// Category returns the operation's group; Read for one that is not known.
func (o Operation) Category() Category {
	if c, ok := categories[o]; ok {
		return c
	}
	return Read
}

// ParseOperations reads names joined by "|", in any letter case. "read" stands for the operations that change
// nothing, "write" for the others. The second result is the name that is none, or "".
func ParseOperations(text string) ([]Operation, string) {
	var found []Operation
	for name := range strings.SplitSeq(text, "|") {
		n := len(found)
		for o, c := range categories {
			switch {
			case strings.EqualFold(name, string(o)), name == "read" && c == Read, name == "write" && c != Read:
				found = append(found, o)
			}
		}
		if len(found) == n {
			return nil, name
		}
	}
	slices.Sort(found)
	return slices.Compact(found), ""
}
