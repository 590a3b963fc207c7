package control

import (
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/fault"
)

// Prefix is the reserved path below which the control surface lies.
const Prefix = "/_tableserver/"

// Faults is the body of GET and PUT faults, and of POST faults, which adds rules and has no seed.
type Faults struct {
	Rules []string `json:"rules"` // in the form of fault.Syntax
	Seed  uint64   `json:"seed,omitempty"`
}

// FaultReports is the answer of GET faults.
type FaultReports struct {
	Rules []fault.Report `json:"rules"`
}

// PolicyDelay is the body of GET and PUT policy-delay.
type PolicyDelay struct {
	Delay string `json:"delay"` // as in 30s
}

// Accounts is the answer of GET accounts.
type Accounts struct {
	Accounts []string `json:"accounts"`
}

// HotPartition is one of the answer of GET partitions, busiest first.
type HotPartition struct {
	Account      string `json:"account"`
	Table        string `json:"table"`
	PartitionKey string `json:"partition_key"`
	Entities     uint64 `json:"entities"`
	Overcount    uint64 `json:"overcount"`
}

// Partitions is the answer of GET partitions.
type Partitions struct {
	Partitions []HotPartition `json:"partitions"`
}

// Problem is the body of every answer that is an error.
type Problem struct {
	Error string `json:"error"`
}
