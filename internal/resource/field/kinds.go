package field

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/jsonobject"
)

// ID is the id of a resource, which begins with a prefix.
func ID[T any](name, prefix string, at func(*T) *string) *Field[T] {
	return newField(Info{Name: name, Kind: KindID, ReadOnly: true, Prefix: prefix}, at, texts[string]())
}

// Line is a name, which is shown within other text.
func Line[T any](name string, at func(*T) *string) *Field[T] {
	return newField(Info{Name: name, Kind: KindLine}, at, texts[string]())
}

// Lines is a comment, which may have line breaks and tabs. Line breaks are line feeds.
func Lines[T any](name string, at func(*T) *string) *Field[T] {
	c := texts[string]()
	c.read = func(o *jsonobject.Object, name string) *string {
		if text := o.Text(name); text != nil {
			return new(strings.ReplaceAll(*text, "\r\n", "\n"))
		}
		return nil
	}
	return newField(Info{Name: name, Kind: KindLines}, at, c)
}

// Text is a text.
func Text[T any](name string, at func(*T) *string) *Field[T] {
	return newField(Info{Name: name, Kind: KindText}, at, texts[string]())
}

// Markdown is a text of several lines in Markdown.
func Markdown[T any](name string, at func(*T) *string) *Field[T] {
	return newField(Info{Name: name, Kind: KindMarkdown}, at, texts[string]())
}

// Slug is the slug of the object. A new object without one gets one that is made from its name, unless it is required.
func Slug[T any](at func(*T) *string) *Field[T] {
	c := texts[string]()
	c.check = func(i Info, v string, bad *kernel.ValidationError) {
		if i.Required {
			kernel.CheckSlug(bad, v)
			return
		}
		kernel.CheckOptionalSlug(bad, v)
	}
	return newField(Info{Name: "slug", Kind: KindSlug, Kept: true, Max: kernel.MaxSlugLength}, at, c)
}

// Reference is the slug of another object. The store checks that the object exists.
func Reference[T any](name string, at func(*T) *string) *Field[T] {
	c := texts[string]()
	c.check = nil
	return newField(Info{Name: name, Kind: KindReference}, at, c)
}

// Computed is a text that follows from other fields.
func Computed[T any](name string, get func(*T) string) *Field[T] {
	return newProperty(Info{Name: name, Kind: KindText, ReadOnly: true, column: "-"}, get, unset[T, string],
		texts[string]())
}

// Integer is a whole number. 0 can be meant.
func Integer[T any](name string, at func(*T) *int) *Field[T] {
	return newField(Info{Name: name, Kind: KindInteger}, at, codec[int]{
		zeroIsValue: true,
		json:        func(v int) any { return int64(v) },
		read:        func(o *jsonobject.Object, name string) *int { return o.Integer(name) },
		check: func(i Info, v int, bad *kernel.ValidationError) {
			if v < i.Least || v > i.Most {
				bad.Add(i.Name, "must be from %d to %d", i.Least, i.Most)
			}
		},
		format: func(v int, _ *time.Location) string { return strconv.Itoa(v) },
		parse: func(text string, _ *time.Location, _ time.Time) (int, error) {
			n, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil {
				return 0, errors.New("must be a whole number")
			}
			return n, nil
		},
	})
}

// Choice is one of some values.
func Choice[T any, V ~string](name string, at func(*T) *V, options ...Option) *Field[T] {
	return newField(choiceInfo[V](name, options), at, choices[V](options))
}

// unset is the setter of a value that only the service sets.
func unset[T, V any](*T, V) error { return nil }

// always returns a setter that refuses nothing.
func always[T, V any](set func(*T, V)) func(*T, V) error {
	return func(t *T, v V) error {
		set(t, v)
		return nil
	}
}

// ChoiceBy is Choice for a value that get and set find in the object, where it has no place of its own. A new object
// begins with the default; no later change may set an empty value.
func ChoiceBy[T any, V ~string](name string, get func(*T) V, set func(*T, V), options ...Option) *Field[T] {
	info := choiceInfo[V](name, options)
	info.column = "-"
	c := choices[V](options)
	c.zeroIsValue = true
	return newProperty(info, get, always(set), c)
}

func choiceInfo[V ~string](name string, options []Option) Info {
	return Info{Name: name, Kind: KindChoice, Options: options, Schema: reflect.TypeFor[V]().Name()}
}

// choices is the codec of one of some strings.
func choices[V ~string](options []Option) codec[V] {
	values, words := make([]V, len(options)), make([]string, len(options))
	for i, o := range options {
		values[i], words[i] = V(o.Value), o.Value
	}
	c := texts[V]()
	c.read = func(o *jsonobject.Object, name string) *V { return jsonobject.Enum(o, name, values) }
	c.check = func(i Info, v V, bad *kernel.ValidationError) {
		switch {
		case i.Required && v == "":
			bad.Add(i.Name, kernel.Required)
		case !slices.Contains(values, v):
			bad.Add(i.Name, "must be one of: %s", strings.Join(words, ", "))
		}
	}
	return c
}

