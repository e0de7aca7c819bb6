// Package completion completes command lines in shells. The scripts that it prints call a hidden command of the program
// for candidates, so they need no update when commands change.
package completion

import (
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/allswell/allswell/internal/command/console"
)

// Candidate is a word that may complete a command line.
type Candidate struct {
	Word string
	Help string // one line
}

// Values are the valid values of flags and arguments, by their types.
type Values map[reflect.Type][]string

// command is a command line that is being completed.
type command struct {
	node      *kong.Node
	values    Values
	awaits    *kong.Value // the flag whose value is next
	arguments int         // given to node
	noFlags   bool        // after --
	given     map[string]bool
}

// Candidates returns the words that begin with word and may follow the words before it, in the order of the help. It
// returns none where a file name or any other text is expected.
func Candidates(app *kong.Application, values Values, before []string, word string) []Candidate {
	cmd := command{node: app.Node, values: values, given: make(map[string]bool)}
	for _, w := range before {
		cmd.skip(w)
	}
	var all []Candidate
	switch name, _, hasValue := strings.Cut(word, "="); {
	case cmd.awaits != nil:
		all = cmd.valuesOf(cmd.awaits, "")
	case !cmd.noFlags && hasValue && strings.HasPrefix(word, "--"):
		if f := cmd.flag(name); f != nil {
			all = cmd.valuesOf(f.Value, name+"=")
		}
	case !cmd.noFlags && strings.HasPrefix(word, "-"):
		all = cmd.flags()
	case cmd.node.Leaf():
		if n := len(cmd.node.Positional); n > 0 {
			p := cmd.node.Positional[min(cmd.arguments, n-1)]
			if cmd.arguments < n || p.IsCumulative() {
				all = cmd.valuesOf(p, "")
			}
		}
	default:
		for _, child := range cmd.node.Children {
			if !child.Hidden {
				all = append(all, Candidate{child.Name, firstSentence(child.Help)})
			}
		}
	}
	return slices.DeleteFunc(all, func(c Candidate) bool { return !strings.HasPrefix(c.Word, word) })
}

// skip processes a complete word.
func (cmd *command) skip(word string) {
	switch {
	case cmd.awaits != nil:
		cmd.awaits = nil
	case !cmd.noFlags && word == "--":
		cmd.noFlags = true
	case !cmd.noFlags && strings.HasPrefix(word, "-") && word != "-":
		name, _, hasValue := strings.Cut(word, "=")
		if f := cmd.flag(name); f != nil {
			cmd.given[f.Name] = true
			if !hasValue && !f.IsBool() {
				cmd.awaits = f.Value
			}
		}
	default:
		for _, child := range cmd.node.Children {
			if child.Name == word || slices.Contains(child.Aliases, word) {
				cmd.node, cmd.arguments = child, 0
				return
			}
		}
		cmd.arguments++
	}
}

// flag returns the flag of the command, or of a command above it, that a word names; nil if there is none.
func (cmd *command) flag(word string) *kong.Flag {
	for node := cmd.node; node != nil; node = node.Parent {
		for _, f := range node.Flags {
			if slices.Contains(names(f), word) || f.Short != 0 && word == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}

// names returns the spellings of a flag.
func names(f *kong.Flag) []string {
	words := []string{"--" + f.Name}
	switch negation := f.Tag.Negatable; negation {
	case "":
	case "_":
		words = append(words, "--no-"+f.Name)
	default:
		words = append(words, "--"+negation)
	}
	for _, alias := range f.Aliases {
		words = append(words, "--"+alias)
	}
	return words
}

// flags returns the flags that may follow.
func (cmd *command) flags() (all []Candidate) {
	for node := cmd.node; node != nil; node = node.Parent {
		for _, f := range node.Flags {
			if f.Hidden || cmd.given[f.Name] && !f.IsCumulative() {
				continue
			}
			for _, word := range names(f)[:len(names(f))-len(f.Aliases)] {
				all = append(all, Candidate{word, firstSentence(f.Help)})
			}
		}
	}
	return all
}

// valuesOf returns the values of a flag or an argument, after a prefix: the values of its type or its enumeration, or
// the lower-case words in its placeholder, such as "HOST:PORT|off".
func (cmd *command) valuesOf(v *kong.Value, prefix string) (all []Candidate) {
	words := cmd.values[baseType(v.Target.Type())]
	if v.Enum != "" {
		words = v.EnumSlice()
	}
	if alternatives := strings.Split(v.Tag.PlaceHolder, "|"); len(words) == 0 && len(alternatives) > 1 {
		words = slices.DeleteFunc(alternatives, func(word string) bool { return word != strings.ToLower(word) })
	}
	for _, word := range words {
		all = append(all, Candidate{prefix + word, ""})
	}
	return all
}

// baseType returns the type of the elements of lists and pointers.
func baseType(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// firstSentence returns the beginning of a help text.
func firstSentence(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(first, ".")
}

// CandidatesCommand prints the candidates for the scripts, one on a line: the word, a tab and its help.
type CandidatesCommand struct {
	Values Values   `kong:"-"`
	Word   string   `help:"Beginning of the word."`
	Before []string `arg:"" optional:"" help:"Words before it."`
}

// Run prints the candidates.
func (cmd *CandidatesCommand) Run(c *console.Console, parsed *kong.Context) error {
	for _, candidate := range Candidates(parsed.Model, cmd.Values, cmd.Before, cmd.Word) {
		c.Printf("%s\t%s\n", candidate.Word, candidate.Help)
	}
	return nil
}

// ScriptCommand prints the script of a shell.
type ScriptCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish,powershell" help:"bash, zsh, fish or powershell."`
}

// Help is shown by completion --help.
func (cmd *ScriptCommand) Help() string {
	return "To complete commands, flags and their values:\n\n" +
		"bash: source <(allswell completion bash), in ~/.bashrc\n\n" +
		"zsh: source <(allswell completion zsh), in ~/.zshrc after compinit\n\n" +
		"fish: allswell completion fish >~/.config/fish/completions/allswell.fish\n\n" +
		"PowerShell: allswell completion powershell | Out-String | Invoke-Expression, in $PROFILE"
}

// Run prints the script.
func (cmd *ScriptCommand) Run(c *console.Console) error {
	script, err := scripts.ReadFile("scripts/" + cmd.Shell)
	if err != nil {
		return err
	}
	c.Printf("%s", script)
	return nil
}
