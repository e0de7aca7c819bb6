// Package field describes resources by tables of their fields. From one table follow the JSON of a resource, the
// reading of requests and forms, validation, the entries of the audit log, the columns of its table, flags, the API
// document and the types of the client. docs/decisions/0120-a-table-of-fields.md says why it is a table.
package field

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/allswell/allswell/internal/shared/timeinput"
)

// Field describes a field of T. The functions of this package create fields, and its methods describe them further.
type Field[T any] struct {
	info    Info
	pointer func(*T) any // to the value; nil: it has no place of its own
	json    func(*T) any // a value that package json can encode
	// a string, a number, a boolean, a list, or nil; of KindConfig and KindOwn a map, of KindPart raw JSON; nil: the
	// audit log does not have it
	audit func(*T) any
	// nil: there is none, or it is not valid, which is an error of the object
	read   func(o *jsonobject.Object, replace bool) Change[T]
	copy   func(to, from *T) error
	clear  Change[T] // sets the zero value
	isZero func(*T) bool

	// zeroIsValue: the zero value can be meant, as 0 or false. Therefore the default is set before a request is read,
	// and not after.
	zeroIsValue bool

	// sets the default; nil: the zero value is the default
	fill func(*T, time.Time)
	// brings a value into the form in which it is stored; nil: all are
	settle func(*T)
	// adds the problems of the value
	check     func(*T, *kernel.ValidationError)
	checkZero func(*kernel.ValidationError) // check of the zero value
	// the values in forms; nil: there are no inputs for it
	format func(*T, *time.Location) []string
	parse  func(texts []string, zone *time.Location, now time.Time) (Change[T], error) // reads the values of a form
	config func(*T) configfield.Config                                                 // of KindConfig
	// whether an object has the field; nil: all have it
	when   func(*T) bool
	refuse func(*T, *kernel.ValidationError) // adds the error of a value for an object that does not have it
}

// codec says how values of type V are written, read and checked.
type codec[V any] struct {
	json        func(V) any
	audit       func(V) any // nil: as json
	read        func(*jsonobject.Object, string) *V
	check       func(Info, V, *kernel.ValidationError) // nil: all values are valid
	format      func(V, *time.Location) string
	parse       func(string, *time.Location, time.Time) (V, error)
	zeroIsValue bool // see Field

	formatAll func(V) []string // of lists, instead of format and parse
	parseAll  func([]string) V
}

func newField[T, V any](info Info, at func(*T) *V, c codec[V]) *Field[T] {
	f := newProperty(info, func(t *T) V { return *at(t) }, func(t *T, v V) error { *at(t) = v; return nil }, c)
	f.pointer = func(t *T) any { return at(t) }
	f.isZero = func(t *T) bool { return reflect.ValueOf(at(t)).Elem().IsZero() } // without a copy
	return f
}

// newProperty is newField for a value that get and set find in T. set may refuse a value.
func newProperty[T, V any](info Info, get func(*T) V, set func(*T, V) error, c codec[V]) *Field[T] {
	info.Type = reflect.TypeFor[V]()
	f := &Field[T]{info: info, zeroIsValue: c.zeroIsValue}
	setter := func(v V) Change[T] { return func(t *T) error { return set(t, v) } }
	var zero V
	f.json = func(t *T) any {
		if f.info.Nullable && f.isZero(t) || !f.has(t) {
			return nil
		}
		return c.json(get(t))
	}
	shown := c.audit
	if shown == nil {
		shown = c.json
	}
	f.audit = func(t *T) any {
		if f.info.Nullable && f.isZero(t) || !f.has(t) {
			return nil
		}
		return shown(get(t))
	}
	f.copy = func(to, from *T) error { return set(to, get(from)) }
	f.clear = setter(zero)
	f.isZero = func(t *T) bool { return reflect.ValueOf(new(get(t))).Elem().IsZero() }
	f.read = func(o *jsonobject.Object, replace bool) Change[T] {
		v := c.read(o, f.info.Name)
		switch {
		case v != nil:
			return f.unlessZero(setter(*v), reflect.ValueOf(*v).IsZero())
		case replace && !f.info.Kept && !f.info.DefaultHand, (f.info.Nullable || f.info.Emptied) && o.Null(f.info.Name):
			return f.clear
		}
		return nil
	}
	f.checkZero = func(bad *kernel.ValidationError) { c.check(f.info, zero, bad) }
	f.check = func(t *T, bad *kernel.ValidationError) {
		if c.check != nil && f.has(t) && !(f.info.Nullable && f.isZero(t)) {
			c.check(f.info, get(t), bad)
		}
	}
	if c.format != nil || c.formatAll != nil {
		addForm(f, get, setter, c)
	}
	return f
}

