// Package faults kills the built binary and its database while they work, and checks that no acknowledged change is
// lost.
package faults
