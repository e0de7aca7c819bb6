package configfield

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

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Read splits the fields in a request into the configuration that is shown, with defaults, and the secrets. blank has
// the defaults. A null is like a missing field. The error is a *kernel.ValidationError with every invalid field; the
// error of "type" says that all fields together are longer than maxSize bytes. The caller handles unknown fields.
func Read(
	fields []Field, blank Configured, given map[string]json.RawMessage, maxSize int,
) (config json.RawMessage, secrets map[string]json.RawMessage, err error) {
	var bad kernel.ValidationError
	good := make(map[string]json.RawMessage)
	for _, f := range fields {
		raw, ok := given[f.Name]
		if !ok || string(bytes.TrimSpace(raw)) == "null" {
			if f.Required {
				bad.Add(f.Name, kernel.Required)
			}
			continue
		}
		if why := f.check(raw); why != "" {
			bad.AddText(f.Name, why)
			continue
		}
		good[f.Name] = raw
	}
	if err := decode(blank, good); err != nil {
		return nil, nil, err
	}
	var more kernel.ValidationError
	blank.Validate(&more)
	bad.AddMissing(&more)
	if err := bad.Err(); err != nil {
		return nil, nil, err
	}
	return encode(fields, blank, good, maxSize)
}

// encode returns the configuration, and the secrets among the fields from which it was decoded.
func encode(
	fields []Field, from Configured, given map[string]json.RawMessage, maxSize int,
) (config json.RawMessage, secrets map[string]json.RawMessage, err error) {
	encoded, err := json.Marshal(from)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding a configuration: %w", err)
	}
	values := make(map[string]json.RawMessage)
	if err := json.Unmarshal(encoded, &values); err != nil {
		return nil, nil, fmt.Errorf("encoding a configuration: %w", err)
	}
	secrets = make(map[string]json.RawMessage)
	size := 0
	for _, f := range fields {
		if value, ok := given[f.Name]; f.Secret && ok {
			secrets[f.Name] = value
			size += len(f.Name) + len(value)
		}
		if f.Secret {
			delete(values, f.Name)
		}
	}
	if config, err = json.Marshal(values); err != nil {
		return nil, nil, fmt.Errorf("encoding a configuration: %w", err)
	}
	if len(config)+size > maxSize {
		var bad kernel.ValidationError
		bad.Add("type", "The fields of the type must not be longer than %d bytes together.", maxSize)
		return nil, nil, &bad
	}
	return config, secrets, nil
}

// Configure sets the fields of blank to a configuration and secrets that Read returned. The error is a
// *kernel.ValidationError if they are no longer valid.
func Configure(blank Configured, config json.RawMessage, secrets map[string]json.RawMessage) error {
	fields := make(map[string]json.RawMessage)
	if err := json.Unmarshal(config, &fields); err != nil {
		return fmt.Errorf("decoding a configuration: %w", err)
	}
	maps.Copy(fields, secrets)
	if err := decode(blank, fields); err != nil {
		return err
	}
	var bad kernel.ValidationError
	blank.Validate(&bad)
	return bad.Err()
}

func decode(into Configured, fields map[string]json.RawMessage) error {
	object, err := json.Marshal(fields)
	if err == nil {
		err = json.Unmarshal(object, into)
	}
	if err != nil {
		return fmt.Errorf("decoding a configuration: %w", err)
	}
	return nil
}

// Merge returns the fields after a change: the fields of config and the secrets, replaced by the given ones. A null
// removes a field.
func Merge(config json.RawMessage, secrets, given map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	fields := make(map[string]json.RawMessage)
	if config != nil {
		if err := json.Unmarshal(config, &fields); err != nil {
			return nil, err
		}
	}
	for _, from := range []map[string]json.RawMessage{secrets, given} {
		for name, value := range from {
			if string(value) == "null" {
				delete(fields, name)
			} else {
				fields[name] = value
			}
		}
	}
	return fields, nil
}

// check returns the predicate that says what is wrong with a value, or "".
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
		if len(list) > MaxEntries {
			return fmt.Sprintf("may not have more than %d entries", MaxEntries)
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
		if len(entries) > MaxEntries {
			return fmt.Sprintf("may not have more than %d entries", MaxEntries)
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
	if f.Syntax {
		return ""
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
