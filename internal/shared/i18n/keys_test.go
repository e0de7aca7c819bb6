package i18n

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	templateparse "text/template/parse"
)

// use is a call of T or HTML with a literal key.
type use struct {
	where, key string
	names      []string // literal names of the arguments
	open       bool     // there may be others
}

// templateUses returns the calls in a template: {{t "key"}}, {{$.L.T "key" "n" 3}},
// {{.L.HTML "key"}}, also nested in other calls.
func templateUses(t *testing.T, name, text string) (uses []use) {
	t.Helper()
	trees := map[string]*templateparse.Tree{}
	tree := templateparse.New(name)
	tree.Mode = templateparse.SkipFuncCheck
	if _, err := tree.Parse(text, "", "", trees); err != nil {
		t.Fatal(err)
	}
	var walk func(templateparse.Node)
	branch := func(b templateparse.BranchNode) {
		walk(b.Pipe)
		walk(b.List)
		if b.ElseList != nil {
			walk(b.ElseList)
		}
	}
	walk = func(n templateparse.Node) {
		switch n := n.(type) {
		case *templateparse.ListNode:
			for _, n := range n.Nodes {
				walk(n)
			}
		case *templateparse.ActionNode:
			walk(n.Pipe)
		case *templateparse.TemplateNode:
			if n.Pipe != nil {
				walk(n.Pipe)
			}
		case *templateparse.IfNode:
			branch(n.BranchNode)
		case *templateparse.RangeNode:
			branch(n.BranchNode)
		case *templateparse.WithNode:
			branch(n.BranchNode)
		case *templateparse.PipeNode:
			for _, c := range n.Cmds {
				walk(c)
			}
		case *templateparse.CommandNode:
			for _, arg := range n.Args {
				walk(arg)
			}
			if u, ok := commandUse(n); ok {
				u.where = name
				uses = append(uses, u)
			}
		}
	}
	for _, tree := range trees {
		walk(tree.Root)
	}
	return uses
}

func commandUse(c *templateparse.CommandNode) (u use, ok bool) {
	var path []string
	switch n := c.Args[0].(type) {
	case *templateparse.IdentifierNode:
		path = []string{n.Ident}
	case *templateparse.FieldNode:
		path = n.Ident
	case *templateparse.VariableNode:
		path = n.Ident[1:]
	case *templateparse.ChainNode:
		path = n.Field
	}
	if len(path) == 0 || !slices.Contains([]string{"t", "T", "HTML"}, path[len(path)-1]) || len(c.Args) < 2 {
		return u, false
	}
	key, ok := c.Args[1].(*templateparse.StringNode)
	if !ok {
		return u, false
	}
	u.key = key.Text
	for i := 2; i < len(c.Args); i += 2 {
		if name, ok := c.Args[i].(*templateparse.StringNode); ok {
			u.names = append(u.names, name.Text)
		} else {
			u.open = true
		}
	}
	return u, true
}

// goUses returns the calls in a Go file: l.T("key", "n", n) and l.HTML("key").
func goUses(t *testing.T, name string, source any) (uses []use) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]bool{}
	for _, i := range f.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		packages[path[strings.LastIndexByte(path, '/')+1:]] = true
	}
	literal := func(e ast.Expr) (string, bool) {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(lit.Value)
		return text, err == nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "T" && sel.Sel.Name != "HTML" {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && packages[x.Name] {
			return true // template.HTML
		}
		u := use{where: set.Position(call.Pos()).String(), open: call.Ellipsis.IsValid()}
		if u.key, ok = literal(call.Args[0]); !ok {
			return true
		}
		for i := 1; i < len(call.Args); i += 2 {
			if name, ok := literal(call.Args[i]); ok {
				u.names = append(u.names, name)
			} else {
				u.open = true
			}
		}
		uses = append(uses, u)
		return true
	})
	return uses
}

