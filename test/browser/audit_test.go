package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/test/binary"
)

// The audits are other people's: npm packages, looked for in the node_modules
// of the folder nodeModules; with requireNode=1 they must be there.
const (
	nodeModules = "ALLSWELL_TEST_NODE_MODULES"
	requireNode = "ALLSWELL_TEST_REQUIRE_NODE"
)

// module returns where a file of an npm package is.
func module(t *testing.T, file string) string {
	t.Helper()
	missing := t.Skipf
	if os.Getenv(requireNode) == "1" {
		missing = t.Fatalf
	}
	dir := os.Getenv(nodeModules)
	if dir == "" {
		missing("skipped: %s names no folder", nodeModules)
	}
	path := filepath.Join(dir, "node_modules", file)
	if _, err := os.Stat(path); err != nil {
		missing("skipped: %v", err)
	}
	return path
}

// TestAccessibilityInJavaScript runs axe-core over every kind of public page, in light and
// dark, small and large.
func TestAccessibilityInJavaScript(t *testing.T) {
	axe, err := os.ReadFile(module(t, "axe-core/axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	c := start(t)
	server := newServer(t)
	for kind, path := range fill(t, binary.NewClient(server.URL, token)) {
		for _, v := range views[:4] {
			t.Run(kind+"/"+v.name, func(t *testing.T) {
				for _, fault := range violations(c.open(t, v, server.URL+path), string(axe)) {
					t.Error(fault)
				}
			})
		}
	}
	t.Run("seen", func(t *testing.T) {
		bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `<!doctype html><title>Bad</title><img src="data:,"><p style="color: #ccc; background: #fff">faint`)
		}))
		defer bad.Close()
		got := strings.Join(violations(c.open(t, views[2], bad.URL), string(axe)), "\n")
		for _, want := range []string{"image-alt", "html-has-lang", "color-contrast"} {
			if !strings.Contains(got, want) {
				t.Errorf("axe does not see %s: %s", want, got)
			}
		}
	})
}

// violations returns what axe-core has against a loaded page.
func violations(p *tab, axe string) []string {
	p.t.Helper()
	p.do("Runtime.evaluate", params{"expression": axe}, nil)
	return await[[]string](p, `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.flatMap(v =>
		v.nodes.map(n => v.id + ": " + v.help + ": " + n.target.join(" ") + ": " + n.html.slice(0, 200))))`)
}

// await is eval for an expression that is a promise.
func await[T any](p *tab, expression string) T {
	p.t.Helper()
	var got struct {
		Result           struct{ Value T }
		ExceptionDetails *struct{ Text string }
	}
	p.do("Runtime.evaluate", params{"expression": expression, "returnByValue": true, "awaitPromise": true}, &got)
	if got.ExceptionDetails != nil {
		p.t.Fatalf("%s: %s", expression, got.ExceptionDetails.Text)
	}
	return got.Result.Value
}

// htmlRules are html-validate's, without those that are of style alone.
const htmlRules = `{"root": true, "extends": ["html-validate:standard"], "rules": {
	"long-title": "off",
	"no-inline-style": "error",
	"require-sri": "off"
}}`

// TestMarkupInJavaScript has html-validate read every kind of public page.
func TestMarkupInJavaScript(t *testing.T) {
	program := module(t, ".bin/html-validate")
	server := newServer(t)
	folder := t.TempDir()
	for kind, path := range fill(t, binary.NewClient(server.URL, token)) {
		response, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, strings.ReplaceAll(kind, "/", "-")+".html"), body, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, fault := range markupFaults(t, program, folder) {
		t.Error(fault)
	}

	bad := t.TempDir()
	if err := os.WriteFile(filepath.Join(bad, "bad.html"), []byte(`<!doctype html><html lang="en"><head><title>x</title></head><body><p><div style="x">`), 0o644); err != nil {
		t.Fatal(err)
	}
	if len(markupFaults(t, program, bad)) == 0 {
		t.Error("html-validate has nothing against what is wrong")
	}
}

// markupFaults returns what html-validate has against the files of a folder.
func markupFaults(t *testing.T, program, folder string) (faults []string) {
	t.Helper()
	config := filepath.Join(folder, ".htmlvalidate.json")
	if err := os.WriteFile(config, []byte(htmlRules), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--config", config, "--formatter", "json", ".")
	cmd.Dir, cmd.Stderr = folder, os.Stderr
	out, err := cmd.Output() // fails as well if there are faults
	var files []struct {
		FilePath string
		Messages []struct {
			RuleID, Message, Selector string
			Line                      int
		}
	}
	if bad := json.Unmarshal(out, &files); bad != nil {
		t.Fatalf("html-validate: %v: %s", err, out)
	}
	for _, f := range files {
		for _, m := range f.Messages {
			faults = append(faults, fmt.Sprintf("%s:%d: %s (%s, %s)", filepath.Base(f.FilePath), m.Line, m.Message, m.RuleID, m.Selector))
		}
	}
	return faults
}

// newServer starts a server on a database of its own.
func newServer(t *testing.T) *binary.Server {
	t.Helper()
	server := binary.NewServer(t, binary.Build(t),
		"ALLSWELL_DATABASE=sqlite:"+filepath.Join(t.TempDir(), "allswell.db"), "ALLSWELL_BOOTSTRAP_TOKEN="+token)
	server.Start()
	return server
}
