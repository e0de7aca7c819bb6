package main

import (
	"maps"
	"slices"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/allswell/allswell/internal/cli"
	"github.com/allswell/allswell/internal/console"
	"github.com/allswell/allswell/internal/server"
	"github.com/allswell/allswell/internal/settings"
)

// TestFlagsAreNamedLikeVariables checks that the flags of the parser have the names that messages and the manual use.
func TestFlagsAreNamedLikeVariables(t *testing.T) {
	parser, err := program().Parser(&console.Console{})
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
	for _, s := range slices.Concat(settings.List(server.Settings{}), settings.List(cli.ClientSettings{})) {
		if flags[s.Env] != s.Flag {
			t.Errorf("the flag of %s is --%s, but messages say --%s", s.Env, flags[s.Env], s.Flag)
		}
		if s.Help == "" || s.Placeholder == "" {
			t.Errorf("%s has no help or no placeholder", s.Env)
		}
		delete(flags, s.Env)
	}
	if len(flags) > 0 {
		t.Errorf("flags that no message knows: %v", flags)
	}
}

// TestServeKnowsAllSettings checks that serve, which has a tree of its own, does not warn of settings of other commands.
func TestServeKnowsAllSettings(t *testing.T) {
	variables := func(p console.Program) []string {
		parser, err := p.Parser(&console.Console{})
		if err != nil {
			t.Fatal(err)
		}
		known := make(map[string]bool)
		for _, env := range p.OtherEnvs {
			known[env] = true
		}
		var visit func(n *kong.Node)
		visit = func(n *kong.Node) {
			for _, flag := range n.Flags {
				for _, env := range flag.Envs {
					known[env] = true
				}
			}
			for _, child := range n.Children {
				visit(child)
			}
		}
		visit(parser.Model.Node)
		return slices.Sorted(maps.Keys(known))
	}
	if got, want := variables(serveProgram()), variables(program()); !slices.Equal(got, want) {
		t.Errorf("serve knows %v, want %v", got, want)
	}
}
