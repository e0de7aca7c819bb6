package allswell

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"
)

// MaxIncidentTemplates is the maximum number of templates in a workspace.
const MaxIncidentTemplates = 200

// IncidentTemplate is the beginning of an incident, to be chosen when one is opened. Its title and its message may
// contain TemplateVariables.
type IncidentTemplate struct {
	ID        string
	PageID    string // "": of all pages
	Page      string // slug of the page, or ""
	Name      string
	Title     string
	Impact    Impact        // "": by the components
	State     IncidentState // "": investigating
	Message   string        // "": none
	CreatedAt time.Time
	UpdatedAt time.Time
}

// IncidentTemplateChange is the input for creating or changing a template. Nil fields keep their values; a new template
// begins with empty ones.
type IncidentTemplateChange struct {
	Page    *string // slug or id; "": all pages
	Name    *string
	Title   *string
	Impact  *Impact
	State   *IncidentState
	Message *string
}

// TemplateVariables are the variables of templates, each written as {{name}}.
var TemplateVariables = []string{"component", "date", "page", "time"}

var templateVariable = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)

// Validate returns a *ValidationError with every invalid field. The store checks that the page exists.
func (t IncidentTemplate) Validate() error {
	var bad ValidationError
	CheckText(&bad, "name", t.Name, MaxNameLength)
	CheckText(&bad, "title", t.Title, MaxTitleLength)
	checkImpact(&bad, t.Impact)
	checkState(&bad, t.State)
	CheckLength(&bad, "message", t.Message, MaxMessageLength)
	for _, field := range []struct{ name, text string }{{"title", t.Title}, {"message", t.Message}} {
		for _, found := range templateVariable.FindAllStringSubmatch(field.text, -1) {
			if !slices.Contains(TemplateVariables, found[1]) {
				bad.Add(field.name, "The variable %s does not exist. The variables are: {{%s}}.", found[0], strings.Join(TemplateVariables, "}}, {{"))
				break
			}
		}
	}
	return bad.Err()
}

// Apply changes t, except for its page. UpdatedAt changes if a field does.
func (t *IncidentTemplate) Apply(ch IncidentTemplateChange, now time.Time) {
	before := *t
	if ch.Name != nil {
		t.Name = *ch.Name
	}
	if ch.Title != nil {
		t.Title = *ch.Title
	}
	if ch.Impact != nil {
		t.Impact = *ch.Impact
	}
	if ch.State != nil {
		t.State = *ch.State
	}
	if ch.Message != nil {
		t.Message = *ch.Message
	}
	if *t != before || ch.Page != nil && *ch.Page != t.Page {
		t.UpdatedAt = Later(now, t.UpdatedAt)
	}
}

// TemplateValues are the values of the variables.
type TemplateValues struct {
	Page       string
	Components []string  // names of the affected components; none: the name of the page
	At         time.Time // in the time zone of the page
}

// Fill replaces the variables in a text. Unknown ones stay.
func (v TemplateValues) Fill(text string) string {
	return templateVariable.ReplaceAllStringFunc(text, func(found string) string {
		switch templateVariable.FindStringSubmatch(found)[1] {
		case "component":
			return cmp.Or(strings.Join(v.Components, ", "), v.Page)
		case "date":
			return v.At.Format("2006-01-02")
		case "page":
			return v.Page
		case "time":
			return v.At.Format("15:04 MST")
		default:
			return found
		}
	})
}

// Begin sets the fields of n that are not given to those of the template.
func (t IncidentTemplate) Begin(n NewIncident, v TemplateValues) NewIncident {
	if n.Title == "" {
		n.Title = v.Fill(t.Title)
	}
	n.Impact, n.State = cmp.Or(n.Impact, t.Impact), cmp.Or(n.State, t.State)
	if n.Message == nil && t.Message != "" {
		message := v.Fill(t.Message)
		n.Message = &message
	}
	n.Template = ""
	return n
}

// AuditObject returns what the audit log records of a template.
func (t IncidentTemplate) AuditObject() AuditObject {
	return AuditObject{Kind: ObjectIncidentTemplate, ID: t.ID, Name: t.Name, Fields: map[string]any{
		"page": t.Page, "name": t.Name, "title": t.Title, "impact": t.Impact, "state": t.State, "message": t.Message,
	}}
}
