package console

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/allswell/allswell/internal/shared/settings"
)

// Exit statuses of the program.
const (
	ExitDone   = 0
	ExitFailed = 1
	ExitUsage  = 2 // the command line or a setting is invalid; nothing was changed
)

// ExitStatus is returned by a command that ends with the exit status of another program. Nothing is printed.
type ExitStatus int

func (s ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// Program is the command tree of a program.
type Program struct {
	Commands    any // pointer to a struct, as kong takes it
	Name        string
	Description string
	EnvPrefix   string            // of the environment variables that are settings
	Whole       []string          // the commands that need the parser of the whole tree; the others are parsed alone
	without     string            // a pattern of the commands that the parser leaves out; "": none
	Variables   map[string]string // in help texts, as ${name}

	// Message describes an error for the user; nil: its text. The command line is nil if it could not be parsed.
	Message func(*kong.Context, error) string

	BeforeHelp func(*kong.Context) error // prepares the commands and flags for the help of a command line; nil: nothing
}

// exiting is the panic that ends the program after the parser has printed a help text.
type exiting int

// Run runs a command line and returns the exit status. environ is the environment, to warn of unknown settings.
func (p Program) Run(c *Console, args, environ []string) (status int) {
	defer func() {
		if r := recover(); r != nil {
			code, ok := r.(exiting)
			if !ok {
				panic(r)
			}
			status = int(code)
		}
	}()
	p.warnOfUnknown(c, environ)
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "--version": // a common attempt
		args = append([]string{"version"}, args[1:]...)
	}
	commands := reflect.TypeOf(p.Commands).Elem()
	alone := p.subtree(args)
	parsed, file, err := alone.parse(c, args, commands)
	if err != nil && alone.Commands != p.Commands { // other commands may explain the error
		parsed, file, err = p.parse(c, args, commands)
	}
	for _, warning := range file.warnings {
		fmt.Fprintf(c.Err, "%s: warning: %s\n", p.Name, warning)
	}
	switch {
	case file.err != nil:
		return p.fail(c, nil, &UsageError{file.err})
	case err != nil:
		return p.fail(c, nil, &UsageError{withHint(err)})
	}
	return p.fail(c, parsed, file.locate(parsed.Run(c)))
}

// parse parses a command line, and returns the configuration file that the command reads. It may contain the settings
// of all commands.
func (p Program) parse(c *Console, args []string, all reflect.Type) (*kong.Context, *configFile, error) {
	file := &configFile{commands: all}
	parser, err := p.Parser(c, kong.Resolvers(file))
	if err != nil {
		return nil, file, err
	}
	root := parser.Model.Node
	parsed, err := parser.Parse(joinNegative(useNames(root, moveFlags(root, args))))
	if err == nil {
		err = checkLists(parsed)
	}
	return parsed, file, err
}

// checkLists returns an error if a list flag is given without an item, as in --tag "". The command could not tell it
// from an absent flag.
func checkLists(parsed *kong.Context) error {
	for _, p := range parsed.Path {
		if p.Flag == nil || p.Flag.Target.Kind() != reflect.Slice || p.Flag.Target.Len() > 0 {
			continue
		}
		err := fmt.Errorf("--%s must not be empty: leave it out", p.Flag.Name)
		for _, other := range parsed.Selected().Flags {
			excludes := func(group string) bool { return slices.Contains(p.Flag.Xor, group) }
			if other.IsBool() && slices.ContainsFunc(other.Xor, excludes) {
				err = fmt.Errorf("--%s must not be empty: --%s removes all", p.Flag.Name, other.Name)
			}
		}
		return err
	}
	return nil
}

// Parser returns the parser of the command line.
func (p Program) Parser(c *Console, options ...kong.Option) (*kong.Kong, error) {
	if p.without != "" {
		options = append(options, kong.IgnoreFields(p.without))
	}
	parser, err := kong.New(p.Commands, append(options,
		kong.Name(p.Name),
		kong.Description(p.Description),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.Help(p.printHelp),
		kong.ValueFormatter(FlagHelp),
		kong.Vars(p.Variables),
		kong.Writers(c.Out, c.Err),
		kong.NamedMapper("path", kong.MapperFunc(decodePath)),
		kong.Exit(func(code int) { panic(exiting(code)) }),
	)...)
	if err != nil {
		return nil, err
	}
	return parser, kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		switch v := node.(type) {
		case *kong.Flag:
			ignoreEmpty(v.Value)
		case *kong.Value:
			ignoreEmpty(v)
		}
		return next(nil)
	})
}

