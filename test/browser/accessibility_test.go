package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/store/storetest"
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
	t.Parallel()
	axe, err := os.ReadFile(module(t, "axe-core/axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	c := newBrowser(t)
	server, kinds := everyKind(t)
	p := c.open(t, views[0], "about:blank")
	for _, v := range views[:4] {
		for kind, path := range kinds {
			t.Run(kind+"/"+v.name, func(t *testing.T) {
				p.visit(t, v, server.URL+path)
				for _, fault := range violations(p, string(axe)) {
					t.Error(fault)
				}
			})
		}
	}
	t.Run("seen", func(t *testing.T) {
		bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w,
				`<!doctype html><title>Bad</title><img src="data:,"><p style="color: #ccc; background: #fff">faint`)
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
	return await[[]string](p, fmt.Sprintf(axeViolations, ""))
}

// axeViolations runs axe-core, once it is loaded. It has a place for more options.
const axeViolations = `axe.run(document, {resultTypes: ["violations"]%s}).then(r => r.violations.flatMap(v =>
	v.nodes.map(n => v.id + ": " + v.help + ": " + n.target.join(" ") + ": " + n.html.slice(0, 200))))`

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
	t.Parallel()
	program := module(t, ".bin/html-validate")
	server, kinds := everyKind(t)
	folder := t.TempDir()
	for kind, path := range kinds {
		err := os.WriteFile(filepath.Join(folder, kind+".html"), []byte(read(t, server.URL+path)), 0o644)
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, fault := range markupFaults(t, program, folder) {
		t.Error(fault)
	}

	bad := t.TempDir()
	err := os.WriteFile(filepath.Join(bad, "bad.html"),
		[]byte(`<!doctype html><html lang="en"><head><title>x</title></head><body><p><div style="x">`), 0o644)
	if err != nil {
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
			faults = append(faults,
				fmt.Sprintf("%s:%d: %s (%s, %s)", filepath.Base(f.FilePath), m.Line, m.Message, m.RuleID, m.Selector))
		}
	}
	return faults
}

// everyKind starts a server and returns a path for each kind of page that it has, including pages of subscribers and
// pages that say what is not there.
func everyKind(t *testing.T) (*binary.Server, map[string]string) {
	t.Helper()
	database := storetest.SQLite(t)
	server := binary.NewServer(t, program(t),
		"ALLSWELL_DATABASE="+database, "ALLSWELL_BOOTSTRAP_TOKEN="+token,
		"ALLSWELL_SMTP_URL=smtp://127.0.0.1:1", "ALLSWELL_MAIL_FROM=status@example.com") // nobody is there
	server.Start()
	first := read(t, server.URL+"/")
	kinds := fill(t, binary.NewClient(server.URL, token))
	page := kinds["page"]
	for _, name := range []string{"asked", "held"} {
		address := name + "@example.com"
		post(t, server.URL+page+"/subscribe", url.Values{"email": {address}})
		kinds[name] = page + "/subscription/" + keyOf(t, database, address)
	}
	post(t, server.URL+kinds["held"], url.Values{"action": {"confirm"}})
	kinds["unsubscribe"] = page + "/unsubscribe/" + keyOf(t, database, "held@example.com")
	kinds["form"] = page + "/subscribe"
	kinds["missing"], kinds["missing-here"] = "/status/nowhere", page+"/incidents/nothing?lang=de"
	if !strings.Contains(first, `href="/admin"`) || !strings.Contains(first, "allswell setup-link") {
		t.Errorf("a server without a page shows %s", first)
	}
	return server, kinds
}

func read(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func post(t *testing.T, url string, fields url.Values) {
	t.Helper()
	response, err := http.PostForm(url, fields)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("POST %s: %s", url, response.Status)
	}
}