// addForm sets how forms show and read the field.
func addForm[T, V any](f *Field[T], get func(*T) V, setter func(V) Change[T], c codec[V]) {
	f.format = func(t *T, zone *time.Location) []string {
		switch {
		case c.formatAll != nil:
			return c.formatAll(get(t))
		case f.info.isOptionalNumber() && f.isZero(t):
			return []string{""}
		}
		return []string{c.format(get(t), zone)}
	}
	f.parse = func(texts []string, zone *time.Location, now time.Time) (Change[T], error) {
		switch {
		case c.parseAll != nil:
			return setter(c.parseAll(texts)), nil
		case f.info.isOptionalNumber() && strings.TrimSpace(texts[0]) == "":
			return f.clear, nil
		}
		v, err := c.parse(texts[0], zone, now)
		return f.unlessZero(setter(v), reflect.ValueOf(v).IsZero()), err
	}
}

// unlessZero returns a change, or the problem of a number that is given as 0, where the zero value stands for null.
func (f *Field[T]) unlessZero(set Change[T], zero bool) Change[T] {
	var bad kernel.ValidationError
	if zero && f.info.isOptionalNumber() {
		f.checkZero(&bad)
	}
	if len(bad.Problems) == 0 {
		return set
	}
	return func(*T) error { return &bad }
}

// isDefault reports whether the value is the default.
func (f *Field[T]) isDefault(t *T) bool {
	byDefault := *t
	_ = f.copy(&byDefault, new(T)) // a zero value is never refused
	if f.fill != nil {
		f.fill(&byDefault, time.Time{})
	}
	return reflect.DeepEqual(f.json(&byDefault), f.json(t))
}

// has reports whether an object has the field.
func (f *Field[T]) has(t *T) bool { return f.when == nil || f.when(t) }

// complete checks the description of the field, and derives the rest of it.
func (f *Field[T]) complete() error {
	i := &f.info
	switch {
	case !isPlain(i.Name):
		return errors.New("its name is not plain")
	case i.ReadOnly, i.Kind == KindConfig, i.Kind == KindOwn && i.SentSchema == "":
		return nil
	case i.Doc == "" || i.Label == "":
		return errors.New("Doc or Form is missing")
	case i.Kind == KindDuration && i.Empty == "" && !i.Required && !i.ByHand && !i.DefaultHand:
		return errors.New("Empty is missing, which says what 0 means")
	case i.Kind == KindInteger && i.Least >= i.Most:
		return errors.New("Between is missing")
	case slices.Contains([]Kind{KindLine, KindLines, KindText, KindMarkdown}, i.Kind) && i.Max == 0 && i.Pattern == "":
		return errors.New("Max is missing")
	case (i.Kind == KindChoice || i.Kind == KindChoices) && len(i.Options) == 0:
		return errors.New("it has no options")
	case (i.Kind == KindChoice || i.Kind == KindChoices) && f.fill != nil:
		var v T
		f.fill(&v, time.Time{})
		i.Default = f.format(&v, time.UTC)[0]
	case f.zeroIsValue && f.fill != nil:
		var v T
		f.fill(&v, time.Time{})
		i.Default = f.format(&v, time.UTC)[0]
		zero := f.clear
		f.clear = func(t *T) error {
			if !f.has(t) {
				return zero(t)
			}
			f.fill(t, time.Time{})
			return nil
		}
	}
	return nil
}

// Info returns the description of the field.
func (f *Field[T]) Info() Info { return f.info }

// Pointer returns a pointer to the field's value in an object.
func (f *Field[T]) Pointer(v *T) any { return f.pointer(v) }

// Required says that the field must have a value: a text one with a visible character.
func (f *Field[T]) Required() *Field[T] { f.info.Required = true; return f }

// Nullable says that null removes the value.
func (f *Field[T]) Nullable() *Field[T] { f.info.Nullable = true; return f }

