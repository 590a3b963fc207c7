// Package catalog is the tenant directory: one table in the home account that records isolation models, tenants,
// claims and migrations, and that applications in any language read to route by. Every change is a compare-and-swap
// on the ETag of a row; a claim is one on the ETag of the head row of its physical table.
//
// It imports edm, tenancy and tablestorage. Start with Catalog, then Provisioner; write.go has the compare-and-swap.
//
// The rows:
//
//	PartitionKey            RowKey                    row
//	claim|STORAGE|table     head                      guard of the partition: replaced by every change of its claims
//	claim|STORAGE|table     range|FIRST PARTITIONKEY  one claim; the table's name is in lower case, as the service compares it
//	migration               MIGRATION                 one migration
//	model                   NAME                      one isolation model
//	tenant                  ID                        one tenant: a point read routes, a partition scan lists
//	work|MIGRATION          chunk|LOGICAL|000000      checkpoint of one key range of a migration
//	work|MIGRATION          step|0000000001           one step of a migration's log
//	work|MIGRATION          control|NAME              a word of the operator to the mover; control|tuning is the pace
//	work|evacuation|NAME    head                      one evacuation: guard of its list, replaced by whoever begins, releases or ends a move
//	work|evacuation|NAME    move|TENANT               one tenant of it
//
// The columns beside the keys (JSON is text of at most 32,768 UTF-16 code units; a column that may be empty is absent then):
//
//	all        Schema Int32, 1 · Write Guid, made up for each change · Updated DateTime
//	model      Kind, Account?, Tables (JSON), KeyScheme (JSON), Lock? Strings
//	tenant     State, Model, Key, Placement (JSON), Labels? (JSON), Migration? Strings · Epoch Int64 · Created DateTime
//	claim      TenantId, Key, Logical, Storage, TableName, Range (JSON) Strings
//	head       Storage, TableName, Drops? (JSON: id of a drop to the time until which nobody may claim) Strings · Changes Int64
//	migration  TenantId, FromModel, ToModel, Source (JSON), Target (JSON), State, LeaseOwner?, Detail? (JSON) Strings ·
//	           LeaseEpoch, Copied, Total Int64 · Created, LeaseExpires?, Ended? DateTime
//	chunk      Logical, Range (JSON), AfterPartitionKey, AfterRowKey, Detail? (JSON) Strings · Number Int32 · Count Int64 ·
//	           Started, Done Boolean · Keys?, Content? Binary
//	step       Kind, Name, Detail Strings · Time DateTime
//	control    Text String
//	tuning     Rate, Changes Int64 · Workers Int32 · Paused Boolean
//	evacuation State, Reason?, Detail? (JSON) Strings · Created, Ended? DateTime
//	move       ToModel, Account?, Sources (JSON), Targets (JSON), State, LeaseOwner?, Detail? (JSON) Strings · Number Int32 ·
//	           Released Boolean · Attempts, LeaseEpoch Int64 · LeaseExpires?, NotBefore?, Started?, Ended? DateTime
//
// A row with a greater Schema was written by a newer version and is refused (ErrNewerSchema), never guessed at.
package catalog
