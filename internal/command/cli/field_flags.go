package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource/configfield"
	"github.com/allswell/allswell/internal/shared/spelling"
)

// fieldFlags are the flags for the fields of all types of checks or of channels. Because the types are a table, the
// struct that the parser fills in is made at run time.
type fieldFlags struct {
	kong.Plugins
	of []configfield.Shared
}

// addFieldFlags adds the flags of some fields to commands. heading is the heading of the flags of fields that all types
// have.
func addFieldFlags(of []configfield.Shared, types int, heading string, commands ...*fieldFlags) {
	var fields []reflect.StructField
	for i, f := range of {
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("Field%d", i), Type: flagType(f.Kind),
			Tag: reflect.StructTag(fmt.Sprintf(`name:%q placeholder:%q group:%q sep:"none" help:%q%s`,
				flagName(f.Field), flagPlaceholder(f.Field), flagGroup(f, types, heading), flagText(f),
				negatable(f.Kind))),
		})
	}
	flags := reflect.StructOf(fields)
	for _, command := range commands {
		*command = fieldFlags{kong.Plugins{reflect.New(flags).Interface()}, of}
	}
}

func flagType(kind configfield.Kind) reflect.Type {
	switch kind {
	case configfield.KindInteger:
		return reflect.TypeFor[*int]()
	case configfield.KindFlag:
		return reflect.TypeFor[*bool]()
	case configfield.KindList, configfield.KindMap:
		return reflect.TypeFor[[]string]()
	default:
		return reflect.TypeFor[*string]()
	}
}

func negatable(kind configfield.Kind) string {
	if kind == configfield.KindFlag {
		return ` negatable:""`
	}
	return ""
}

// commonFlags are flags of all commands, whose names fields of channels must not take.
var commonFlags = []string{"server", "token", "json", "wide"}

// flagName returns the name of a field's flag: url is --url. A flag that is repeated for each item has the singular:
// expected_statuses is --expected-status.
func flagName(f configfield.Field) string {
	name := strings.ReplaceAll(f.Name, "_", "-")
	if slices.Contains(commonFlags, name) {
		name = "channel-" + name
	}
	if f.Kind != configfield.KindList && f.Kind != configfield.KindMap {
		return name
	}
	return singular(name)
}

func flagPlaceholder(f configfield.Field) string {
	name := flagName(f)
	word := strings.ToUpper(name[strings.LastIndexByte(name, '-')+1:])
	switch {
	case len(f.Choices) > 1:
		return strings.Join(f.Choices, "|")
	case f.Kind == configfield.KindMap && f.Secret:
		return "NAME:VALUE|NAME:@FILE"
	case f.Kind == configfield.KindMap:
		return "NAME:VALUE"
	case f.Kind == configfield.KindInteger && word != "PORT":
		return "NUMBER"
	case f.Kind == configfield.KindLongText:
		return "TEXT|@FILE"
	case f.Secret:
		return word + "|@FILE"
	case f.Kind == configfield.KindText && strings.Contains(name, "-"):
		return "TEXT"
	}
	return word
}

// flagGroup returns the heading of a flag in the help: the types that have the field.
func flagGroup(f configfield.Shared, types int, all string) string {
	if len(f.Of) == types {
		return all
	}
	return "Of --type " + typeNames(f.Types()) + ":"
}