// Emptied says that null in a request empties the list, which is never null itself.
func (f *Field[T]) Emptied() *Field[T] { f.info.Emptied = true; return f }

// ReadOnly says that only the service sets the field.
func (f *Field[T]) ReadOnly() *Field[T] { f.info.ReadOnly = true; return f }

// AtCreation says that only a request which creates an object gives the field.
func (f *Field[T]) AtCreation() *Field[T] { f.info.Only = []Request{Creation}; return f }

// AfterCreation says that only a request about a stored object gives the field: one that changes or replaces it.
func (f *Field[T]) AfterCreation() *Field[T] {
	f.info.Only = []Request{Changing, Replacement}
	return f
}

// Partial says that only a request which changes some fields of an object gives the field, and not one that replaces
// it.
func (f *Field[T]) Partial() *Field[T] { f.info.Only = []Request{Changing}; return f }

// Whole says that only a request which says all of an object gives the field: one that creates or replaces it.
func (f *Field[T]) Whole() *Field[T] { f.info.Only = []Request{Creation, Replacement}; return f }

// WriteOnly says that responses do not show the field.
func (f *Field[T]) WriteOnly() *Field[T] { f.info.WriteOnly = true; return f }

// Once says that the field is a secret, which is shown only in the response to the request that creates it.
func (f *Field[T]) Once() *Field[T] {
	f.info.ReadOnly, f.info.Detail, f.info.Once = true, true, true
	return f
}

// Kept says that a request which replaces an object, and does not give the field, keeps the field's value.
func (f *Field[T]) Kept() *Field[T] { f.info.Kept = true; return f }

// DefaultByHand says that Resource.ReadHand sets the default, because it depends on other fields.
func (f *Field[T]) DefaultByHand() *Field[T] { f.info.DefaultHand = true; return f }

// When says that only some objects have the field: it is null in the others. refuse adds the error for a request that
// gives it for one of the others.
func (f *Field[T]) When(has func(*T) bool, refuse func(v *T, name string, bad *kernel.ValidationError)) *Field[T] {
	f.when, f.info.OfSome = has, true
	f.refuse = func(v *T, bad *kernel.ValidationError) { refuse(v, f.info.Name, bad) }
	return f
}

// ByHand says that Resource.ReadHand reads the field from requests, and the rules of the resource check it.
func (f *Field[T]) ByHand() *Field[T] {
	f.info.ByHand = true
	f.check = func(*T, *kernel.ValidationError) {}
	return f
}

// Unaudited says that the audit log does not have the field.
func (f *Field[T]) Unaudited() *Field[T] { f.audit = nil; return f }

// Typed says that forms have a duration as a text with units, such as 25h, instead of a choice.
func (f *Field[T]) Typed() *Field[T] {
	f.info.Typed = true
	value := func(t *T) *time.Duration { return f.pointer(t).(*time.Duration) }
	f.format = func(t *T, _ *time.Location) []string {
		if *value(t) == 0 {
			return []string{""}
		}
		return []string{timeinput.Duration(*value(t)).String()}
	}
	f.parse = func(texts []string, _ *time.Location, _ time.Time) (Change[T], error) {
		text := strings.ReplaceAll(texts[0], " ", "")
		var d timeinput.Duration
		if text == "" {
			return f.clear, nil
		}
		if err := d.UnmarshalText([]byte(text)); err != nil {
			var bad kernel.ValidationError
			bad.AddText(f.info.Name, err.Error())
			return func(*T) error { return &bad }, nil
		}
		return f.unlessZero(func(t *T) error {
			*value(t) = time.Duration(d)
			return nil
		}, d == 0), nil
	}
	return f
}

// Client sets the name of the type in the client that has the fields of types, and of the member with them.
func (f *Field[T]) Client(name string) *Field[T] { f.info.Client = name; return f }

// Plain says that the client has the zero value in place of null.
func (f *Field[T]) Plain() *Field[T] { f.info.Plain = true; return f }

// Between sets the least and the greatest value of an integer.
func (f *Field[T]) Between(least, most int) *Field[T] {
	f.info.Least, f.info.Most = least, most
	return f
}

// AtLeast sets the least value of a duration that is not 0.
func (f *Field[T]) AtLeast(d time.Duration) *Field[T] { f.info.Shortest = d; return f }

