package frame

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/allswell/allswell/internal/resource/configfield"
)

// formField returns the form field for a field of a type. saved means that a secret of the field is saved.
func formField(f configfield.Field, saved bool) Field {
	x := Field{
		Name: f.Name, Label: f.Label, Hint: strings.TrimSuffix(f.Help, ".") + ".", Optional: !f.Required,
		Placeholder: f.Example,
	}
	if f.NoHint {
		x.Hint = ""
	}
	if x.Placeholder == "" && f.Kind != configfield.KindFlag {
		x.Placeholder = f.Default
	}
	switch f.Kind {
	case configfield.KindFlag:
		x.Type, x.Options = "select", []Option{{Value: "false", Label: "No"}, {Value: "true", Label: "Yes"}}
		if f.Opposite {
			x.Options = []Option{{Value: "false", Label: "Yes"}, {Value: "true", Label: "No"}}
		}
	case configfield.KindList:
		x.Type, x.Rows, x.Wide = "textarea", 2, true
		x.Hint = strings.TrimSpace(x.Hint + " One per line.")
	case configfield.KindMap:
		x.Type, x.Rows, x.Wide = "textarea", 2, true
		x.Hint = strings.TrimSpace(x.Hint + " One per line, as Name: value.")
	case configfield.KindLongText:
		x.Type, x.Rows, x.Wide = "textarea", 4, true
	case configfield.KindInteger:
		x.InputMode = "numeric"
	default:
		x.Wide = f.Name == "url"
		if f.Choices != nil {
			x.Type, x.Options = "select", choicesOf(f)
		}
	}
	if f.Secret {
		x.Autocomplete = "new-password"
		if saved {
			x.Placeholder, x.Optional = "", true
			x.Hint = strings.TrimSpace(x.Hint + " A value is saved. Leave empty to keep it.")
		}
	}
	return x
}

// choiceWords are labels for choices whose values are names of the API.
var choiceWords = map[string]string{
	"grafana": "Grafana OnCall", "incident_io": "incident.io", "starttls": "STARTTLS", "tls": "TLS",
}

// choicesOf returns the choices of a field: its default is the first one, or none.
func choicesOf(f configfield.Field) (all []Option) {
	if f.Default == "" {
		all = append(all, Option{Label: "Any"})
	}
	for _, choice := range f.Choices {
		all = append(all, Option{Value: choice, Label: cmp.Or(choiceWords[choice], choice)})
	}
	return all
}

// lowerFirst returns a label for use within a phrase. Acronyms keep their capitals.
func lowerFirst(label string) string {
	if len(label) > 1 && label[1] >= 'a' {
		return strings.ToLower(label[:1]) + label[1:]
	}
	return label
}

// removal returns the name of the field that removes a saved secret.
func removal(f configfield.Field) string { return removalPrefix + f.Name }

const removalPrefix = "remove."

// isRemoval reports whether a field removes a saved secret.
func isRemoval(x Field) bool { return strings.HasPrefix(x.Name, removalPrefix) }

// TypeFields returns form fields for the advanced fields of a type of checks or channels, or for the others. secrets
// are the fields with a saved secret.
func TypeFields(fields []configfield.Field, advanced bool, secrets []string) (all []Field) {
	for _, f := range fields {
		if f.Advanced != advanced {
			continue
		}
		saved := slices.Contains(secrets, f.Name)
		all = append(all, formField(f, saved))
		if saved && !f.Required {
			all = append(all, Field{
				Name: removal(f), Label: "Saved " + lowerFirst(f.Label), Type: "select",
				Options: []Option{{Label: "Keep"}, {Value: "true", Label: "Remove"}},
			})
		}
	}
	return all
}

// formText returns a value of JSON as people type it.
func formText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		var lines []string
		for _, entry := range v {
			lines = append(lines, fmt.Sprint(entry))
		}
		return strings.Join(lines, "\n")
	case map[string]any:
		var lines []string
		for name, entry := range v {
			lines = append(lines, fmt.Sprintf("%s: %v", name, entry))
		}
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	default:
		return fmt.Sprint(v)
	}
}

