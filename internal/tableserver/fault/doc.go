// Package fault decides by rules which requests go wrong, and how. It imports traffic, for the operations' names.
// Start with Rule, which Parse reads; Injector holds rules and asks them.
package fault
