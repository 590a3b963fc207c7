// Package ui shows what long commands do: Bar draws on a terminal, Lines writes plain lines, JSON writes one object a
// line. All three are a migration.Progress. It also has the forms of numbers, durations and tables in text output.
//
// It imports nothing of this module. Start with Progress and Meter.
package ui