// flaw returns the error of a use, or "".
func (u use) flaw() string {
	m := builtin().all[0].messages[u.key]
	if m == nil {
		return fmt.Sprintf("%s: en.json has no message %q", u.where, u.key)
	}
	places := m.places()
	if given := slices.Sorted(slices.Values(u.names)); !u.open && !slices.Equal(given, places) {
		return fmt.Sprintf("%s: the placeholders of %q are %v, but the arguments are %v", u.where, u.key, places, given)
	}
	return ""
}

// sources returns the templates and the Go files, without tests, of all packages that use messages.
func sources(t *testing.T) (templates, goFiles []string) {
	t.Helper()
	err := filepath.WalkDir("../..", func(file string, entry fs.DirEntry, err error) error {
		switch extension := filepath.Ext(file); {
		case err != nil:
			return err
		case extension == ".html" || extension == ".txt" && filepath.Base(filepath.Dir(file)) == "templates":
			templates = append(templates, file)
		case extension == ".go" && !strings.HasSuffix(file, "_test.go"):
			goFiles = append(goFiles, file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(templates) == 0 || len(goFiles) == 0 {
		t.Fatal("no sources found")
	}
	return templates, goFiles
}

func TestEveryKeyHasAMessage(t *testing.T) {
	var uses []use
	templates, goFiles := sources(t)
	for _, file := range templates {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		uses = append(uses, templateUses(t, file, string(text))...)
	}
	for _, file := range goFiles {
		uses = append(uses, goUses(t, file, nil)...)
	}
	for _, u := range uses {
		if flaw := u.flaw(); flaw != "" {
			t.Error(flaw)
		}
	}
	if len(uses) == 0 {
		t.Error("no message is used")
	}
}

func TestUsesAreFound(t *testing.T) {
	const tmpl = `{{define "a"}}{{if $.L.T "k.if"}}{{t "k.then"}}{{else}}{{.L.T "k.else" "n" 1 "total" ` +
		`.N}}{{end}}{{end}}` +
		`{{range .X}}<a title="{{$.Frame.L.T "k.range" "n" (len .)}}">{{end}}{{with $l := .L}}{{$l.HTML "k.with" ` +
		`"time" (html .)}}{{end}}` +
		`{{template "a" (t "k.call")}}{{print (t "k.inner" .Name .Value) | html}}{{t .Key}}{{(index .Ls 0).T ` +
		`"k.chain"}}{{label "k.other"}}`
	want := map[string]string{
		"k.if": "", "k.then": "", "k.else": "n total", "k.range": "n", "k.with": "time", "k.call": "", "k.inner": "?",
		"k.chain": "",
	}
	const source = `package p
import "html/template"
var a = l.T("k.go", "n", 1, "total", f(x.y.T("k.deep")))
var b = template.HTML("<b>") + l.HTML("k.html", args...) + l.T(key)
`
	wantGo := map[string]string{"k.go": "n total", "k.deep": "", "k.html": "?"}
	got := func(uses []use) map[string]string {
		found := map[string]string{}
		for _, u := range uses {
			found[u.key] = strings.Join(u.names, " ")
			if u.open {
				found[u.key] += "?"
			}
		}
		return found
	}
	if g := got(templateUses(t, "x.html", tmpl)); !maps.Equal(g, want) {
		t.Errorf("in the template: %v, want %v", g, want)
	}
	if g := got(goUses(t, "x.go", source)); !maps.Equal(g, wantGo) {
		t.Errorf("in the source: %v, want %v", g, wantGo)
	}
	for _, u := range []use{{key: "no.such"}, {key: "bars.days"}, {key: "page.skip", names: []string{"n"}}} {
		if u.flaw() == "" {
			t.Errorf("no error for %+v", u)
		}
	}
	for _, u := range []use{
		{key: "page.skip"}, {key: "bars.days", names: []string{"n"}}, {key: "bars.days", open: true},
	} {
		if flaw := u.flaw(); flaw != "" {
			t.Error(flaw)
		}
	}
}
