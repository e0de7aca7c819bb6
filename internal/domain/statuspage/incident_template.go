package statuspage

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// MaxIncidentTemplates is the maximum number of templates in a workspace.
const MaxIncidentTemplates = 200

// IncidentTemplate is a template of incidents. Its title and its message may contain TemplateVariables.
type IncidentTemplate struct {
	ID          string
	WorkspaceID string
	PageID      string // the page on which it can be used; "": all pages
	Page        string // slug of the page, or ""
	Slug        string // unique in the workspace, as the name is
	Name        string
	Title       string
	Impact      kernel.Impact // "": by the components
	State       IncidentState // "": investigating
	Message     string        // "": none
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// TemplateVariables are the variables of templates, each written as {{name}}.
var TemplateVariables = []string{"component", "date", "page", "time"}

var templateVariable = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)

// UnknownVariable returns the first variable in a text that is not one of TemplateVariables, with its braces; "" if
// there is none.
func UnknownVariable(text string) string {
	for _, found := range templateVariable.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(TemplateVariables, found[1]) {
			return found[0]
		}
	}
	return ""
}

// TemplateValues are the values of the variables.
type TemplateValues struct {
	Page       string
	Components []string  // names of the affected components; none: the name of the page
	At         time.Time // in the time zone of the page
}

// Fill replaces the variables in a text for a field of at most maxLength characters. Unknown variables stay. It stops
// after the first value that makes the text too long, so that a text of many variables does not fill the memory; the
// incident is refused then.
func (v TemplateValues) Fill(text string, maxLength int) string {
	values := map[string]string{
		"component": cmp.Or(strings.Join(v.Components, ", "), v.Page), "date": v.At.Format("2006-01-02"),
		"page": v.Page, "time": v.At.Format("15:04 MST"),
	}
	var filled strings.Builder
	length, done := 0, 0 // in characters of the result, in bytes of the text
	for _, at := range templateVariable.FindAllStringSubmatchIndex(text, -1) {
		value, ok := values[text[at[2]:at[3]]]
		if !ok {
			continue
		}
		filled.WriteString(text[done:at[0]])
		filled.WriteString(value)
		length += utf8.RuneCountInString(text[done:at[0]]) + utf8.RuneCountInString(value)
		done = at[1]
		if length > maxLength {
			return filled.String()
		}
	}
	filled.WriteString(text[done:])
	return filled.String()
}

// Begin fills the missing fields of a new incident and of its first update from the template.
func (t IncidentTemplate) Begin(i *Incident, first *IncidentUpdate, v TemplateValues) {
	if i.Title == "" {
		i.Title = v.Fill(t.Title, kernel.MaxTitleLength)
	}
	i.Impact, i.State = cmp.Or(i.Impact, t.Impact), cmp.Or(i.State, t.State)
	if first.Message == "" {
		first.Message = v.Fill(t.Message, kernel.MaxMessageLength)
	}
}
