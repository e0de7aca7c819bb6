package assets

import (
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestAssetsAreSentWithoutComments checks that assets are served without their
// comments.
func TestAssetsAreSentWithoutComments(t *testing.T) {
	for name, want := range map[string]string{"page.js": `const locale = root.dataset.locale`, "style.css": `:root {`} {
		sent := string(all()[name].current().Body())
		if strings.Contains(sent, "/*") || strings.Contains(sent, "\n//") || !strings.Contains(sent, want) {
			t.Errorf("%s: %.400s", name, sent)
		}
	}
}

// TestFind checks that an asset is found under its own hash and under the hash of another version.
func TestFind(t *testing.T) {
	if len(all()) < 8 {
		t.Errorf("%d assets", len(all()))
	}
	for name, a := range all() {
		if doc := Find(strings.TrimPrefix(a.url, Path)); doc == nil || doc != a.current() || len(doc.Body()) == 0 {
			t.Errorf("%s is not found at %s", name, a.url)
		}
		dot := strings.LastIndexByte(a.url, '.')
		doc := Find(strings.TrimPrefix(a.url[:dot-16]+"0123456789abcdef"+a.url[dot:], Path))
		if doc == nil || doc != a.other() {
			t.Errorf("%s of another version is not found", name)
		}
	}
	for _, s := range kernel.Statuses {
		if IconURL(s) == "" {
			t.Errorf("no icon for %s", s)
		}
	}
}

// TestScriptsAreSmall checks the compressed sizes of the scripts, which are not minified.
func TestScriptsAreSmall(t *testing.T) {
	for name, most := range map[string]int{"page.js": 6_200, "theme.js": 600} {
		if n := len(all()[name].current().Compressed()); n > most {
			t.Errorf("%s has %d bytes", name, n)
		}
	}
}

// TestEveryFileIsServed checks that every file is in a bundle.
func TestEveryFileIsServed(t *testing.T) {
	times := make(map[string]int)
	for _, parts := range bundles {
		for _, part := range parts {
			times[part]++
		}
	}
	entries, err := files.ReadDir("files")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if times[e.Name()] == 0 {
			t.Errorf("%s is in no bundle", e.Name())
		}
	}
}
