package store_test

import (
	"database/sql"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// sqlOpen opens a database directly, without the store.
var sqlOpen = sql.Open

// row and pool let a test query either pool by its name.
type row interface{ Scan(...any) error }
type pool struct{ *sql.DB }

func (p pool) QueryRow(text string, args ...any) row { return p.DB.QueryRow(text, args...) }

var (
	statement = regexp.MustCompile(`(?i)^\s*(SELECT|INSERT|UPDATE|DELETE|WITH|CREATE|ALTER|FROM|WHERE|ORDER BY|AND)\b`)
	comment   = regexp.MustCompile(`--[^\n]*`)
	// Expressions that the engines spell or sort differently.
	differing = regexp.MustCompile(`(?i)\b(I?LIKE|SIMILAR|CURRENT_TIMESTAMP|strftime|JSONB|array_agg|string_agg|group_concat|unnest|ROWID|AUTOINCREMENT|(BIG)?SERIAL|OR REPLACE|OR IGNORE)\b|\b(now|datetime|ANY)\s*\(|ARRAY\[|::`)
	sorted    = regexp.MustCompile(`(?i)ORDER BY[^)]*\b(name|title|message|description)\b`)
)

// TestStatementsSayNothingThatTheEnginesReadDifferently checks every statement in the
// package's files except engines.go, which has the statements that differ between engines.
func TestStatementsSayNothingThatTheEnginesReadDifferently(t *testing.T) {
	check := func(where, text string) {
		if found := differing.FindString(text); found != "" {
			t.Errorf("%s uses %q: %s", where, found, text)
		}
		if sorted.MatchString(text) {
			t.Errorf("%s sorts by what people read, which the engines do differently: %s", where, text)
		}
	}
	n := 0
	for _, name := range must(filepath.Glob("*.go"))(t) {
		if strings.HasSuffix(name, "_test.go") || name == "engines.go" {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			lit, ok := node.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			if text, err := strconv.Unquote(lit.Value); err == nil && statement.MatchString(text) {
				n++
				check(files.Position(lit.Pos()).String(), text)
			}
			return true
		})
	}
	if n < 80 {
		t.Errorf("only %d statements were found", n)
	}
	for _, name := range must(filepath.Glob("migrations/*.sql"))(t) {
		check(name, comment.ReplaceAllString(string(must(os.ReadFile(name))(t)), ""))
	}
}

func TestStatementGuardFindsFaults(t *testing.T) {
	for _, text := range []string{
		`SELECT 1 WHERE a LIKE 'x'`, `SELECT now()`, `SELECT a::bigint`, `SELECT x = ANY ($1)`,
		`CREATE TABLE t (a JSONB)`,
	} {
		if !differing.MatchString(text) {
			t.Errorf("%s passes", text)
		}
	}
	for _, text := range []string{`SELECT likes, nowhere FROM t`, `SELECT company FROM t`} {
		if differing.MatchString(text) {
			t.Errorf("%s does not pass", text)
		}
	}
	if !sorted.MatchString("SELECT * FROM pages ORDER BY position, name") ||
		sorted.MatchString("SELECT * FROM pages ORDER BY created_at, id") {
		t.Error("the order is not guarded")
	}
}
