package resource

import (
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/i18n"
)

type incidentTemplate = statuspage.IncidentTemplate

// IncidentTemplate describes templates of incidents.
var IncidentTemplate = field.New(field.Resource[incidentTemplate]{
	Noun: "incident template", Path: "incident-templates", Object: kernel.ObjectIncidentTemplate,
	Rules: templateVariables, Doc: "the beginning of an incident, to be chosen when one is opened",
	Example: incidentTemplate{
		ID: "tpl_068vq2r4b1ccu5a0d3e1", Page: "acme", Slug: "slow-payments", Name: "Slow payments",
		Title: "{{component}} is slow", Impact: kernel.ImpactMinor, Message: "We noticed it at {{time}}.",
		CreatedAt: exampleDay, UpdatedAt: exampleDay,
	},
	Fields: []*field.Field[incidentTemplate]{
		field.ID("id", kernel.PrefixIncidentTemplate, func(t *incidentTemplate) *string { return &t.ID }),
		field.Slug(func(t *incidentTemplate) *string { return &t.Slug }).
			Doc("Slug of the template, unique in the workspace").Empty("made from the name").
			Form("Slug", "", "slow-payments"),
		field.Reference("page", func(t *incidentTemplate) *string { return &t.Page }).Nullable().NoColumn().
			Doc("Slug of the page on which it can be used").Empty("all pages").NoFlag("all-pages").
			Form("Page", "", "").None("All pages"),
		field.Line("name", func(t *incidentTemplate) *string { return &t.Name }).Required().Max(kernel.MaxNameLength).
			Doc("Name of the template").
			Form("Name", "Shown in the list of templates to choose from.", "Slow payments"),
		field.Text("title", func(t *incidentTemplate) *string {
			return &t.Title
		}).Required().Max(kernel.MaxTitleLength).
			Doc("Title of the incident; {{component}}, {{date}}, {{page}} and {{time}} are replaced").
			Form("Title", "{{component}}, {{date}}, {{page}} and {{time}} are replaced.", "{{component}} is slow"),
		field.Choice("impact", func(t *incidentTemplate) *kernel.Impact {
			return &t.Impact
		}, field.Options(kernel.Impacts, i18n.English().Impact)...).Nullable().
			Doc("Impact of the incident").Empty("derived from the worst status of the components").
			Form("Impact", "", "").None("Automatic (from components)"),
		field.Choice("state", func(t *incidentTemplate) *statuspage.IncidentState {
			return &t.State
		}, field.Options(statuspage.IncidentStates, i18n.English().State)...).Nullable().
			Doc("State of the incident").Empty("investigating").
			Form("State", "", "").None("Investigating, as usual"),
		field.Markdown("message", func(t *incidentTemplate) *string {
			return &t.Message
		}).Nullable().Max(kernel.MaxMessageLength).
			Doc("First update in Markdown, with the same variables").Empty("none").
			Form("Message", "Markdown. {{component}}, {{date}}, {{page}} and {{time}} are replaced.", ""),
		field.Time("created_at", func(t *incidentTemplate) *time.Time { return &t.CreatedAt }).ReadOnly(),
		field.Time("updated_at", func(t *incidentTemplate) *time.Time { return &t.UpdatedAt }).ReadOnly(),
	},
})

// templateVariables checks that the variables of a template exist.
func templateVariables(t, _ *incidentTemplate, _ time.Time, bad *kernel.ValidationError) {
	for _, f := range []struct{ name, text string }{{"title", t.Title}, {"message", t.Message}} {
		if unknown := statuspage.UnknownVariable(f.text); unknown != "" {
			bad.Add(f.name, "The variable %s does not exist. The variables are: {{%s}}.", unknown,
				strings.Join(statuspage.TemplateVariables, "}}, {{"))
		}
	}
}