// readField returns the input of a field as JSON; nil: the input is empty.
func readField(f configfield.Field, typed string) (json.RawMessage, error) {
	text := typed
	if f.Kind != configfield.KindLongText && !f.Secret {
		text = strings.TrimSpace(typed)
	}
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var value any = UnixLines(text)
	switch f.Kind {
	case configfield.KindFlag:
		value = text == "true"
	case configfield.KindInteger:
		if n, err := strconv.Atoi(text); err == nil {
			value = n
		}
	case configfield.KindList:
		value = lines(text)
	case configfield.KindMap:
		entries := make(map[string]string)
		for _, line := range lines(text) {
			name, entry, _ := strings.Cut(line, ":")
			entries[strings.TrimSpace(name)] = strings.TrimSpace(entry)
		}
		value = entries
	}
	return json.Marshal(value)
}

// lines returns the lines of a text that are not empty, without white space around them.
func lines(text string) (all []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// SetTypeValues sets the values of the fields of a type. Fields that config lacks keep their defaults.
func SetTypeValues(values url.Values, fields []configfield.Field, config json.RawMessage) {
	saved := make(map[string]any)
	if json.Unmarshal(config, &saved) != nil {
		return // the form begins with the defaults
	}
	for _, f := range fields {
		text := formText(saved[f.Name])
		if f.Kind == configfield.KindText {
			text = strings.NewReplacer("\r\n", " ", "\r", " ", "\n", " ").Replace(text) // the input has one line
		}
		if text != "" {
			values.Set(f.Name, text)
		}
	}
}

// KeepShown returns the typed fields. A field whose input equals what the form shows for the saved value keeps the
// saved value, because forms do not preserve all white space and line breaks.
func KeepShown(
	given map[string]json.RawMessage, typed url.Values, fields []configfield.Field, config json.RawMessage,
) map[string]json.RawMessage {
	var saved map[string]json.RawMessage
	if json.Unmarshal(config, &saved) != nil {
		return given // there is none
	}
	shown := url.Values{}
	SetTypeValues(shown, fields, config)
	given = maps.Clone(given)
	for _, f := range fields {
		if value, ok := saved[f.Name]; ok && UnixLines(typed.Get(f.Name)) == UnixLines(shown.Get(f.Name)) {
			given[f.Name] = value
		}
	}
	return given
}

// UnixLines returns a text with line feeds between its lines, in place of the carriage returns and line feeds that
// browsers send.
func UnixLines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// SetTypeDefaults sets the defaults of flags and choices, which forms show.
func SetTypeDefaults(values url.Values, fields []configfield.Field) {
	for _, f := range fields {
		if f.Kind == configfield.KindFlag || f.Choices != nil {
			values.Set(f.Name, f.Default)
		}
	}
}

// ReadTypeFields returns the typed fields of a type, including the kept secrets, and the typed secrets; null removes
// one. kept are the saved secrets.
func ReadTypeFields(
	typed url.Values, all []configfield.Field, kept map[string]json.RawMessage,
) (fields, secrets map[string]json.RawMessage, err error) {
	fields, secrets = make(map[string]json.RawMessage), make(map[string]json.RawMessage)
	for _, f := range all {
		value, err := readField(f, typed.Get(f.Name))
		if err != nil {
			return nil, nil, err
		}
		switch {
		case value != nil && f.Secret:
			secrets[f.Name] = value
		case f.Secret && typed.Get(removal(f)) != "":
			secrets[f.Name] = json.RawMessage("null")
			continue
		case f.Secret:
			value = kept[f.Name]
		}
		if value != nil {
			fields[f.Name] = value
		}
	}
	return fields, secrets, nil
}

// ShownSettings returns the settings of a type that differ from their defaults, for a screen. secrets are the names of
// fields with a saved secret.
func ShownSettings(fields []configfield.Field, values url.Values, secrets []string) (shown []ShownSetting) {
	for _, f := range fields {
		value := values.Get(f.Name)
		switch {
		case slices.Contains(secrets, f.Name):
			shown = append(shown, ShownSetting{f.Label, "set, not shown", f.Name})
		case value == "" || value == f.Default:
		case f.Kind == configfield.KindFlag && (value == "true") != f.Opposite:
			shown = append(shown, ShownSetting{Label: f.Label, Value: "yes"})
		case f.Kind == configfield.KindFlag:
			shown = append(shown, ShownSetting{Label: f.Label, Value: "no"})
		default:
			shown = append(shown, ShownSetting{Label: f.Label, Value: strings.ReplaceAll(value, "\n", ", ")})
		}
	}
	return shown
}

// ShownSetting is a setting of a check or a channel, as a screen shows it.
type ShownSetting struct {
	Label, Value string
	Secret       string // the name of a field with a secret, whose value is not shown; "": it is not a secret
}
