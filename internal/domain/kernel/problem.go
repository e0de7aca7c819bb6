package kernel

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Problem describes what is wrong with a field of a request, as data. Each surface words the message itself: the API
// names the field by its key, see Message, forms by its label, and commands by its flag.
type Problem struct {
	Field string `json:"field"`          // its path, such as "schedule.expression"
	Code  string `json:"code"`           // what is wrong, as a format of package fmt: see ValidationError.Add
	Args  []any  `json:"args,omitempty"` // of the format: string, int or Name
}

// Name is an argument of a Problem: the key of another field, for which each surface has its own word.
type Name string

// Required is the code of a field that is missing.
const Required = "field is required"

// IsPredicate reports whether the code is a predicate, whose subject is the field. Otherwise it is a sentence.
func (p Problem) IsPredicate() bool { return p.Code != "" && 'a' <= p.Code[0] && p.Code[0] <= 'z' }

// Message returns what is wrong as a sentence of the API, which names fields by their keys.
func (p Problem) Message() string {
	if !p.IsPredicate() {
		return fmt.Sprintf(p.Code, p.Args...)
	}
	return "The " + p.Key() + " " + fmt.Sprintf(p.Code, p.Args...) + "."
}

// Key returns the last part of the field's path.
func (p Problem) Key() string { return p.Field[strings.LastIndexByte(p.Field, '.')+1:] }

// verb matches a verb of a code, with the article before it.
var verb = regexp.MustCompile(`((?:[Tt]he|an?) )?%[a-z%]`)

// Text returns the predicate or the sentence with the words of a surface for other fields. Words that begin with no
// letter, such as quotation marks and flags, have no article.
func (p Problem) Text(word func(key string) string) string {
	args, n := slices.Clone(p.Args), 0
	code := verb.ReplaceAllStringFunc(p.Code, func(match string) string {
		if strings.HasSuffix(match, "%%") || n >= len(args) {
			return match
		}
		name, ok := args[n].(Name)
		n++
		if !ok {
			return match
		}
		text := word(string(name))
		args[n-1] = text
		if first, _ := utf8.DecodeRuneInString(text); !unicode.IsLetter(first) {
			return "%s"
		}
		return match
	})
	return fmt.Sprintf(code, args...)
}

// plain returns arguments as texts, whole numbers and names.
func plain(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		v := reflect.ValueOf(arg)
		switch out[i] = arg; {
		case v.CanInt():
			out[i] = int(v.Int())
		case v.Kind() != reflect.String:
			out[i] = fmt.Sprint(arg) // an address, or an error
		case v.Type() != reflect.TypeFor[Name]():
			out[i] = v.String()
		}
	}
	return out
}

// MarshalJSON returns an object with the key, so that a name is no text.
func (n Name) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Field string `json:"field"`
	}{string(n)})
}
