// Package docs tests the samples in README.md and docs: what can be run is run against a server, and everything else
// is given to the program that reads it.
package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the root of the repository.
const root = "../.."

// A block is one fenced block of a document.
type block struct {
	file     string // relative to the root
	line     int    // of the first line of text
	language string
	text     string // with a line feed at the end
}

func (b block) String() string { return fmt.Sprintf("%s:%d", b.file, b.line) }

// checked lists the languages of blocks, and the test that checks them.
var checked = map[string]string{
	"sh": "TestShell", "crontab": "TestCrontab", "json": "TestJSON",
	"go": "TestAPIHasTheExample in the root, TestRecipes", "yaml": "TestPrometheus, TestRecipesInYAML",
	"promql": "TestMetrics", "sql": "TestPostgreSQL", "markdown": "TestBadges", "html": "TestWidgets",
	"js":     "TestSamplesInJavaScript",
	"python": "TestPython, TestRecipes", "env": "TestConfigurationFile", "text": "nothing: diagrams",
	"caddyfile": "TestProxies", "nginx": "TestProxies",
	"javascript": "TestRecipes", "java": "TestRecipes", "ruby": "TestRecipes", "php": "TestRecipes",
	"rust":   "TestRecipes",
	"csharp": "nothing: no test can have its compiler", "powershell": "TestRecipesInPowerShell",
	"ini":        "TestRecipesForSystemd",
	"dockerfile": "TestRecipesInYAML", "aliases": "TestMailAliases",
}

func documents(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(root + "/docs/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	names := []string{"README.md"}
	for _, file := range files {
		names = append(names, "docs/"+filepath.Base(file))
	}
	return names
}

// blocks returns the blocks of a document.
func blocks(t *testing.T, file string) []block {
	t.Helper()
	var all []block
	var open *block
	for i, line := range strings.SplitAfter(read(t, file), "\n") {
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case open != nil && isFence:
			all = append(all, *open)
			open = nil
		case isFence:
			open = &block{file: file, line: i + 2, language: fence}
		case open != nil:
			open.text += line
		}
	}
	if open != nil {
		t.Errorf("%v is not closed", open)
	}
	return all
}

// blocksOf returns the blocks of all documents in a language.
func blocksOf(t *testing.T, language string) []block {
	t.Helper()
	var found []block
	for _, file := range documents(t) {
		for _, b := range blocks(t, file) {
			if b.language == language {
				found = append(found, b)
			}
		}
	}
	if len(found) == 0 {
		t.Errorf("no document has a block of %s", language)
	}
	return found
}

// blocksIn returns the blocks of one document.
func blocksIn(t *testing.T, file, language string) (found []block) {
	t.Helper()
	for _, b := range blocksOf(t, language) {
		if b.file == file {
			found = append(found, b)
		}
	}
	if len(found) == 0 {
		t.Errorf("%s has no block of %s", file, language)
	}
	return found
}

// TestEveryBlockIsChecked checks that a test checks each block.
func TestEveryBlockIsChecked(t *testing.T) {
	for _, file := range documents(t) {
		for _, b := range blocks(t, file) {
			if checked[b.language] == "" {
				t.Errorf("%v: no test checks blocks of %q", b, b.language)
			}
			if b.language == "text" && !strings.ContainsAny(b.text, "─│┌") {
				t.Errorf("%v: only diagrams are text", b)
			}
		}
	}
}

// TestSettingsExist checks that the settings that documents name are settings of serve, or of a command.
func TestSettingsExist(t *testing.T) {
	list, installer := read(t, "docs/settings.md"), read(t, "install.sh")
	for _, file := range append(documents(t), "deploy/high-availability/README.md") {
		for _, name := range regexp.MustCompile(`\bALLSWELL_[A-Z_]+[A-Z]\b`).FindAllString(read(t, file), -1) {
			switch {
			case name == "ALLSWELL_URL", name == "ALLSWELL_TOKEN", name == "ALLSWELL_PAGE", name == "ALLSWELL_MONITOR",
				name == "ALLSWELL_SPOOL", strings.Contains(installer, name),
				strings.HasPrefix(name, "ALLSWELL_FAILOVER_"):
			case !strings.Contains(list, "- `"+name+"`"):
				t.Errorf("%s names %s, which is no setting", file, name)
			}
		}
	}
}

// needs skips a test if a program is not installed, or ends it if ALLSWELL_TEST_REQUIRE_SAMPLES is 1.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("ALLSWELL_TEST_REQUIRE_SAMPLES") == "1" {
				t.Fatalf("%s is not installed", program)
			}
			t.Skipf("skipped: %s is not installed", program)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
