package console

import (
	"reflect"
	"slices"
	"strings"
)

// subtree returns the program with nothing but the named command and those below it, because building the parser of the
// whole tree takes longer than most commands. It returns the whole program for the commands that need it, and if the
// name is not that of a command.
func (p Program) subtree(name string) Program {
	if slices.Contains(p.Whole, name) {
		return p
	}
	tree := reflect.ValueOf(p.Commands).Elem()
	for i := range tree.NumField() {
		field := tree.Type().Field(i)
		if field.Tag.Get("name") != name && strings.ToLower(field.Name) != name {
			continue
		}
		one := reflect.New(reflect.StructOf([]reflect.StructField{field}))
		one.Elem().Field(0).Set(tree.Field(i))
		p.Commands = one.Interface()
		return p
	}
	return p
}

// variables returns the names of the environment variables that the flags of a tree of commands have. It reads the tags
// that the parser reads.
func variables(commands reflect.Type) map[string]bool {
	known := make(map[string]bool)
	var visit func(reflect.Type)
	visit = func(t reflect.Type) {
		for i := range t.NumField() {
			field := t.Field(i)
			_, command := field.Tag.Lookup("cmd")
			_, embedded := field.Tag.Lookup("embed")
			if env := field.Tag.Get("env"); env != "" {
				known[env] = true
			} else if (command || embedded || field.Anonymous) && field.Type.Kind() == reflect.Struct {
				visit(field.Type)
			}
		}
	}
	visit(commands)
	return known
}
