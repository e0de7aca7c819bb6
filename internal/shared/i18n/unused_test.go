package i18n

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// unused returns the keys that neither templates nor sources contain as a literal, and for which no source
// contains a prefix up to a dot, to which it could append the rest.
func unused(keys []string, literals map[string]bool) (found []string) {
	for _, key := range keys {
		used := literals[key]
		for i := range key {
			used = used || key[i] == '.' && literals[key[:i+1]]
		}
		if !used {
			found = append(found, key)
		}
	}
	return found
}

// literalsOf returns all string literals of templates and sources.
func literalsOf(t *testing.T) map[string]bool {
	t.Helper()
	all := make(map[string]bool)
	quoted := regexp.MustCompile(`"[^"]*"`)
	templates, goFiles := sources(t)
	for _, file := range templates {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for action := range strings.SplitSeq(string(text), "{{") {
			action, _, _ = strings.Cut(action, "}}")
			for _, q := range quoted.FindAllString(action, -1) {
				all[strings.Trim(q, `"`)] = true
			}
		}
	}
	for _, file := range goFiles {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					all[text] = true
				}
			}
			return true
		})
	}
	return all
}

// TestEveryMessageIsUsed checks that there are no unused messages.
func TestEveryMessageIsUsed(t *testing.T) {
	for _, key := range unused(English().Keys(), literalsOf(t)) {
		t.Errorf("%q is not used", key)
	}
	got := unused([]string{"a.b", "a.c", "d.e.f", "g.h"}, map[string]bool{"a.b": true, "d.e.": true, "g": true})
	if len(got) != 2 || got[0] != "a.c" || got[1] != "g.h" {
		t.Errorf("unused are %q", got)
	}
}
