// Package sas signs shared access signatures of the Azure Table service: on one table with an optional key range,
// and on an account. It does no I/O and imports only the standard library.
//
// Start with SignTable; the string-to-sign is listed at stringToSign.
package sas
