// Package odata reads and evaluates the $filter expressions that the Table service understands.
//
// It imports only edm and keyspan. Start with Parse, which turns a text into a Filter; eval.go decides whether an
// entity matches, spans.go which stretches of the key order can hold a match, so that the store reads no more.
package odata
