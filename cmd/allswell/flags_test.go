package main

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/allswell/allswell/internal/command/cli"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/server"
	"github.com/allswell/allswell/internal/shared/settings"
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

// TestCommandsAlone compares the help of each command that is parsed alone with the one in the tree of all commands.
// The settings of all commands that read the configuration file are settings of serve.
func TestCommandsAlone(t *testing.T) {
	var inTree bytes.Buffer
	parser, err := program().Parser(&console.Console{Out: &inTree, Err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	var serve, others []string
	compared := 0
	commands := slices.Clone(parser.Model.Children)
	for len(commands) > 0 {
		command := commands[0]
		commands = append(commands[1:], command.Children...)
		switch {
		case command.Name == "serve":
			serve = variablesOf(command)
		case slices.ContainsFunc(command.Flags, func(f *kong.Flag) bool { return f.Name == "config" }):
			others = append(others, variablesOf(command)...)
		}
		args := []string{"--help"}
		for n := command; n.Parent != nil; n = n.Parent {
			args = slices.Insert(args, 0, n.Name)
		}
		_, alone, _ := runIn(t, nil, args...)
		inTree.Reset()
		func() {
			defer func() { recover() }() // that is how the help ends
			_, err = parser.Parse(args)
			t.Errorf("the help of %v ends with %v", args, err)
		}()
		if alone == "" || alone != inTree.String() {
			t.Errorf("%s: the help is\n%s\nand with all commands\n%s", strings.Join(args, " "), alone, inTree.String())
		}
		compared++
	}
	for _, env := range others {
		if !slices.Contains(serve, env) {
			t.Errorf("%s can be in the configuration file, and serve refuses it there", env)
		}
	}
	if compared < 100 || len(others) < 10 {
		t.Errorf("only %d commands, with %d settings", compared, len(others))
	}
}

// variablesOf returns the environment variables of a command's flags.
func variablesOf(command *kong.Node) (all []string) {
	for _, flag := range command.Flags {
		all = append(all, flag.Envs...)
	}
	return all
}

// TestKnownVariables checks that no setting of any command is reported as unknown, whichever command is run.
func TestKnownVariables(t *testing.T) {
	parser, err := program().Parser(&console.Console{})
	if err != nil {
		t.Fatal(err)
	}
	environ := map[string]string{"ALLSWELL_NO_SUCH_SETTING": "x"}
	var visit func(n *kong.Node)
	visit = func(n *kong.Node) {
		for _, flag := range n.Flags {
			for _, env := range flag.Envs {
				environ[env] = "x"
			}
		}
		for _, child := range n.Children {
			visit(child)
		}
	}
	visit(parser.Model.Node)
	if len(environ) < 50 {
		t.Errorf("only %d variables", len(environ))
	}
	_, _, stderr := runIn(t, environ, "version")
	if !strings.HasSuffix(strings.TrimSpace(stderr), "no such settings: ALLSWELL_NO_SUCH_SETTING") {
		t.Errorf("stderr: %s", stderr)
	}
}
