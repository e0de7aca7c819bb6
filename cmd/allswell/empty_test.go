package main

import (
	"fmt"
	"os"
	"reflect"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/allswell/allswell/internal/command/console"
)

// valuesFromEnvironment returns the flags and arguments of all commands that environment variables set, with their
// values.
func valuesFromEnvironment(t *testing.T) map[string]string {
	t.Helper()
	parser, err := program().Parser(&console.Console{})
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	add := func(command *kong.Node, v *kong.Value, env string) {
		name := command.FullPath() + " " + env
		if err := v.Reset(); err != nil {
			values[name] = err.Error()
		} else {
			values[name] = fmt.Sprintf("%#v", reflect.Indirect(v.Target))
		}
	}
	var visit func(n *kong.Node)
	visit = func(n *kong.Node) {
		for _, flag := range n.Flags {
			for _, env := range flag.Envs {
				add(n, flag.Value, env)
			}
		}
		for _, argument := range n.Positional {
			if env := argument.Tag.Get("env"); env != "" {
				add(n, argument, env)
			}
		}
		for _, child := range n.Children {
			visit(child)
		}
	}
	visit(parser.Model.Node)
	return values
}

// TestEmptyVariablesAreNotSet checks, for all settings of all commands, that an empty environment variable is as if it
// were not set.
func TestEmptyVariablesAreNotSet(t *testing.T) {
	parser, err := program().Parser(&console.Console{})
	if err != nil {
		t.Fatal(err)
	}
	variables := map[string]bool{}
	var visit func(n *kong.Node)
	visit = func(n *kong.Node) {
		for _, flag := range n.Flags {
			for _, env := range flag.Envs {
				variables[env] = true
			}
		}
		for _, argument := range n.Positional {
			if env := argument.Tag.Get("env"); env != "" {
				variables[env] = true
			}
		}
		for _, child := range n.Children {
			visit(child)
		}
	}
	visit(parser.Model.Node)
	if len(variables) < 50 || !variables["ALLSWELL_SPOOL"] || !variables["ALLSWELL_PAGE"] {
		t.Fatalf("only %d variables", len(variables))
	}
	set := func(value *string) {
		for env := range variables {
			t.Setenv(env, "") // restores it later
			if value == nil {
				os.Unsetenv(env)
			} else {
				os.Setenv(env, *value)
			}
		}
	}
	set(nil)
	want := valuesFromEnvironment(t)
	for _, value := range []string{"", " "} {
		set(&value)
		for name, got := range valuesFromEnvironment(t) {
			if got != want[name] {
				t.Errorf("variables set to %q: %s is %s, want %s", value, name, got, want[name])
			}
		}
	}
}

// TestEmptyPathIsNotTheFolder: --spool "" is no file.
func TestEmptyPathIsNotTheFolder(t *testing.T) {
	parser, err := program().Parser(&console.Console{})
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.Parse([]string{"run", "--spool", "", "--", "true"})
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range parsed.Flags() {
		if flag.Name == "spool" && parsed.FlagValue(flag) != "" {
			t.Errorf("--spool with an empty variable is %q, want none", parsed.FlagValue(flag))
		}
	}
}
