package allswell_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentsNameFilesThatExist checks every file and folder that the guides for
// developers name in backquotes, and the relative links of all documents.
func TestDocumentsNameFilesThatExist(t *testing.T) {
	named := regexp.MustCompile("`((?:internal|client|cmd|test|docs|deploy)(?:/[\\w.-]+)*|[a-z_]+\\.go)/?`")
	for _, doc := range []string{"docs/architecture.md", "CONTRIBUTING.md"} {
		matches := named.FindAllStringSubmatch(read(t, doc), -1)
		if len(matches) == 0 {
			t.Errorf("%s names no files", doc)
		}
		for _, m := range matches {
			if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s names %s, which does not exist", doc, m[1])
			}
		}
	}
	link := regexp.MustCompile("\\]\\(([^)#:`]+)(#[^)]*)?\\)")
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md", "deploy/*/*.md"} {
		docs, err := filepath.Glob(pattern)
		if err != nil || len(docs) == 0 {
			t.Fatalf("%s: %d documents, %v", pattern, len(docs), err)
		}
		for _, doc := range docs {
			for _, m := range link.FindAllStringSubmatch(read(t, doc), -1) {
				target := filepath.Join(filepath.Dir(doc), m[1])
				text, err := os.ReadFile(target)
				if _, statErr := os.Stat(target); statErr != nil {
					t.Errorf("%s links to %s, which does not exist", doc, m[1])
				} else if err == nil && m[2] != "" && strings.HasSuffix(target, ".md") && !hasHeading(string(text), m[2][1:]) {
					t.Errorf("%s links to %s%s, which has no such heading", doc, m[1], m[2])
				}
			}
		}
	}
}

// hasHeading reports whether a document has a heading with an anchor, as GitHub
// makes anchors.
func hasHeading(text, anchor string) bool {
	dropped := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for line := range strings.Lines(text) {
		heading := strings.TrimLeft(line, "#")
		if heading == line {
			continue
		}
		heading = dropped.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
		if strings.ReplaceAll(heading, " ", "-") == anchor {
			return true
		}
	}
	return false
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
