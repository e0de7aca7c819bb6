// Package repository tests what the repository as a whole promises: which package imports which, that documents name
// files that exist, that templates are well formed, and that no test listens on a fixed port.
package repository

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil { // the tests name files from the root of the repository
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
