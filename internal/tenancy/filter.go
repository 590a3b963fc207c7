package tenancy

import "strings"

// Filter returns the OData $filter that selects exactly the range, "" for the whole table. The bounds on PartitionKey
// stand alone beside "and", where the service can seek to them; what a RowKey adds narrows only the first and the last
// partition. Comparisons of order with the empty text are left out, because reports on them disagree.
func (r KeyRange) Filter() string {
	if r.End != EndTable && r.First.PartitionKey == r.Last.PartitionKey {
		return r.filterPartition()
	}
	var all []string
	if pk := quote(r.First.PartitionKey); r.First.PartitionKey != "" {
		all = append(all, "PartitionKey ge "+pk)
		if r.First.RowKey != "" {
			all = append(all, "(PartitionKey gt "+pk+" or RowKey ge "+quote(r.First.RowKey)+")")
		}
	} else if r.First.RowKey != "" {
		all = append(all, "(PartitionKey ne "+pk+" or RowKey ge "+quote(r.First.RowKey)+")")
	}
	if pk := quote(r.Last.PartitionKey); r.End != EndTable {
		all = append(all, "PartitionKey le "+pk)
		if r.End == EndKey {
			all = append(all, "(PartitionKey lt "+pk+" or "+upToRow(r.Last.RowKey)+")")
		}
	}
	return strings.Join(all, " and ")
}

// filterPartition is Filter for a range within one partition.
func (r KeyRange) filterPartition() string {
	f := "PartitionKey eq " + quote(r.First.PartitionKey)
	if r.First.RowKey != "" {
		f += " and RowKey ge " + quote(r.First.RowKey)
	}
	if r.End == EndKey {
		f += " and " + upToRow(r.Last.RowKey)
	}
	return f
}

func upToRow(rowKey string) string {
	if rowKey == "" {
		return "RowKey eq ''"
	}
	return "RowKey le " + quote(rowKey)
}

// quote writes an OData string literal; a quote within it is doubled.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
