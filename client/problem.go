package client

import (
	"encoding/json"
	"regexp"
	"strings"
)

// Problem describes what is wrong with a field of a request, as data, so that programs can word the message themselves.
type Problem struct {
	Field string // its path, such as "schedule.expression"
	// What is wrong, as a format of package fmt: a predicate, whose subject is the field, or a sentence.
	Code string
	Args []any // of the format: string, int or FieldName
}

// FieldName is an argument of a Problem: the key of another field.
type FieldName string

// verb matches the verbs of codes.
var verb = regexp.MustCompile(`%[sdqv]`)

// UnmarshalJSON decodes what a server has sent.
func (p *Problem) UnmarshalJSON(data []byte) error {
	var sent struct {
		Field string            `json:"field"`
		Code  string            `json:"code"`
		Args  []json.RawMessage `json:"args"`
	}
	if err := json.Unmarshal(data, &sent); err != nil {
		return err
	}
	format := strings.ReplaceAll(sent.Code, "%%", "")
	if n := len(verb.FindAllString(format, -1)); n != len(sent.Args) || n != strings.Count(format, "%") {
		sent.Code, sent.Args = asText(sent.Code), nil // not from an Allswell server: it is shown unchanged
	}
	*p = Problem{sent.Field, sent.Code, make([]any, len(sent.Args))}
	for i, raw := range sent.Args {
		var (
			number int
			text   string
			name   struct {
				Field FieldName `json:"field"`
			}
		)
		switch {
		case json.Unmarshal(raw, &number) == nil:
			p.Args[i] = number
		case json.Unmarshal(raw, &text) == nil:
			p.Args[i] = text
		case json.Unmarshal(raw, &name) == nil:
			p.Args[i] = name.Field
		default:
			p.Args[i] = string(raw) // of a newer server
		}
	}
	return nil
}

// asText returns the code of a Problem whose words are a text, unchanged.
func asText(text string) string { return strings.ReplaceAll(text, "%", "%%") }
