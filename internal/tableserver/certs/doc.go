// Package certs finds the certificate for HTTPS: one that is given, or one that it makes and keeps in a folder.
//
// It imports nothing of this module but store, for files that are whole or not there. Start with Load and Generate.
package certs
