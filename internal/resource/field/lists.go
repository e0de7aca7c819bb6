package field

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/jsonobject"
)

// Texts is a list of texts.
func Texts[T any](name string, at func(*T) *[]string) *Field[T] {
	return newField(Info{Name: name, Kind: KindTexts}, at, lists[string]())
}

// References are other objects of the workspace, by id. Requests may give slugs, which the store replaces. of is their
// noun, such as "monitor".
func References[T any](name, of string, at func(*T) *[]string) *Field[T] {
	return newField(Info{Name: name, Kind: KindReferences, Of: of}, at, lists[string]())
}

// ReferencesBy is References for a list that get and set find in the object. set may refuse it.
func ReferencesBy[T any](name, of string, get func(*T) []string, set func(*T, []string) error) *Field[T] {
	return newProperty(Info{Name: name, Kind: KindReferences, Of: of, column: "-"}, get, set, lists[string]())
}

// Choices is a list of some values.
func Choices[T any, V ~string](name string, at func(*T) *[]V, options ...Option) *Field[T] {
	c, words := lists[V](), make([]string, len(options))
	for i, o := range options {
		words[i] = o.Value
	}
	c.check = func(i Info, v []V, bad *kernel.ValidationError) {
		checkItems(i, v, bad)
		if slices.ContainsFunc(v, func(item V) bool { return !slices.Contains(words, string(item)) }) {
			bad.Add(i.Name, "Each of the %s must be one of: %s.", kernel.Name(i.Name), strings.Join(words, ", "))
		}
	}
	read, parse := c.read, c.parseAll
	c.read = func(o *jsonobject.Object, name string) *[]V {
		v := read(o, name)
		if v != nil {
			*v = inOrder(*v, words)
		}
		return v
	}
	c.parseAll = func(texts []string) []V { return inOrder(parse(texts), words) }
	return newField(Info{Name: name, Kind: KindChoices, Options: options, Schema: reflect.TypeFor[V]().Name()}, at, c)
}

// inOrder returns each item once, in the order of the words; unknown items are last. So giving items in another order
// changes nothing.
func inOrder[V ~string](items []V, words []string) []V {
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b V) int {
		return cmp.Or(cmp.Compare(uint(slices.Index(words, string(a))), uint(slices.Index(words, string(b)))),
			cmp.Compare(a, b))
	})
	return slices.Compact(items)
}

// lists is the codec of lists of strings. A form offers them as a choice, or as text with commas or spaces between the
// items.
func lists[V ~string]() codec[[]V] {
	toTexts := func(v []V) []string {
		texts := make([]string, len(v))
		for i, item := range v {
			texts[i] = string(item)
		}
		return texts
	}
	fromTexts := func(texts []string) []V {
		v := make([]V, len(texts))
		for i, text := range texts {
			v[i] = V(text)
		}
		return v
	}
	return codec[[]V]{
		json: func(v []V) any { return toTexts(v) },
		read: func(o *jsonobject.Object, name string) *[]V {
			if texts := o.Texts(name); texts != nil {
				return new(fromTexts(texts))
			}
			return nil
		},
		check:     checkItems[V],
		formatAll: toTexts,
		parseAll: func(texts []string) []V {
			return fromTexts(strings.FieldsFunc(strings.Join(texts, " "), func(r rune) bool {
				return r == ',' || unicode.IsSpace(r)
			}))
		},
	}
}

// checkItems checks the length of a list.
func checkItems[V any](i Info, v []V, bad *kernel.ValidationError) {
	if i.Items > 0 && len(v) > i.Items {
		bad.Add(i.Name, "may have at most %d items", i.Items)
	}
}
