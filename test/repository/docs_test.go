package repository

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentsNameFilesThatExist checks every file and folder that the guides for developers name in
// backquotes, and all links within the repository, also to headings.
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
	link := regexp.MustCompile("\\]\\(([^)#:`]*)(#[^)]*)?\\)")
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md", "deploy/*/*.md"} {
		docs, err := filepath.Glob(pattern)
		if err != nil || len(docs) == 0 {
			t.Fatalf("%s: %d documents, %v", pattern, len(docs), err)
		}
		for _, doc := range docs {
			for _, m := range link.FindAllStringSubmatch(read(t, doc), -1) {
				target := doc // a link within the document
				if m[1] != "" {
					target = filepath.Join(filepath.Dir(doc), m[1])
				}
				text, err := os.ReadFile(target)
				if _, statErr := os.Stat(target); statErr != nil {
					t.Errorf("%s links to %s, which does not exist", doc, m[1])
				} else if err == nil && m[2] != "" && strings.HasSuffix(target, ".md") &&
					!hasHeading(string(text), m[2][1:]) {
					t.Errorf("%s links to %s%s, which has no such heading", doc, m[1], m[2])
				}
			}
		}
	}
}

// TestArchitectureNamesMethodsThatExist checks every method of the domain that docs/architecture.md names.
func TestArchitectureNamesMethodsThatExist(t *testing.T) {
	files, err := filepath.Glob("internal/domain/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, file := range files {
		source.WriteString(read(t, file))
	}
	methods := regexp.MustCompile("`([A-Z]\\w+)\\.([A-Z]\\w+)`").FindAllStringSubmatch(read(t, "docs/architecture.md"),
		-1)
	if len(methods) == 0 {
		t.Error("docs/architecture.md names no methods")
	}
	for _, m := range methods {
		if !regexp.MustCompile(`(?m)^func \(\w+ \*?` + m[1] + `\) ` + m[2] + `\(`).MatchString(source.String()) {
			t.Errorf("docs/architecture.md names %s.%s, which does not exist", m[1], m[2])
		}
	}
}

// TestCommentsNameDocumentsThatExist checks every file of docs that Go files name.
func TestCommentsNameDocumentsThatExist(t *testing.T) {
	named := regexp.MustCompile(`\bdocs/(?:[\w-]+/)*[\w-]+\.(?:md|svg)\b`)
	found := 0
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		for _, doc := range named.FindAllString(read(t, path), -1) {
			found++
			if _, err := os.Stat(doc); err != nil {
				t.Errorf("%s names %s, which does not exist", path, doc)
			}
		}
		return nil
	})
	if err != nil || found == 0 {
		t.Errorf("%d documents are named; %v", found, err)
	}
}

// TestAPIHasTheExample checks that the Go code in docs/api.md is in an example of package client, which is compiled
// and run.
func TestAPIHasTheExample(t *testing.T) {
	_, code, _ := strings.Cut(read(t, "docs/api.md"), "```go\n")
	code, _, ok := strings.Cut(code, "```")
	indented := "\t" + strings.ReplaceAll(strings.TrimSpace(code), "\n", "\n\t")
	if !ok || !strings.Contains(read(t, "client/example_test.go"), indented) {
		t.Errorf("client/example_test.go does not have this code:\n%s", indented)
	}
}

// hasHeading reports whether a document has a heading with the given anchor. Anchors are derived from
// headings as on GitHub.
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
