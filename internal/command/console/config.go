package console

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/allswell/allswell/internal/shared/settings"
	"github.com/allswell/allswell/internal/shared/spelling"
)

// configFlag is the flag of commands that read the configuration file; see settings.FileSetting.
const configFlag = "config"

// configFile sets flags to the values of the configuration file, unless the command line or the environment sets them.
// See docs/decisions/0046-the-command-line.md.
type configFile struct {
	commands reflect.Type // the tree of all commands, whose settings the file may contain
	read     bool
	path     string // "" if there is no file
	values   map[string]settings.Assignment
	warnings []string
	err      error
}

// Validate implements kong.Resolver.
func (f *configFile) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver. It keeps a problem with the file in f.err, because the parser would attribute the
// error to the flag.
func (f *configFile) Resolve(context *kong.Context, parent *kong.Path, flag *kong.Flag) (any, error) {
	node := parent.Node()
	if len(flag.Envs) == 0 || flagOf(node, configFlag) == nil {
		return nil, nil
	}
	if !f.read {
		f.read = true
		f.load(context, node)
	}
	if flag.Name == configFlag && f.path != "" {
		return f.path, nil
	}
	for _, env := range flag.Envs {
		if isSet(env) {
			return nil, nil
		}
		if a := f.values[env]; a.Value != "" {
			return a.Value, nil
		}
	}
	return nil, nil
}

// flagOf returns the flag of a command, or nil.
func flagOf(n *kong.Node, name string) *kong.Flag {
	for _, flag := range n.Flags {
		if flag.Name == name {
			return flag
		}
	}
	return nil
}

// maxConfigSize is the maximum size of a configuration file, in bytes.
const maxConfigSize = 1 << 20

// readConfig reads a configuration file of at most maxConfigSize bytes.
func readConfig(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxConfigSize+1))
	if err == nil && len(text) > maxConfigSize {
		err = errors.New("it is larger than 1 MiB")
	}
	return text, err
}

// load reads the file for a command.
func (f *configFile) load(context *kong.Context, command *kong.Node) {
	given, _ := context.FlagValue(flagOf(command, configFlag)).(string)
	given = strings.TrimSpace(given)
	path := cmp.Or(given, settings.DefaultFile)
	text, err := readConfig(path)
	switch {
	case err == nil:
	case given == "" && errors.Is(err, fs.ErrNotExist):
		return
	case given == "" && errors.Is(err, fs.ErrPermission) && isGiven(context, flagOf(command, "database")):
		// A supervisor that read the file itself has passed its values on. Without a database, the command would use
		// another one than the service.
		f.warnings = append(f.warnings, fmt.Sprintf("%s is ignored: this user may not read it", path))
		return
	default:
		reason := err
		if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
			reason = pathErr.Err
		}
		f.err = fmt.Errorf("the configuration file %s cannot be read: %w", path, reason)
		return
	}
	f.path = path
	all, err := settings.ParseFile(string(text))
	if bad := (*settings.SyntaxError)(nil); errors.As(err, &bad) {
		f.err = fmt.Errorf("%s:%d: %s", path, bad.Line, bad.Reason)
		return
	}
	f.check(all, fileSettings(f.commands))
}

// isGiven reports whether a flag is set on the command line or by the environment.
func isGiven(context *kong.Context, flag *kong.Flag) bool {
	isFlag := func(p *kong.Path) bool { return p.Flag == flag }
	return flag != nil && (slices.ContainsFunc(context.Path, isFlag) || slices.ContainsFunc(flag.Envs, isSet))
}

// check stores the values of the file. It refuses unknown settings, and warns of other variables and of secrets that
// every user can read.
func (f *configFile) check(all []settings.Assignment, secret map[string]bool) {
	f.values = make(map[string]settings.Assignment, len(all))
	exposed := ""
	for _, a := range all {
		isSecret, known := secret[a.Name]
		switch {
		case !known && strings.HasPrefix(a.Name, "ALLSWELL_"):
			f.err = fmt.Errorf("%s:%d: %s is not a setting of the server%s", f.path, a.Line, a.Name,
				suggestion(a.Name, secret))
			return
		case !known && os.Getenv(a.Name) != a.Value: // a supervisor that reads the file, too, has set it
			f.warnings = append(f.warnings,
				fmt.Sprintf("%s:%d: %s is ignored: it is not a setting of Allswell", f.path, a.Line, a.Name))
		case isSecret && containsSecret(a.Value):
			exposed = a.Name
		}
		f.values[a.Name] = a
	}
	info, err := os.Stat(f.path)
	if err == nil && exposed != "" && info.Mode().IsRegular() && info.Mode().Perm()&0o004 != 0 {
		f.warnings = append(f.warnings,
			fmt.Sprintf("%s contains a secret (%s) and every user can read it: run chmod o-r %[1]s", f.path, exposed))
	}
}

// containsSecret reports whether the value of a secret setting actually contains a secret: a URL without a password
// does not.
func containsSecret(value string) bool {
	u, err := url.Parse(value)
	if err != nil || !slices.Contains([]string{"sqlite", "postgres", "postgresql", "smtp", "smtps"}, u.Scheme) {
		return value != ""
	}
	_, password := u.User.Password()
	return password || u.Query().Has("password")
}

// suggestion returns ": did you mean …?" if the name of a setting is similar, and "" otherwise.
func suggestion(name string, known map[string]bool) string {
	const prefix = "ALLSWELL_" // all settings begin with it, so it says nothing about their likeness
	var names []string
	for setting := range known {
		names = append(names, strings.TrimPrefix(setting, prefix))
	}
	meant := spelling.Closest(strings.TrimPrefix(name, prefix), names)
	if meant == "" {
		return ""
	}
	return ": did you mean " + prefix + meant + "?"
}

// locate adds the file and the line to an error about a value that comes from the file.
func (f *configFile) locate(err error) error {
	bad := (*settings.Error)(nil)
	if !errors.As(err, &bad) {
		return err
	}
	a, ok := f.values[bad.Setting.Env]
	if ok && !isSet(a.Name) && strings.TrimSpace(a.Value) == strings.TrimSpace(bad.Value) {
		return fmt.Errorf("%s:%d: %w", f.path, a.Line, err)
	}
	return err
}
