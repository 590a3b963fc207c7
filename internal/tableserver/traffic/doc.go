// Package traffic records what requests asked for and what became of them: an access log, metrics, and which
// partitions are hot. It knows the protocol's operations by name, and nothing of how they are answered.
//
// It imports the standard library and the Prometheus client alone. Start with Request; Log, Metrics and Heat each
// take finished ones.
package traffic
