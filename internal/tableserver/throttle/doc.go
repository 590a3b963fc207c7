// Package throttle refuses work beyond the scale targets of a storage account and of a partition, as Azure publishes
// them. It counts entities; what an entity is worth is the caller's affair. It imports the standard library alone.
// Start with Limiter.
package throttle
