package auth

// Operation is one operation of the service, as far as permissions tell them apart.
type Operation uint8

// The operations. A batch is authorized by its parts.
const (
	GetServiceProperties Operation = iota + 1
	SetServiceProperties
	GetServiceStats
	GetUserDelegationKey
	QueryTables // also one entry of Tables
	CreateTable
	DeleteTable
	GetTableACL
	SetTableACL
	QueryEntities
	GetEntity
	InsertEntity
	UpdateEntity // replace with If-Match
	MergeEntity  // merge with If-Match
	InsertOrReplaceEntity
	InsertOrMergeEntity
	DeleteEntity
)

// requirement is what a SAS must hold for an operation.
type requirement struct {
	// types are the letters of srt of which an account SAS needs one; none: no SAS ever allows the operation.
	types string
	// account are alternatives for an account SAS: sets of letters of sp, all needed.
	account []string
	// table is the set of letters of sp that a table SAS needs, all of them; "": no table SAS allows the operation.
	table string
}

// requirements is the table of reference §7.5. Query Tables needs s by the documentation and c by Azurite: either is
// taken. Get and Set Table ACL and the user delegation key are in reach of no SAS.
var requirements = map[Operation]requirement{
	GetServiceProperties:  {types: "s", account: []string{"r"}},
	SetServiceProperties:  {types: "s", account: []string{"w"}},
	GetServiceStats:       {types: "s", account: []string{"r"}},
	QueryTables:           {types: "sc", account: []string{"l"}},
	CreateTable:           {types: "c", account: []string{"c", "w"}},
	DeleteTable:           {types: "c", account: []string{"d"}},
	QueryEntities:         {types: "o", account: []string{"r"}, table: "r"},
	GetEntity:             {types: "o", account: []string{"r"}, table: "r"},
	InsertEntity:          {types: "o", account: []string{"a"}, table: "a"},
	UpdateEntity:          {types: "o", account: []string{"u"}, table: "u"},
	MergeEntity:           {types: "o", account: []string{"u"}, table: "u"},
	InsertOrReplaceEntity: {types: "o", account: []string{"au"}, table: "au"},
	InsertOrMergeEntity:   {types: "o", account: []string{"au"}, table: "au"},
	DeleteEntity:          {types: "o", account: []string{"d"}, table: "d"},
}