// typeNames returns the names of types: "http, tcp or tls".
func typeNames(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// flagText returns the help of a field's flag, which must be true for all types that have the field.
func flagText(f configfield.Shared) string {
	if !f.SameHelp() {
		label := slices.MinFunc(f.Of, func(a, b configfield.Owner) int {
			return len(a.Field.Label) - len(b.Field.Label)
		}).Field.Label
		return label + ". See --type TYPE --help."
	}
	return fieldText(f.Field)
}

// fieldText returns the help of a flag for the field of one type.
func fieldText(f configfield.Field) string {
	help := strings.TrimSuffix(f.Help, ".") + "."
	if f.Kind == configfield.KindList || f.Kind == configfield.KindMap {
		help += " Repeatable."
	}
	if f.Default != "" && f.Default != "false" {
		help += " Default: " + f.Default + "."
	}
	if f.Example != "" && !strings.Contains(f.Example, "\n") {
		help += " Such as " + f.Example + "."
	}
	return strings.ReplaceAll(help, "${", "$${")
}

// typesOf returns the types of a noun whose flags depend on --type, and the fields of these types.
func typesOf(noun string) (fields []configfield.Shared, types []string) {
	switch noun {
	case "channel":
		return alertchannel.Fields(), alertchannel.Names()
	case "monitor":
		return check.Fields(), textsOf(check.MonitorTypes())
	}
	return nil, nil
}

// NarrowHelp prepares the help of a command for the type that --type names: of the flags of types, it shows only the
// flags of this type, with their own texts. Without --type it does nothing. It returns an error if there is no such
// type.
func NarrowHelp(ctx *kong.Context) error {
	node := ctx.Selected()
	if node == nil || node.Parent == nil {
		return nil
	}
	fields, types := typesOf(node.Parent.Name)
	i := slices.IndexFunc(node.Flags, func(f *kong.Flag) bool { return f.Name == "type" })
	if fields == nil || i < 0 {
		return nil
	}
	kind := fmt.Sprint(ctx.FlagValue(node.Flags[i]))
	if kind == "" {
		return nil
	}
	if !slices.Contains(types, kind) {
		return unknownType(kind, types)
	}
	group := &kong.Group{Key: kind, Title: "Of --type " + kind + ":"}
	for _, flag := range node.Flags {
		at := slices.IndexFunc(fields, func(s configfield.Shared) bool { return flagName(s.Field) == flag.Name })
		if at < 0 {
			continue
		}
		flag.Hidden = true
		for _, owner := range fields[at].Of {
			if owner.Type == kind {
				flag.Hidden, flag.Group = false, group
				flag.Help, flag.PlaceHolder = strings.ReplaceAll(fieldText(owner.Field), "$${", "${"),
					flagPlaceholder(owner.Field)
			}
		}
	}
	return nil
}

// unknownType returns the error for a --type that does not exist.
func unknownType(given string, types []string) error {
	suggestion := ""
	if meant := spelling.Closest(given, types); meant != "" {
		suggestion = ": did you mean " + meant + "?"
	}
	return console.UsageErrorf("--type: there is no type %q%s The types are %s", given, cmp.Or(suggestion, "."),
		strings.Join(types, ", "))
}

// fields returns the given values as fields of a type.
func (f fieldFlags) fields(c *commandContext, kind string) (map[string]any, error) {
	given := make(map[string]any)
	values := reflect.ValueOf(f.Plugins[0]).Elem()
	for i, shared := range f.of {
		field := shared.OfType(kind)
		switch value := values.Field(i).Interface().(type) {
		case *int:
			if value != nil {
				given[field.Name] = *value
			}
		case *bool:
			if value != nil {
				given[field.Name] = *value
			}
		case *string:
			if value == nil {
				continue
			}
			text, err := textOrFile(c, field, *value)
			if err != nil {
				return nil, err
			}
			given[field.Name] = text
		case []string:
			if len(value) == 0 {
				continue
			}
			if field.Kind == configfield.KindList {
				given[field.Name] = value
				continue
			}
			entries, err := readEntries(c, field, value)
			if err != nil {
				return nil, err
			}
			given[field.Name] = entries
		}
	}
	return given, nil
}

// flagOfField returns the name of the flag of one of the fields.
func flagOfField(fields map[string]any) string {
	for _, f := range check.Fields() {
		if _, ok := fields[f.Name]; ok {
			return flagName(f.Field)
		}
	}
	return ""
}

// maxFileField is the maximum number of bytes in a file that is the value of a flag.
const maxFileField = monitor.MaxCheckConfig

// textOrFile returns the value of a flag. The value of a secret or of a long text may be @FILE, so that others on the
// machine do not see it in the process list; @- is standard input.
func textOrFile(c *commandContext, f configfield.Field, value string) (string, error) {
	path, isFile := strings.CutPrefix(value, "@")
	if !isFile || !f.Secret && f.Kind != configfield.KindLongText {
		return value, nil
	}
	from := io.Reader(c.In)
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return "", console.UsageErrorf("--%s: %v", flagName(f), err)
		}
		defer file.Close()
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, maxFileField+1))
	if err != nil {
		return "", console.UsageErrorf("--%s: %v", flagName(f), err)
	}
	if len(text) > maxFileField {
		return "", console.UsageErrorf("--%s: the file has more than %d bytes", flagName(f), maxFileField)
	}
	if f.Kind == configfield.KindLongText {
		return string(text), nil
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// readEntries returns the entries of a map, which are given as "Name: value" or NAME=VALUE. Values of secrets may be
// @FILE.
func readEntries(c *commandContext, f configfield.Field, all []string) (map[string]string, error) {
	entries := make(map[string]string)
	for _, entry := range all {
		at := strings.IndexAny(entry, ":=")
		if at <= 0 {
			return nil, console.UsageErrorf("--%s must be NAME:VALUE", flagName(f)) // the value may be a secret
		}
		value, err := textOrFile(c, f, strings.TrimSpace(entry[at+1:]))
		if err != nil {
			return nil, err
		}
		entries[strings.TrimSpace(entry[:at])] = value
	}
	return entries, nil
}
