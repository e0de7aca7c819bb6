package main

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the table of settings in docs/operating.md")

const manualPath = "../../docs/operating.md"

// TestManual holds the table of settings in the operator's manual to the
// struct that it is made from.
func TestManual(t *testing.T) {
	raw, err := os.ReadFile(manualPath)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- settings: written by `go generate ./cmd/allswell` -->\n", "<!-- end of settings -->\n"
	before, rest, ok := strings.Cut(string(raw), begin)
	_, after, okEnd := strings.Cut(rest, end)
	if !ok || !okEnd {
		t.Fatalf("%s has no place for the table of settings", manualPath)
	}
	want := before + begin + settingsTable() + end + after
	if want == string(raw) {
		return
	}
	if *update {
		if err := os.WriteFile(manualPath, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("the table of settings is out of date: run `go generate ./cmd/allswell` (-is +should be)\n%s", cmp.Diff(string(raw), want))
}

func settingsTable() string {
	var b strings.Builder
	b.WriteString("\n| Variable | Flag | Default | Meaning |\n|---|---|---|---|\n")
	for _, s := range listSettings(reflect.ValueOf(Settings{})) {
		fallback := ""
		if s.fallback != "" {
			fallback = "`" + s.fallback + "`"
		}
		escape := strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;")
		fmt.Fprintf(&b, "| `%s` | `--%s` | %s | %s |\n", s.env, s.flag, fallback, escape.Replace(s.help))
	}
	b.WriteString("\n")
	return b.String()
}

// TestFlagsAreNamedLikeVariables holds the flags that the parser makes of the
// struct to the names that messages and the manual use.
func TestFlagsAreNamedLikeVariables(t *testing.T) {
	parser, err := newParser(&console{})
	if err != nil {
		t.Fatal(err)
	}
	flags := make(map[string]string) // by variable
	for _, command := range parser.Model.Children {
		for _, f := range command.Flags {
			if len(f.Envs) > 0 && (command.Name == "serve" || command.Name == "page") {
				flags[f.Envs[0]] = f.Name
			}
		}
	}
	for _, s := range []any{Settings{}, clientSettings{}} {
		for _, g := range listSettings(reflect.ValueOf(s)) {
			if flags[g.env] != g.flag {
				t.Errorf("the flag of %s is --%s, but messages say --%s", g.env, flags[g.env], g.flag)
			}
			if g.help == "" || g.placeholder == "" {
				t.Errorf("%s has no help or no placeholder", g.env)
			}
			delete(flags, g.env)
		}
	}
	if len(flags) > 0 {
		t.Errorf("flags that no message knows: %v", flags)
	}
}
