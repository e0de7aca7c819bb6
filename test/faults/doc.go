// Package faults kills the built binary and its database while they work, and checks
// that nothing that was acknowledged is lost.
package faults
