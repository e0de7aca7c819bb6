package resource

import (
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/field"
)

type component = statuspage.Component

// Component describes components of pages.
var Component = field.New(field.Resource[component]{
	Noun: "component", Path: "components", OnPage: true, Unique: true, Object: kernel.ObjectComponent,
	Nested: true, Calls: []string{"list", "create", "get", "put", "edit", "delete"},
	Doc: "a part of the service that a page reports on",
	Example: component{
		ID: "comp_068vq2r4b1ccu5a0d3e1", Slug: "api", Name: "API", Description: new("The public API"),
		Baseline: kernel.StatusOperational, CreatedAt: exampleDay, UpdatedAt: exampleDay,
	},
	Fields: []*field.Field[component]{
		field.ID("id", kernel.PrefixComponent, func(c *component) *string { return &c.ID }),
		field.Slug(func(c *component) *string { return &c.Slug }).WriteOnly().
			Doc("Slug of the component, unique on the page").Empty("made from the name").
			Form("Slug", "", "website"),
		field.Line("name", func(c *component) *string { return &c.Name }).
			Required().Max(kernel.MaxNameLength).
			Doc("Name of the component").
			Form("Name", "", "Website"),
		field.OptionalText("description", func(c *component) **string { return &c.Description }).
			Max(kernel.MaxDescriptionLength).
			Doc("Text below the name").Empty("none").
			Form("Description", "", ""),
		field.ChoiceBy("status", func(c *component) kernel.Status {
			return c.Status()
		}, replaceStatus, field.Options(kernel.Statuses, kernel.Status.Label)...).
			Whole().Kept().Default(func(c *component, _ time.Time) { c.Baseline = kernel.StatusOperational }).
			Doc("Status of the component").
			Form("Status", "", ""),
		field.Integer("order", func(c *component) *int { return &c.Order }).
			Between(-statuspage.MaxOrder, statuspage.MaxOrder).Kept().Column("position").
			Doc("Position: the lowest is first").Empty("after all others").
			Form("Position", "", ""),
		field.Reference("group", func(c *component) *string { return &c.GroupID }).
			Nullable().Kept().WriteOnly().Column("group_id").
			Doc("Id or slug of the group on the same page").Empty("no group").
			Form("Group", "", "").None("none"),
		field.Bool("hidden", func(c *component) *bool { return &c.Hidden }).
			Kept().WriteOnly().
			Doc("Whether visitors and subscribers do not see it").NoFlag("shown").
			Form("Visibility",
				"Hidden from visitors and subscribers. When you show a component again, its history and its past "+
					"outages are shown, too.",
				"").Labels("hidden", "shown"),
		field.Time("created_at", func(c *component) *time.Time { return &c.CreatedAt }).ReadOnly(),
		field.Time("updated_at", func(c *component) *time.Time { return &c.UpdatedAt }).ReadOnly(),
	},
})

// replaceStatus sets the status by hand, unless it is already in effect. A request that repeats the shown status must
// not turn the status of an outage into the baseline.
func replaceStatus(c *component, status kernel.Status) {
	if status != c.Status() {
		c.SetStatus(status)
	}
}
