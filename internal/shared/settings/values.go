package settings

import (
	"reflect"
	"strings"
)

// Source is where the value of a setting comes from.
type Source string

// The sources, beginning with the source that takes precedence.
const (
	SourceFlag        Source = "flag"
	SourceEnvironment Source = "environment"
	SourceFile        Source = "file"
	SourceDefault     Source = "default"
)

// Value is a setting with its value.
type Value struct {
	Setting
	Text   string // the default if none is set; of a secret, only "set"
	Source Source
}

// Values returns the settings of a struct with their values. source returns where the value of a setting that is not
// empty comes from. group is the struct or a pointer to it.
func Values(group any, source func(env string) Source) []Value {
	var list []Value
	walk(reflect.Indirect(reflect.ValueOf(group)), func(field reflect.Value, s Setting) {
		v := Value{s, strings.TrimSpace(field.String()), SourceDefault}
		if v.Text == "" {
			v.Text = s.Default
		} else {
			v.Source = source(s.Env)
			if s.Secret && v.Source != SourceDefault {
				v.Text = "set"
			}
		}
		list = append(list, v)
	})
	return list
}
