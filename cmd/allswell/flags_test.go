package main

import (
	"bytes"
	"io"
	"slices"
	"strings"
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

// TestCommandsAlone compares each command that is parsed alone with the same one in the tree of all commands: its help,
// and the settings that it knows.
func TestCommandsAlone(t *testing.T) {
	whole := program()
	parser, err := whole.Parser(&console.Console{})
	if err != nil {
		t.Fatal(err)
	}
	settingsOf := func(n *kong.Node) (all []string, configured bool) {
		for _, flag := range n.Flags {
			all = append(all, flag.Envs...)
			configured = configured || flag.Name == "config"
		}
		return all, configured
	}
	var serve, others []string
	for _, command := range parser.Model.Children {
		commands := []*kong.Node{command}
		for len(commands) > 0 {
			n := commands[0]
			commands = append(commands[1:], n.Children...)
			envs, configured := settingsOf(n)
			switch {
			case command.Name == "serve":
				serve = append(serve, envs...)
			case configured && !slices.Contains(whole.Whole, command.Name):
				t.Errorf("%s reads the configuration file, so it needs the tree of all commands", n.FullPath())
			case configured:
				others = append(others, envs...)
			}
		}
		if slices.Contains(whole.Whole, command.Name) {
			continue
		}
		args := []string{command.Name}
		if n := len(command.Children); n > 0 {
			args = append(args, command.Children[n-1].Name)
		}
		args = append(args, "--help")
		_, alone, _ := runIn(t, nil, args...)
		everything := program()
		everything.Whole = []string{command.Name}
		var inTree bytes.Buffer
		everything.Run(&console.Console{Ctx: t.Context(), In: strings.NewReader(""), Out: &inTree, Err: io.Discard}, args, nil)
		if alone == "" || alone != inTree.String() {
			t.Errorf("%s: the help is\n%s\nand with all commands\n%s", strings.Join(args, " "), alone, inTree.String())
		}
	}
	for _, env := range others {
		if !slices.Contains(serve, env) {
			t.Errorf("%s can be in the configuration file, and serve refuses it there", env)
		}
	}
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
	if _, _, stderr := runIn(t, environ, "version"); !strings.HasSuffix(strings.TrimSpace(stderr), "no such settings: ALLSWELL_NO_SUCH_SETTING") {
		t.Errorf("stderr: %s", stderr)
	}
}
