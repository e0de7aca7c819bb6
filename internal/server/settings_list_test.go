package server

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/allswell/allswell/internal/shared/settings"
)

var update = flag.Bool("update", false, "rewrite the list of settings in docs/settings.md")

const settingsPath = "../../docs/settings.md"

// TestSettingsList checks that the list in docs/settings.md is generated from Settings.
func TestSettingsList(t *testing.T) {
	raw, err := os.ReadFile(settingsPath)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- settings: written by `go generate ./internal/server` -->\n", "<!-- end of settings -->\n"
	before, rest, ok := strings.Cut(string(raw), begin)
	_, after, okEnd := strings.Cut(rest, end)
	if !ok || !okEnd {
		t.Fatalf("%s has no place for the list of settings", settingsPath)
	}
	want := before + begin + settingsList() + end + after
	if want == string(raw) {
		return
	}
	if *update {
		if err := os.WriteFile(settingsPath, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("the list of settings is out of date: run `go generate ./internal/server` (-is +should be)\n%s",
		cmp.Diff(string(raw), want))
}

func settingsList() string {
	var b strings.Builder
	b.WriteString("\n")
	for _, s := range settings.List(Settings{}) {
		value := ""
		if s.Default != "" {
			value = " (`" + s.Default + "`)"
		}
		fmt.Fprintf(&b, "- `%s`%s: %s\n", s.Env, value, strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(s.Help))
	}
	b.WriteString("\n")
	return b.String()
}
