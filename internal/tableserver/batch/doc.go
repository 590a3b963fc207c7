// Package batch reads and writes the multipart bodies of entity group transactions ($batch).
//
// It knows no tables: it turns a body into operations with method, URL, headers and body, and answers into parts.
// It takes what real clients send: LF or CRLF, preambles, a missing final boundary (Performing entity group
// transactions, REST reference). Start with Parse.
package batch
