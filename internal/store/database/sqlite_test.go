package database

import (
	"net/url"
	"testing"
)

func TestFileURI(t *testing.T) {
	for path, want := range map[string]string{
		"/var/lib/allswell/allswell.db": "file:///var/lib/allswell/allswell.db?mode=ro",
		"/a b/100%/what?.db":            "file:///a%20b/100%25/what%3F.db?mode=ro",
		"C:/Data/allswell.db":           "file:///C:/Data/allswell.db?mode=ro",
	} {
		if got := fileURI(path, url.Values{"mode": {"ro"}}); got != want {
			t.Errorf("fileURI(%q) = %q, want %q", path, got, want)
		}
	}
}
