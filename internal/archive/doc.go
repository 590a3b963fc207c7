// Package archive keeps tenants' entities in files: in a folder, or under a prefix of a Blob container, and brings them
// back. It imports edm, tenancy and tablestorage. Start with Manifest, which draws the format, then Write and Archive.
//
// An archive is complete when its manifest is there, which is written last; until then it is none. Every file is read back
// after it was written, and nothing is handed out of a file before all of its digests were compared. It is not
// encrypted: whoever can read it can read the tenant's data.
package archive
