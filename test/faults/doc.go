// Package faults breaks things under a running allswell, the binary itself and
// its database, and holds it to what it has acknowledged.
package faults