// ignoreEmpty makes the parser ignore empty environment variables, as it would read "" as a number, or as the path of
// the current folder.
func ignoreEmpty(v *kong.Value) {
	v.Tag.Envs = slices.DeleteFunc(slices.Clone(v.Tag.Envs), func(env string) bool { return !isSet(env) })
}

// isSet reports whether an environment variable has a value. An empty one is not set.
func isSet(env string) bool { return strings.TrimSpace(os.Getenv(env)) != "" }

// decodePath reads the path of a file, as the parser does by default. "" remains empty.
func decodePath(ctx *kong.DecodeContext, target reflect.Value) error {
	var path string
	if err := ctx.Scan.PopValueInto("file", &path); err != nil {
		return err
	}
	if path != "" && path != "-" {
		path = kong.ExpandPath(path)
	}
	target.SetString(path)
	return nil
}

func (p Program) printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	if p.BeforeHelp != nil {
		if err := p.BeforeHelp(ctx); err != nil {
			return err
		}
	}
	if node := ctx.Selected(); node != nil {
		for _, f := range node.Flags { // the usage would show each of several alternative flags as required
			f.Required = f.Required && len(f.Xor) == 0
		}
	}
	return kong.DefaultHelpPrinter(options, ctx)
}

// fail prints an error and returns the exit status.
func (p Program) fail(c *Console, parsed *kong.Context, err error) int {
	if err == nil {
		return ExitDone
	}
	if status := ExitStatus(0); errors.As(err, &status) {
		return int(status)
	}
	text := err.Error()
	if p.Message != nil {
		text = p.Message(parsed, err)
	}
	fmt.Fprintf(c.Err, "%s: %s\n", p.Name, Harmless(text)) // servers and files are quoted
	if errors.As(err, new(*UsageError)) || errors.As(err, new(*settings.Error)) {
		return ExitUsage
	}
	return ExitFailed
}

// negative matches a number that the parser would take for a flag.
var negative = regexp.MustCompile(`^-[0-9]+$`)

// joinNegative replaces "--order -1" by "--order=-1", which the parser understands. No flag is a number.
func joinNegative(args []string) []string {
	var out []string
	for i, arg := range args {
		last := len(out) - 1
		switch {
		case arg == "--":
			return append(out, args[i:]...)
		case last >= 0 && negative.MatchString(arg) && strings.HasPrefix(out[last], "--") &&
			!strings.Contains(out[last], "="):
			out[last] += "=" + arg
		default:
			out = append(out, arg)
		}
	}
	return out
}

// moveFlags moves flags before the command, as in "--server URL page list", behind it, where the parser expects them.
// Flags of the program itself and unknown flags stay. Before the command, an alias of a common flag always means that
// flag, even if the command has its own flag with this name: "--url URL monitor list" sets the server.
func moveFlags(root *kong.Node, args []string) []string {
	flags, aliases := make(map[string]*kong.Flag), make(map[string]*kong.Flag)
	for _, child := range root.Children {
		visitCommands(child, func(n *kong.Node) {
			for _, f := range n.Flags {
				flags["--"+f.Name] = f
				for _, alias := range f.Aliases {
					aliases["--"+alias] = f
				}
			}
		})
	}
	maps.Copy(flags, aliases)
	for _, f := range root.Flags {
		delete(flags, "--"+f.Name)
	}
	args = slices.Clone(args)
	first := 0 // the first word that is not a flag or its value
	for first < len(args) && strings.HasPrefix(args[first], "-") {
		name, _, hasValue := strings.Cut(args[first], "=")
		f := flags[name]
		if f == nil {
			return args
		}
		if aliases[name] == f {
			args[first] = "--" + f.Name + strings.TrimPrefix(args[first], name)
		}
		if first++; !hasValue && !f.IsBool() {
			first++
		}
	}
	if first >= len(args) {
		return args
	}
	command, last := root, first
	for last < len(args) {
		i := slices.IndexFunc(command.Children, func(n *kong.Node) bool {
			return n.Name == args[last] || slices.Contains(n.Aliases, args[last])
		})
		if i < 0 {
			break
		}
		command, last = command.Children[i], last+1
	}
	return slices.Concat(args[first:last], args[:first], args[last:])
}

