package sas

import "time"

// TableParams are the rights of a SAS on one table.
type TableParams struct {
	Account    string
	Table      string
	Permission string // letters of "raud"; "" if the policy has them
	Start      time.Time
	Expiry     time.Time
	PolicyID   string // stored access policy
	IPRange    string // "168.1.5.60" or "168.1.5.60-168.1.5.70"
	Protocol   string // "https" or "https,http"; "" is both
	// Range of keys, both ends included; nil leaves an end open. A row key needs its partition key.
	StartPartitionKey, StartRowKey *string
	EndPartitionKey, EndRowKey     *string
}

// SignTable returns the query string of the SAS, without "?". Key is the account key, base64.
func SignTable(p TableParams, key string) (string, error) { panic("under construction") }

// AccountParams are the rights of an account SAS on the table service.
type AccountParams struct {
	Account       string
	Permission    string // letters of "rwdlacup"
	ResourceTypes string // letters of "sco"
	Start         time.Time
	Expiry        time.Time
	IPRange       string
	Protocol      string
}

// SignAccount returns the query string of the SAS, without "?". Key is the account key, base64.
func SignAccount(p AccountParams, key string) (string, error) { panic("under construction") }