// AtMost sets the maximum number of items of a list.
func (f *Field[T]) AtMost(items int) *Field[T] { f.info.Items = items; return f }

// Check adds a check of the value to the kind's check.
func (f *Field[T]) Check(check func(*T, *kernel.ValidationError)) *Field[T] {
	kind := f.check
	f.check = func(t *T, bad *kernel.ValidationError) {
		kind(t, bad)
		check(t, bad)
	}
	return f
}

// Formed replaces the check of the kind with a check of the field's own. It is not called for null.
func (f *Field[T]) Formed(check func(*T, *kernel.ValidationError)) *Field[T] {
	f.check = func(t *T, bad *kernel.ValidationError) {
		if !f.info.Nullable || !f.isZero(t) {
			check(t, bad)
		}
	}
	return f
}

// Settle sets the function that brings a value into the form in which it is stored. It runs before the check.
func (f *Field[T]) Settle(settle func(*T)) *Field[T] { f.settle = settle; return f }

// Audited says that the audit log records the field although only the service sets it, if it has a value.
func (f *Field[T]) Audited() *Field[T] { f.info.Audited = true; return f }

// Max sets the maximum length of a text in characters.
func (f *Field[T]) Max(characters int) *Field[T] { f.info.Max = characters; return f }

// Pattern sets the regular expression that texts match, for the API document.
func (f *Field[T]) Pattern(expression string) *Field[T] { f.info.Pattern = expression; return f }

// Suggest sets some values of a text that commands suggest.
func (f *Field[T]) Suggest(values ...string) *Field[T] { f.info.Suggested = values; return f }

// Default sets the value of a field that is missing. fill may use the time of the request, unless the zero value can be
// meant: then the default is set before a request is read.
func (f *Field[T]) Default(fill func(t *T, now time.Time)) *Field[T] { f.fill = fill; return f }

// Column sets the name of the column, where it differs from the field's name.
func (f *Field[T]) Column(name string) *Field[T] { f.info.column = name; return f }

// NullColumn says that the zero value is NULL in the column.
func (f *Field[T]) NullColumn() *Field[T] { f.info.NullColumn = true; return f }

// NoColumn says that no column follows from the description: statements of the store load the field, or save it in a
// column with others.
func (f *Field[T]) NoColumn() *Field[T] { f.info.column = "-"; return f }

// Schema sets the name of a choice's schema in the document, where it differs from the name of the Go type.
func (f *Field[T]) Schema(name string) *Field[T] { f.info.Schema = name; return f }

// Packed stores fields as members of a JSON object in one column.
func Packed[T any](column string, fields ...*Field[T]) []*Field[T] {
	for _, f := range fields {
		f.info.Packed = column
	}
	return fields
}

// Within groups fields in a type of the client that several resources embed.
func Within[T any](name, doc string, fields ...*Field[T]) []*Field[T] {
	for _, f := range fields {
		f.info.Within = Embedded{name, doc}
	}
	return fields
}

// Flag sets the name of the flag, where it differs from the field's name.
func (f *Field[T]) Flag(name string) *Field[T] { f.info.flag = name; return f }

// NoFlag sets the name of the flag that removes the value, where it is not the flag's name after no-.
func (f *Field[T]) NoFlag(name string) *Field[T] { f.info.noFlag = name; return f }

// Labels sets the labels of true and of false in forms.
func (f *Field[T]) Labels(yes, no string) *Field[T] {
	f.info.Options = []Option{{"true", yes}, {"false", no}}
	return f
}

// None sets the label of no value, where forms have options: "all pages".
func (f *Field[T]) None(label string) *Field[T] { f.info.None = label; return f }

// Doc says what the field is, without a full stop: "Title of the announcement".
func (f *Field[T]) Doc(text string) *Field[T] { f.info.Doc = text; return f }

// Empty says what a missing value means: "until it is deleted".
func (f *Field[T]) Empty(text string) *Field[T] { f.info.Empty = text; return f }

// Form sets the label of the field in forms, the hint below it, and the placeholder, each "" for none.
func (f *Field[T]) Form(label, hint, placeholder string) *Field[T] {
	f.info.Label, f.info.Hint, f.info.Placeholder = label, hint, placeholder
	return f
}
