package tenancy

// Kind is how an isolation model separates tenants.
type Kind string

// The kinds of isolation model.
const (
	SharedTable      Kind = "shared_table"
	DedicatedTable   Kind = "dedicated_table"
	DedicatedAccount Kind = "dedicated_account"
)

// Scheme is how a tenant's entities get their PartitionKey (DESIGN.md §4).
type Scheme string

// The key schemes.
const (
	SchemeTenant   Scheme = "tenant"
	SchemeBucketed Scheme = "bucketed"
	SchemePrefixed Scheme = "prefixed"
	SchemeNative   Scheme = "native"
)

// KeyScheme is a key scheme with its parameters. Separator is used by bucketed and prefixed, Buckets and
// BucketProperty by bucketed alone. BucketProperty "" means that the RowKey is hashed.
type KeyScheme struct {
	Kind           Scheme `json:"kind"`
	Separator      string `json:"separator,omitempty"`
	Buckets        int    `json:"buckets,omitempty"`
	BucketProperty string `json:"bucket_property,omitempty"`
}

// Model is an isolation model: a named placement rule. Account is the name under which the configuration knows the
// account: "home", or a name of the accounts map. It may be empty for dedicated_account, where each tenant names
// its own. Tables maps logical names to physical names; a dedicated model's names hold the placeholder {tenant}.
type Model struct {
	Name      string            `json:"name"`
	Kind      Kind              `json:"kind"`
	Account   string            `json:"account,omitempty"`
	Tables    map[string]string `json:"tables"`
	KeyScheme KeyScheme         `json:"key_scheme"`
}

// State is what may be done with a tenant's data now. Applications honour it.
type State string

// The states of a tenant.
const (
	Provisioning State = "provisioning" // claims and tables are being made; do not use yet
	Active       State = "active"       // read and write
	Frozen       State = "frozen"       // read only: a migration holds the tenant's writes
	Deleting     State = "deleting"     // the tenant is being removed
)

// Tenant is one customer. Key is the text that stands in its PartitionKeys; it defaults to the ID. Epoch grows by one
// with every change of Placement or State.
type Tenant struct {
	ID        string            `json:"id"`
	Key       string            `json:"key"`
	Model     string            `json:"model"`
	State     State             `json:"state"`
	Epoch     int64             `json:"epoch"`
	Labels    map[string]string `json:"labels,omitempty"`
	Placement Placement         `json:"placement"`
}

// Placement is what a model gives one tenant, by logical table.
type Placement map[string]TablePlacement

// TablePlacement is where one logical table of a tenant lives. Account is the configuration's name of the account
// ("home" or a name of the accounts map), Storage the storage account's own name and URL the physical table's
// address, for applications that route by the catalog. Range is where the tenant's entities are. Dedicated says that
// the physical table is the tenant's alone: it is created and dropped with the tenant, and claimed whole.
type TablePlacement struct {
	Account   string    `json:"account"`
	Storage   string    `json:"storage"`
	Table     string    `json:"table"`
	URL       string    `json:"url"`
	Scheme    KeyScheme `json:"scheme"`
	Key       string    `json:"key"`
	Range     KeyRange  `json:"range"`
	Dedicated bool      `json:"dedicated,omitempty"`
}

// HomeAccount is the configuration's name for the account that holds the catalog.
const HomeAccount = "home"
