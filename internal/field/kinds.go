package field

import (
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/jsonobject"
	"github.com/allswell/allswell/internal/timeinput"
)

// ID is the id of a resource, which begins with a prefix.
func ID[T any](name, prefix string, at func(*T) *string) *Field[T] {
	return newField(Info{Name: name, Kind: KindID, ReadOnly: true, Prefix: prefix}, at, texts[string]())
}

// Line is a name, which stands within other text.
func Line[T any](name string, at func(*T) *string) *Field[T] {
	return newField(Info{Name: name, Kind: KindLine}, at, texts[string]())
}

// Text is a text.
func Text[T any](name string, at func(*T) *string) *Field[T] {
	return newField(Info{Name: name, Kind: KindText}, at, texts[string]())
}

// Markdown is a text of several lines in Markdown.
func Markdown[T any](name string, at func(*T) *string) *Field[T] {
	return newField(Info{Name: name, Kind: KindMarkdown}, at, texts[string]())
}

// Choice is one of some values.
func Choice[T any, V ~string](name string, at func(*T) *V, options ...Option) *Field[T] {
	values, words := make([]V, len(options)), make([]string, len(options))
	for i, o := range options {
		values[i], words[i] = V(o.Value), o.Value
	}
	c := texts[V]()
	c.read = func(o *jsonobject.Object, name string) *V { return jsonobject.Enum(o, name, values) }
	c.check = func(i Info, v V, bad *allswell.ValidationError) {
		if !slices.Contains(values, v) {
			bad.Add(i.Name, "must be one of: %s", strings.Join(words, ", "))
		}
	}
	return newField(Info{Name: name, Kind: KindChoice, Options: options}, at, c)
}

// Of returns an option of a choice.
func Of[V ~string](value V, label string) Option { return Option{string(value), label} }

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
		check: func(i Info, v V, bad *allswell.ValidationError) {
			switch {
			case i.Kind == KindLine:
				allswell.CheckLine(bad, i.Name, string(v), i.Max)
			case i.Required:
				allswell.CheckText(bad, i.Name, string(v), i.Max)
			case i.Max > 0:
				allswell.CheckLength(bad, i.Name, string(v), i.Max)
			}
		},
		format: func(v V, _ *time.Location) string { return string(v) },
		parse: func(text string, _ *time.Location, _ time.Time) (V, error) {
			return V(strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))), nil
		},
	}
}

// clockLayout is the form of times in inputs of the type datetime-local.
const clockLayout = "2006-01-02T15:04"

// Time is an instant. The zero Time is null.
func Time[T any](name string, at func(*T) *time.Time) *Field[T] {
	return newField(Info{Name: name, Kind: KindTime}, at, codec[time.Time]{
		json: func(v time.Time) any {
			if v.IsZero() {
				return nil
			}
			return allswell.FormatTime(v)
		},
		read: func(o *jsonobject.Object, name string) *time.Time { return o.Instant(name) },
		format: func(v time.Time, zone *time.Location) string {
			if v.IsZero() {
				return ""
			}
			return v.In(zone).Format(clockLayout)
		},
		parse: func(text string, zone *time.Location, now time.Time) (time.Time, error) {
			var m timeinput.Moment
			if text == "" {
				return time.Time{}, nil
			}
			if err := m.UnmarshalText([]byte(text)); err != nil {
				return time.Time{}, err
			}
			return m.In(zone, now)
		},
	})
}
