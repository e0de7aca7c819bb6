package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/allswell/allswell"
)

// Limits of the values of fields.
const (
	maxText     = 2_000  // characters of a text of one line
	maxLongText = 16_384 // characters of a text of several lines
	maxEntries  = 50     // of a list or a map
)

// Read separates the fields of a check in a request into the configuration that is shown, with defaults, and the secrets. A null
// is like a missing field. The error is an *allswell.ValidationError with every invalid field. Unknown fields are left to the caller.
func (t Type) Read(fields map[string]json.RawMessage) (config json.RawMessage, secrets map[string]json.RawMessage, err error) {
	var bad allswell.ValidationError
	good := make(map[string]json.RawMessage)
	for _, f := range t.Fields {
		raw, given := fields[f.Name]
		if !given || string(bytes.TrimSpace(raw)) == "null" {
			if f.Required {
				bad.Add(f.Name, "The %s field is required.", f.Name)
			}
			continue
		}
		if why := f.check(raw); why != "" {
			bad.Add(f.Name, "The %s %s.", f.Name, why)
			continue
		}
		good[f.Name] = raw
	}
	invalid := slices.Collect(maps.Keys(bad.Fields)) // is not validated again
	p, err := t.decode(good)
	if err != nil {
		return nil, nil, err
	}
	var more allswell.ValidationError
	p.Validate(&more)
	for field, messages := range more.Fields {
		if !slices.Contains(invalid, field) {
			for _, m := range messages {
				bad.Add(field, "%s", m)
			}
		}
	}
	if err := bad.Err(); err != nil {
		return nil, nil, err
	}
	return t.encode(p, good)
}

// encode returns the configuration of a valid probe, and the secrets among the fields from which it was decoded.
func (t Type) encode(p Probe, fields map[string]json.RawMessage) (config json.RawMessage, secrets map[string]json.RawMessage, err error) {
	encoded, err := json.Marshal(p)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding a check: %w", err)
	}
	values := make(map[string]json.RawMessage)
	if err := json.Unmarshal(encoded, &values); err != nil {
		return nil, nil, fmt.Errorf("encoding a check: %w", err)
	}
	secrets = make(map[string]json.RawMessage)
	size := 0
	for _, f := range t.Fields {
		if value, given := fields[f.Name]; f.Secret && given {
			secrets[f.Name] = value
			size += len(f.Name) + len(value)
		}
		if f.Secret {
			delete(values, f.Name)
		}
	}
	if config, err = json.Marshal(values); err != nil {
		return nil, nil, fmt.Errorf("encoding a check: %w", err)
	}
	if len(config)+size > allswell.MaxCheckConfig {
		var bad allswell.ValidationError
		bad.Add("type", "The fields of the %s check may not be longer than %d bytes together.", t.Name, allswell.MaxCheckConfig)
		return nil, nil, &bad
	}
	return config, secrets, nil
}

// Probe returns the configured probe of a monitor, from what Read returned. The error is an *allswell.ValidationError if the
// configuration is not valid any more.
func (t Type) Probe(config json.RawMessage, secrets map[string]json.RawMessage) (Probe, error) {
	fields := make(map[string]json.RawMessage)
	if err := json.Unmarshal(config, &fields); err != nil {
		return nil, fmt.Errorf("decoding the configuration of a check: %w", err)
	}
	maps.Copy(fields, secrets)
	p, err := t.decode(fields)
	if err != nil {
		return nil, err
	}
	var bad allswell.ValidationError
	p.Validate(&bad)
	return p, bad.Err()
}

func (t Type) decode(fields map[string]json.RawMessage) (Probe, error) {
	p := t.New()
	object, err := json.Marshal(fields)
	if err == nil {
		err = json.Unmarshal(object, p)
	}
	if err != nil {
		return nil, fmt.Errorf("decoding a check: %w", err)
	}
	return p, nil
}

// check returns what is wrong with a value, to follow the field's name, or "".
func (f Field) check(raw json.RawMessage) string {
	switch f.Kind {
	case KindInteger:
		return f.checkInteger(raw)
	case KindFlag:
		if s := string(bytes.TrimSpace(raw)); s != "true" && s != "false" {
			return "must be true or false"
		}
	case KindList:
		var list []*string
		if json.Unmarshal(raw, &list) != nil || slices.Contains(list, nil) {
			return "must be a list of strings"
		}
		if len(list) > maxEntries {
			return fmt.Sprintf("may not have more than %d entries", maxEntries)
		}
		for _, text := range list {
			if why := f.checkText(*text); why != "" {
				return why
			}
		}
	case KindMap:
		var entries map[string]*string
		if json.Unmarshal(raw, &entries) != nil {
			return "must be an object whose values are strings"
		}
		if len(entries) > maxEntries {
			return fmt.Sprintf("may not have more than %d entries", maxEntries)
		}
		for key, text := range entries {
			if text == nil || key == "" {
				return "must be an object whose values are strings"
			}
			if why := f.checkText(key + *text); why != "" {
				return why
			}
		}
	default:
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return "must be a string"
		}
		if f.Choices != nil && !slices.Contains(f.Choices, text) {
			return "must be one of: " + strings.Join(f.Choices, ", ")
		}
		return f.checkText(text)
	}
	return ""
}

func (f Field) checkInteger(raw json.RawMessage) string {
	n, err := strconv.Atoi(string(bytes.TrimSpace(raw)))
	if err != nil {
		return "must be a whole number"
	}
	if n < f.Min || n > f.Limit() {
		return fmt.Sprintf("must be from %d to %d", f.Min, f.Limit())
	}
	return ""
}

func (f Field) checkText(text string) string {
	if utf8.RuneCountInString(text) > f.Limit() {
		return fmt.Sprintf("may not be longer than %d characters", f.Limit())
	}
	several := f.Kind == KindLongText
	if strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) && !(several && (r == '\n' || r == '\r' || r == '\t'))
	}) {
		if several {
			return "must be text without control characters"
		}
		return "must be text of one line"
	}
	return ""
}
