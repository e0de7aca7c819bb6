package alertchannel

import (
	"encoding/json"
	"fmt"
	"regexp"
	"unicode/utf16"
	"unicode/utf8"
)

// shape checks a value of JSON against what the documentation of a service says.
type shape func(v any) error

// text is a string of 1 to limit UTF-16 code units.
func text(limit int) shape {
	return func(v any) error {
		s, ok := v.(string)
		if n := len(utf16.Encode([]rune(s))); !ok || n == 0 || n > limit || !utf8.ValidString(s) {
			return fmt.Errorf("%.200q is not a text of 1 to %d characters", v, limit)
		}
		return nil
	}
}

// like is a string that matches a pattern completely.
func like(pattern string) shape {
	re := regexp.MustCompile("^(?s:" + pattern + ")$")
	return func(v any) error {
		if s, ok := v.(string); !ok || !re.MatchString(s) {
			return fmt.Errorf("%.200q is not like %s", v, pattern)
		}
		return nil
	}
}

// is is one of some values.
func is(values ...any) shape {
	return func(v any) error {
		for _, good := range values {
			if v == good {
				return nil
			}
		}
		return fmt.Errorf("%v is none of %v", v, values)
	}
}

// whole is a whole number.
func whole(lowest, highest float64) shape {
	return func(v any) error {
		if n, ok := v.(float64); !ok || n != float64(int64(n)) || n < lowest || n > highest {
			return fmt.Errorf("%v is not a whole number from %g to %g", v, lowest, highest)
		}
		return nil
	}
}

// list is a list of 1 to limit elements.
func list(limit int, element shape) shape {
	return func(v any) error {
		l, ok := v.([]any)
		if !ok || len(l) == 0 || len(l) > limit {
			return fmt.Errorf("%.200v is not a list of 1 to %d", v, limit)
		}
		for i, e := range l {
			if err := element(e); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return nil
	}
}

// empty is an empty list.
func empty(v any) error {
	if l, ok := v.([]any); !ok || len(l) != 0 {
		return fmt.Errorf("%v is not an empty list", v)
	}
	return nil
}

// fields are the fields of an object; names of optional fields begin with a question mark.
type fields map[string]shape

// object has fields and no others.
func object(f fields) shape {
	return func(v any) error {
		o, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("%.200v is no object", v)
		}
		for name := range o {
			if f[name] == nil && f["?"+name] == nil {
				return fmt.Errorf("the field %s is unknown", name)
			}
		}
		for name, check := range f {
			optional := name[0] == '?'
			if optional {
				name = name[1:]
			}
			value, ok := o[name]
			if !ok && optional {
				continue
			}
			if !ok {
				return fmt.Errorf("the field %s is missing", name)
			}
			if err := check(value); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	}
}

// anyOf is one of some shapes.
func anyOf(shapes ...shape) shape {
	return func(v any) (err error) {
		for _, s := range shapes {
			if err = s(v); err == nil {
				return nil
			}
		}
		return err
	}
}

// decodeJSON decodes a body as JSON.
func decodeJSON(body []byte) (v any, err error) {
	err = json.Unmarshal(body, &v)
	return v, err
}
