package assets

import (
	"strings"
	"testing"

	"github.com/allswell/allswell"
)

// TestAssetsAreSentWithoutComments checks that assets are served without their
// comments.
func TestAssetsAreSentWithoutComments(t *testing.T) {
	for name, want := range map[string]string{"page.js": `const locale = root.dataset.locale`, "style.css": `:root {`} {
		sent := string(all[name].current.Body())
		if strings.Contains(sent, "/*") || strings.Contains(sent, "\n//") || !strings.Contains(sent, want) {
			t.Errorf("%s: %.400s", name, sent)
		}
	}
}

// TestFind checks that an asset is found under its own hash and under that of
// another version.
func TestFind(t *testing.T) {
	if len(all) < 8 {
		t.Errorf("%d assets", len(all))
	}
	for name, a := range all {
		if doc := Find(strings.TrimPrefix(a.url, Path)); doc == nil || doc != a.current || len(doc.Body()) == 0 {
			t.Errorf("%s is not found at %s", name, a.url)
		}
		dot := strings.LastIndexByte(a.url, '.')
		if doc := Find(strings.TrimPrefix(a.url[:dot-16]+"0123456789abcdef"+a.url[dot:], Path)); doc == nil || doc != a.other {
			t.Errorf("%s of another version is not found", name)
		}
	}
	for _, s := range allswell.Statuses {
		if IconURL(s) == "" {
			t.Errorf("no icon for %s", s)
		}
	}
}

// TestScriptIsSmall checks the size of page.js, which is not minified.
func TestScriptIsSmall(t *testing.T) {
	if n := len(all["page.js"].current.Body()); n > 6_000 {
		t.Errorf("page.js has %d bytes", n)
	}
}
