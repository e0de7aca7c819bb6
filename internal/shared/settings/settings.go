// Package settings reads settings, as text that the command line has collected from flags, environment variables and
// the configuration file.
//
// A group of settings is a struct with a string field for each, described by the field's tags:
//
//	env          the environment variable; the flag has the same name without ALLSWELL_, in lower case, with dashes
//	name         another name of the flag
//	default      the value to use if the field is empty
//	placeholder  what the help shows in place of a value
//	help         what the setting does, for the help of the command line and for the manual
//	secret       present if error messages must not show the value
package settings

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
)

// Setting describes one setting.
type Setting struct {
	Env         string
	Flag        string
	Default     string
	Placeholder string
	Help        string
	Secret      bool
}

// List returns the settings of a struct in the order of its fields, including the settings of embedded structs. Fields
// without an env tag are omitted. group is the struct or a pointer to it.
func List(group any) []Setting {
	var list []Setting
	walk(reflect.Indirect(reflect.ValueOf(group)), func(_ reflect.Value, s Setting) { list = append(list, s) })
	return list
}

func walk(group reflect.Value, visit func(reflect.Value, Setting)) {
	for i := range group.NumField() {
		tag := group.Type().Field(i).Tag
		if _, ok := tag.Lookup("embed"); ok {
			walk(group.Field(i), visit)
			continue
		}
		env := tag.Get("env")
		if env == "" {
			continue
		}
		_, secret := tag.Lookup("secret")
		visit(group.Field(i), Setting{
			Env: env,
			Flag: cmp.Or(tag.Get("name"),
				strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(env, "ALLSWELL_")), "_", "-")),
			Default: tag.Get("default"), Placeholder: tag.Get("placeholder"), Help: tag.Get("help"), Secret: secret,
		})
	}
}

// Error reports a setting with a value that is not accepted. Its text does not contain the value of a secret.
type Error struct {
	Setting  Setting
	Value    string
	Expected string // what is accepted, such as "a whole number from 0 to 10"
}

func (e *Error) Error() string {
	got := ""
	if !e.Setting.Secret {
		got = fmt.Sprintf(", not %q", e.Value)
	}
	return fmt.Sprintf("%s (--%s) must be %s%s.", e.Setting.Env, e.Setting.Flag, e.Expected, got)
}

// Parser parses the fields of one group of settings and keeps the first error.
type Parser struct {
	settings map[*string]Setting // by field
	err      error
}

// NewParser returns a Parser for a group, which must be a pointer to a struct.
func NewParser(group any) *Parser {
	p := &Parser{settings: make(map[*string]Setting)}
	walk(reflect.ValueOf(group).Elem(), func(field reflect.Value, s Setting) {
		p.settings[field.Addr().Interface().(*string)] = s
	})
	return p
}

// Err returns the first error, which is an *Error, or nil.
func (p *Parser) Err() error { return p.err }

// value returns the trimmed text of a field, or the setting's default if it is empty.
func (p *Parser) value(field *string) string {
	if value := strings.TrimSpace(*field); value != "" {
		return value
	}
	return p.settings[field].Default
}

// Refuse records that a setting does not have an acceptable value, unless there is an earlier error.
func (p *Parser) Refuse(field *string, expected string) {
	if p.err == nil {
		p.err = &Error{p.settings[field], p.value(field), expected}
	}
}

// Parse parses the value of a field, or its default, with parse. The text of an error that parse returns says what
// is accepted, such as "a whole number from 0 to 10".
func Parse[T any](p *Parser, field *string, parse func(value string) (T, error)) T {
	v, err := parse(p.value(field))
	if err != nil {
		p.Refuse(field, err.Error())
	}
	return v
}
