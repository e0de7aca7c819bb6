package console

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// subtree returns the program with only the command that a command line names, because building the parser of the whole
// tree takes longer than most commands. It keeps all commands below it, or only the one that is named next. It returns
// the whole program for the commands in Whole, and if the first word is not a command.
func (p Program) subtree(args []string) Program {
	if slices.Contains(p.Whole, args[0]) {
		return p
	}
	tree := reflect.ValueOf(p.Commands).Elem()
	for i := range tree.NumField() {
		field := tree.Type().Field(i)
		if !hasName(field, args[0]) {
			continue
		}
		one := reflect.New(reflect.StructOf([]reflect.StructField{field}))
		one.Elem().Field(0).Set(tree.Field(i))
		p.Commands = one.Interface()
		if len(args) > 1 {
			p.without = siblings(field.Type, args[1])
		}
		return p
	}
	return p
}

// siblings returns a pattern that matches the commands of a group except the named one, for kong.IgnoreFields. It is ""
// if the group has no such command.
func siblings(group reflect.Type, name string) string {
	var others []string
	found := false
	for field := range group.Fields() {
		switch _, isCommand := field.Tag.Lookup("cmd"); {
		case isCommand && hasName(field, name):
			found = true
		case isCommand:
			others = append(others, field.Name)
		}
	}
	if !found || len(others) == 0 {
		return ""
	}
	return "^" + regexp.QuoteMeta(group.Name()) + `\.(` + strings.Join(others, "|") + ")$"
}

// hasName reports whether the command of a field may be called name. It may report true for a name that the parser then
// refuses.
func hasName(field reflect.StructField, name string) bool {
	return field.Tag.Get("name") == name || strings.EqualFold(field.Name, strings.ReplaceAll(name, "-", "")) ||
		slices.Contains(strings.Split(field.Tag.Get("aliases"), ","), name)
}

// eachCommand calls f for each command of a tree, with the fields of its flags that are settings. It reads the tags
// that the parser reads.
func eachCommand(commands reflect.Type, f func(settings []reflect.StructField)) {
	var own []reflect.StructField
	var visit func(reflect.Type)
	visit = func(t reflect.Type) {
		for field := range t.Fields() {
			_, isCommand := field.Tag.Lookup("cmd")
			_, isEmbedded := field.Tag.Lookup("embed")
			switch isStruct := field.Type.Kind() == reflect.Struct; {
			case field.Tag.Get("env") != "":
				own = append(own, field)
			case isCommand && isStruct:
				eachCommand(field.Type, f)
			case (isEmbedded || field.Anonymous) && isStruct:
				visit(field.Type)
			}
		}
	}
	visit(commands)
	f(own)
}

// variables returns the names of the environment variables that the flags of a tree of commands have.
func variables(commands reflect.Type) map[string]bool {
	known := make(map[string]bool)
	eachCommand(commands, func(settings []reflect.StructField) {
		for _, field := range settings {
			known[field.Tag.Get("env")] = true
		}
	})
	return known
}

// fileSettings returns the settings that a configuration file may contain, and whether they are secret: the settings of
// all commands that read the file.
func fileSettings(commands reflect.Type) map[string]bool {
	isConfig := func(field reflect.StructField) bool { return hasName(field, configFlag) }
	secret := make(map[string]bool)
	eachCommand(commands, func(settings []reflect.StructField) {
		if !slices.ContainsFunc(settings, isConfig) {
			return
		}
		for _, field := range settings {
			if _, isSecret := field.Tag.Lookup("secret"); !isConfig(field) {
				env := field.Tag.Get("env")
				secret[env] = secret[env] || isSecret
			}
		}
	})
	return secret
}