// useNames replaces aliases of flags, as in "monitor list --url URL", by the names of the flags, for commands that lack
// the alias because other commands of the group have a flag with that name.
func useNames(root *kong.Node, args []string) []string {
	aliases := make(map[string]string)
	visitCommands(root, func(n *kong.Node) {
		for _, f := range n.Flags {
			for _, alias := range f.Aliases {
				aliases["--"+alias] = "--" + f.Name
			}
		}
	})
	known := make(map[string]bool)
	command := root
	note := func() {
		for _, f := range command.Flags {
			known["--"+f.Name] = true
			for _, alias := range f.Aliases {
				known["--"+alias] = true
			}
		}
	}
	note()
	args = slices.Clone(args)
	for i, arg := range args {
		name, value, hasValue := strings.Cut(arg, "=")
		switch at := slices.IndexFunc(command.Children, func(n *kong.Node) bool {
			return n.Name == arg || slices.Contains(n.Aliases, arg)
		}); {
		case arg == "--":
			return args
		case at >= 0:
			command = command.Children[at]
			note()
		case !known[name] && known[aliases[name]] && hasValue:
			args[i] = aliases[name] + "=" + value
		case !known[name] && known[aliases[name]]:
			args[i] = aliases[name]
		}
	}
	return args
}

// withHint replaces an error about a missing command by one that lists all commands. To an error about an unexpected
// argument, it adds the flag that may be meant.
func withHint(err error) error {
	wrong := (*kong.ParseError)(nil)
	if !errors.As(err, &wrong) {
		return err
	}
	node := wrong.Context.Selected()
	switch {
	case node == nil:
		return err
	case wrong.Context.Error == nil && len(node.Children) > 1: // all words are known, and others have to follow
		return fmt.Errorf("a command is missing: %s %s", node.FullPath(), commandNames(node))
	case !stopsAtArgument(wrong.Context):
		return err
	}
	for _, flag := range node.Flags {
		if flag.Name == "name" || flag.Name == "title" {
			return fmt.Errorf("%w: a %s is given with --%s", err, flag.Name, flag.Name)
		}
	}
	return err
}

// stopsAtArgument reports whether parsing has failed at an argument that the command does not have.
func stopsAtArgument(c *kong.Context) bool {
	given := 0
	for _, p := range c.Path {
		if p.Positional != nil {
			given++
		}
	}
	rest := c.Path[len(c.Path)-1].Remainder()
	return c.Error != nil && given == len(c.Selected().Positional) && len(rest) > 0 && !strings.HasPrefix(rest[0], "-")
}

// commandNames returns the names of the commands below a command: "list, show or create".
func commandNames(n *kong.Node) string {
	var names []string
	for _, child := range n.Children {
		if !child.Hidden {
			names = append(names, child.Name)
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// FlagHelp returns the help of a flag or argument: its text, its environment variable and its default.
func FlagHelp(v *kong.Value) string {
	var notes []string
	if env := v.Tag.Get("env"); env != "" { // v.Tag.Envs has only variables that are set
		notes = append(notes, "$"+env)
	}
	if v.HasDefault && v.Default != "" {
		notes = append(notes, "default "+v.Default)
	}
	if len(notes) == 0 {
		return v.Help
	}
	return v.Help + " (" + strings.Join(notes, ", ") + ")"
}

// warnOfUnknown warns of environment variables that have the prefix of settings but are not settings.
func (p Program) warnOfUnknown(c *Console, environ []string) {
	known := variables(reflect.TypeOf(p.Commands).Elem())
	var unknown []string
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if value != "" && strings.HasPrefix(name, p.EnvPrefix) && !known[name] {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		fmt.Fprintf(c.Err, "%s: warning: ignored, because there are no such settings: %s\n", p.Name,
			strings.Join(unknown, ", "))
	}
}

// visitCommands calls f for a command and all commands below it.
func visitCommands(n *kong.Node, f func(*kong.Node)) {
	f(n)
	for _, child := range n.Children {
		visitCommands(child, f)
	}
}
