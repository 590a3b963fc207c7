// Package keyspan describes stretches of a table's key order: places between keys, and the spans they enclose.
//
// A filter implies spans (odata), a shared access signature allows one (auth), and the store reads spans; they meet
// here so that a query reads the intersection and no more. It does no I/O and imports only edm. Start with Bound.
package keyspan
