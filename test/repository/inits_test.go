package repository

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// TestInitsAreOnOneLine checks that the init of an if or a switch is on one line with the keyword, so that its
// condition is not behind a closing bracket several lines below. Inits with a function are exempt.
func TestInitsAreOnOneLine(t *testing.T) {
	walkGo(t, func(name string, source []byte) {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			var init ast.Stmt
			switch n := n.(type) {
			case *ast.IfStmt:
				init = n.Init
			case *ast.SwitchStmt:
				init = n.Init
			case *ast.TypeSwitchStmt:
				init = n.Init
			}
			if init == nil || hasFunction(init) {
				return true
			}
			if first := files.Position(n.Pos()); files.Position(init.End()).Line != first.Line {
				t.Errorf("%s: the init spans several lines: make it a statement above", first)
			}
			return true
		})
	})
}

// hasFunction reports whether a statement has a function literal.
func hasFunction(s ast.Stmt) (has bool) {
	ast.Inspect(s, func(n ast.Node) bool {
		_, ok := n.(*ast.FuncLit)
		has = has || ok
		return !has
	})
	return has
}