// Of returns an option of a choice.
func Of[V ~string](value V, label string) Option { return Option{string(value), label} }

// Values returns options of a choice that forms do not have.
func Values[V ~string](values []V) []Option {
	return Options(values, func(V) string { return "" })
}

// Options returns options of a choice with all values.
func Options[V ~string](values []V, label func(V) string) (all []Option) {
	for _, v := range values {
		all = append(all, Of(v, label(v)))
	}
	return all
}

// texts is the codec of strings.
func texts[V ~string]() codec[V] {
	return codec[V]{
		json: func(v V) any { return string(v) },
		read: func(o *jsonobject.Object, name string) *V {
			if text := o.Text(name); text != nil {
				return new(V(*text))
			}
			return nil
		},
		check: func(i Info, v V, bad *kernel.ValidationError) {
			switch {
			case i.Kind == KindLine:
				kernel.CheckLine(bad, i.Name, string(v), i.Max)
			case i.Kind == KindLines:
				kernel.CheckLines(bad, i.Name, string(v), i.Max)
			case i.Required:
				kernel.CheckText(bad, i.Name, string(v), i.Max)
			case i.Max > 0:
				kernel.CheckLength(bad, i.Name, string(v), i.Max)
			}
		},
		format: func(v V, _ *time.Location) string { return string(v) },
		parse: func(text string, _ *time.Location, _ time.Time) (V, error) {
			return V(formText(text)), nil
		},
	}
}

// FirstMessage is the first message of a new object, in Markdown, which is no field of the object. get returns nil if
// there is none.
func FirstMessage[T any](name string, get func(*T) *string, set func(*T, *string)) *Field[T] {
	c := optionalTexts()
	c.check = func(i Info, v *string, bad *kernel.ValidationError) {
		if v != nil {
			kernel.CheckText(bad, i.Name, *v, i.Max)
		}
	}
	f := newProperty(Info{
		Name: name, Kind: KindMarkdown, Only: []Request{Creation}, WriteOnly: true, NotEmpty: true, column: "-",
	}, get, always(set), c)
	f.audit = nil
	return f
}

// OptionalText is a text that may be missing, which is nil. The empty text is a text.
func OptionalText[T any](name string, at func(*T) **string) *Field[T] {
	return newField(Info{Name: name, Kind: KindText, Nullable: true}, at, optionalTexts())
}

// optionalTexts is the codec of texts that may be missing. Forms do not distinguish the empty text from a missing one.
func optionalTexts() codec[*string] {
	return codec[*string]{
		json: func(v *string) any {
			if v == nil {
				return nil
			}
			return *v
		},
		read: func(o *jsonobject.Object, name string) **string {
			if text := o.Text(name); text != nil {
				return &text
			}
			return nil
		},
		check: func(i Info, v *string, bad *kernel.ValidationError) {
			if v != nil {
				kernel.CheckLength(bad, i.Name, *v, i.Max)
			}
		},
		format: func(v *string, _ *time.Location) string {
			if v == nil {
				return ""
			}
			return *v
		},
		parse: func(text string, _ *time.Location, _ time.Time) (*string, error) {
			if text = formText(text); text == "" {
				return nil, nil
			}
			return &text, nil
		},
	}
}

// formText returns the text that was typed into a form.
func formText(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) }

// Duration is a whole number of seconds, from 0 to longest. 0 can be meant.
func Duration[T any](name string, longest time.Duration, at func(*T) *time.Duration) *Field[T] {
	most := int(longest / time.Second)
	return newField(Info{Name: name, Kind: KindDuration, Longest: longest}, at, codec[time.Duration]{
		zeroIsValue: true,
		json:        func(v time.Duration) any { return int64(v / time.Second) },
		read: func(o *jsonobject.Object, name string) *time.Duration {
			n := o.Integer(name)
			if n == nil {
				return nil
			}
			return new(time.Duration(min(max(*n, -1), most+1)) * time.Second) // what is out of range must not overflow
		},
		check: func(i Info, v time.Duration, bad *kernel.ValidationError) {
			switch {
			case i.Nullable:
				if v < i.Shortest || v > longest || v%time.Second != 0 {
					bad.Add(i.Name, "must be a whole number of seconds from %d to %d", i.Shortest/time.Second, most)
				}
			case v != 0 && i.Shortest != 0 && (v < i.Shortest || v > longest || v%time.Second != 0):
				bad.Add(i.Name, "must be 0, or a whole number of seconds from %d to %d", i.Shortest/time.Second, most)
			case v < 0 || v > longest || v%time.Second != 0:
				bad.Add(i.Name, "must be a whole number of seconds from 0 to %d", most)
			}
		},
		format: func(v time.Duration, _ *time.Location) string { return strconv.FormatInt(int64(v/time.Second), 10) },
		parse: func(text string, _ *time.Location, _ time.Time) (time.Duration, error) {
			n, err := strconv.Atoi(text)
			if err != nil {
				n = -1
			}
			return time.Duration(min(max(n, -1), most+1)) * time.Second, nil
		},
	})
}

