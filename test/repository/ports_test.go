package repository

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// listeners are the functions that listen on an address in one of their arguments.
var listeners = []string{"Listen", "ListenPacket", "ListenAndServe", "ListenAndServeTLS", "ListenUDP", "ListenTCP"}

var (
	scriptListen = regexp.MustCompile(`ALLSWELL_(?:\w+_)?LISTEN=(\S+)|--(?:\w+-)?listen[= ](\S+)`)
	scriptServes = regexp.MustCompile(`(?m)^(!? ?exec allswell (serve|demo)|serve )`)
)

// fixedPort reports whether an address has a port that another program may use. Port 1 is only ever refused.
func fixedPort(address string) bool {
	_, port, err := net.SplitHostPort(address)
	n, numeric := strconv.Atoi(port)
	return err == nil && numeric == nil && n > 1 && n < 1<<16
}

// fixedPorts returns the addresses with fixed ports on which a test in Go or a script listens.
func fixedPorts(t *testing.T, name string, text []byte) (found []string) {
	t.Helper()
	if !strings.HasSuffix(name, ".go") {
		for _, m := range scriptListen.FindAllStringSubmatchIndex(string(text), -1) {
			address := string(text[max(m[2], m[4]):max(m[3], m[5])])
			if fixedPort(address) && scriptServes.Match(text[m[1]:]) {
				found = append(found, address)
			}
		}
		return found
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if f, ok := call.Fun.(*ast.SelectorExpr); !ok || !slices.Contains(listeners, f.Sel.Name) {
			return true
		}
		for _, argument := range call.Args {
			if literal, ok := argument.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if address, err := strconv.Unquote(literal.Value); err == nil && fixedPort(address) {
					found = append(found, address)
				}
			}
		}
		return true
	})
	return found
}

// TestNoTestListensOnAFixedPort: another program may use the port, the default one included.
func TestNoTestListensOnAFixedPort(t *testing.T) {
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, ".txtar") &&
			!strings.HasPrefix(path, "test/") {
			return nil
		}
		if !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".txtar") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for _, address := range fixedPorts(t, path, text) {
			t.Errorf("%s listens on %s: use port 0", path, address)
		}
		return nil
	})
	if err != nil || files < 200 {
		t.Errorf("%d files, %v", files, err)
	}
	for name, text := range map[string]string{
		"a_test.go": "package a\nfunc f() { net.Listen(`tcp`, \"127.0.0.1:8080\") }",
		"b.txtar":   "env ALLSWELL_LISTEN=:8080\n! exec allswell serve\n",
		"c.txtar":   "exec true\nenv ALLSWELL_METRICS_LISTEN=127.0.0.1:9090\nserve one\n",
	} {
		if len(fixedPorts(t, name, []byte(text))) != 1 {
			t.Errorf("the fixed port of %s is not found", name)
		}
	}
	found := fixedPorts(t, "d.txtar", []byte("serve one\nenv ALLSWELL_LISTEN=:9090\nexec allswell setup-link\n"))
	if found != nil {
		t.Errorf("%v is only named", found)
	}
	setup, err := os.ReadFile("test/scripts/scripts_test.go")
	if err != nil || !strings.Contains(string(setup), `env.Setenv("ALLSWELL_LISTEN", "127.0.0.1:0")`) {
		t.Errorf("the scripts begin with the default port: %v", err)
	}
}
