package assets

import (
	"regexp"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// TestBackgroundsOfStyleSheet checks that the style sheet has the same backgrounds.
func TestBackgroundsOfStyleSheet(t *testing.T) {
	style, err := files.ReadFile("files/style.css")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]kernel.Shades{"paper": statuspage.PaperShades, "card": statuspage.CardShades} {
		found := regexp.MustCompile(`--` + name +
			`: var\(--light, (#\w+)\) var\(--dark, (#\w+)\);`).FindStringSubmatch(string(style))
		if len(found) != 3 || found[1] != want.Light || found[2] != want.Dark {
			t.Errorf("the style sheet has --%s %q, want %v", name, found, want)
		}
	}
}