// Decimal is a number of seconds with decimals, less than longest. Zero is null.
func Decimal[T any](
	name string, longest time.Duration, check func(Info, time.Duration, *kernel.ValidationError),
	at func(*T) *time.Duration,
) *Field[T] {
	return newField(Info{Name: name, Kind: KindDecimal, Nullable: true, Longest: longest}, at, codec[time.Duration]{
		zeroIsValue: true,
		json:        func(v time.Duration) any { return v.Seconds() },
		check:       check,
		read: func(o *jsonobject.Object, name string) *time.Duration {
			n := o.Number(name)
			if n == nil {
				return nil
			}
			// it must not overflow
			return new(time.Duration(min(max(*n, -1), 1e6) * float64(time.Second)).Round(time.Microsecond))
		},
	})
}

// Own is a value whose schemas, and whose type in the client, are written by hand. shown returns its JSON, and audited
// the members that the audit log records.
func Own[T, V any](
	name, schema, sent, client string, at func(*T) *V, shown func(*T) any, audited func(*T) map[string]any,
) *Field[T] {
	f := &Field[T]{
		info: Info{
			Name: name, Kind: KindOwn, Schema: schema, SentSchema: sent, Client: client, Type: reflect.TypeFor[V](),
			ByHand: true, column: "-",
		},
	}
	f.pointer = func(t *T) any { return at(t) }
	f.json = func(t *T) any {
		if !f.has(t) {
			return nil
		}
		return shown(t)
	}
	f.audit = func(t *T) any { return audited(t) }
	f.copy = func(to, from *T) error {
		*at(to) = *at(from)
		return nil
	}
	f.isZero = func(t *T) bool { return reflect.ValueOf(at(t)).Elem().IsZero() }
	f.check = func(*T, *kernel.ValidationError) {}
	return f
}

// Bool is true or false. Forms can show it as a choice of two: see Labels.
func Bool[T any](name string, at func(*T) *bool) *Field[T] {
	return newField(Info{Name: name, Kind: KindBool}, at, booleans())
}

// BoolBy is Bool for a value that get and set find in the object.
func BoolBy[T any](name string, get func(*T) bool, set func(*T, bool)) *Field[T] {
	return newProperty(Info{Name: name, Kind: KindBool, column: "-"}, get, always(set), booleans())
}

func booleans() codec[bool] {
	return codec[bool]{
		zeroIsValue: true,
		json:        func(v bool) any { return v },
		read:        func(o *jsonobject.Object, name string) *bool { return o.Flag(name) },
		format:      func(v bool, _ *time.Location) string { return strconv.FormatBool(v) },
		parse: func(text string, _ *time.Location, _ time.Time) (bool, error) {
			v, err := strconv.ParseBool(text)
			if err != nil {
				return false, errors.New("must be true or false")
			}
			return v, nil
		},
	}
}

// Components are components of the page of an object. Requests give their ids or slugs, which the store replaces.
func Components[T any](name string, at func(*T) *[]statuspage.ComponentName) *Field[T] {
	type shown struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	return newField(Info{Name: name, Kind: KindComponents, column: "-"}, at, codec[[]statuspage.ComponentName]{
		json: func(v []statuspage.ComponentName) any {
			all := make([]shown, len(v))
			for i, c := range v {
				all[i] = shown(c)
			}
			return all
		},
		audit: func(v []statuspage.ComponentName) any {
			ids := statuspage.ComponentIDs(v)
			slices.Sort(ids)
			return ids
		},
		read: func(o *jsonobject.Object, name string) *[]statuspage.ComponentName {
			if refs := o.Texts(name); refs != nil {
				return new(statuspage.ComponentRefs(refs...))
			}
			return nil
		},
		check: func(_ Info, v []statuspage.ComponentName, bad *kernel.ValidationError) {
			statuspage.CheckComponentIDs(bad, statuspage.ComponentIDs(v))
		},
		formatAll: statuspage.ComponentIDs,
		parseAll: func(texts []string) []statuspage.ComponentName {
			return statuspage.ComponentRefs(slices.DeleteFunc(slices.Clone(texts), func(text string) bool {
				return text == ""
			})...)
		},
	})
}

// Objects are objects of another resource, such as the updates of a maintenance. Only responses with one object show
// them.
func Objects[T, U any](name string, of *Resource[U], at func(*T) *[]U) *Field[T] {
	info := Info{Name: name, Kind: KindObjects, Of: of.Describe().TypeName(), ReadOnly: true, Detail: true, column: "-"}
	return newField(info, at, codec[[]U]{
		json: func(v []U) any {
			all := make([]json.RawMessage, len(v))
			for i, u := range v {
				all[i] = of.JSON(u)
			}
			return all
		},
	})
}
