// Package stored compares the output of code with tables in files, so that every change of the output is reviewed.
package stored

import (
	"os"
	"strings"
	"testing"
)

// Compare compares a text with a file, part by part, and writes the file first if update is set. A difference is
// reported with the last part before it that begins with "# ".
func Compare(t *testing.T, file, separator, text string, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, want := strings.Split(text, separator), strings.Split(string(stored), separator)
	heading := ""
	for i := range min(len(got), len(want)) {
		if strings.HasPrefix(got[i], "# ") {
			heading = got[i]
		}
		if got[i] != want[i] {
			t.Errorf("%s:\n%s\nwant\n%s", heading, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s has %d parts, want %d", file, len(want), len(got))
	}
}
