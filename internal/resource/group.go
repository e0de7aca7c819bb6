package resource

import (
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/field"
)

type group = statuspage.Group

// Group describes groups of components.
var Group = field.New(field.Resource[group]{
	Noun: "group", Path: "groups", OnPage: true, Unique: true, Object: kernel.ObjectGroup,
	Doc: "a heading over components of a page",
	Example: group{
		ID: "grp_068vq2r4b1ccu5a0d3e1", Slug: "storage", Name: "Storage", Order: 1, CreatedAt: exampleDay,
		UpdatedAt: exampleDay,
	},
	Fields: []*field.Field[group]{
		field.ID("id", kernel.PrefixGroup, func(g *group) *string { return &g.ID }),
		field.Slug(func(g *group) *string { return &g.Slug }).
			Doc("Slug of the group, unique on the page").Empty("made from the name").
			Form("Slug", "", "storage"),
		field.Line("name", func(g *group) *string { return &g.Name }).
			Required().Max(kernel.MaxNameLength).
			Doc("Name of the group").
			Form("Name", "", "Storage"),
		field.Integer("order", func(g *group) *int { return &g.Order }).
			Between(-statuspage.MaxOrder, statuspage.MaxOrder).Kept().Column("position").
			Doc("Position: the lowest is first").Empty("after all others").
			Form("Position", "", ""),
		field.Time("created_at", func(g *group) *time.Time { return &g.CreatedAt }).ReadOnly(),
		field.Time("updated_at", func(g *group) *time.Time { return &g.UpdatedAt }).ReadOnly(),
	},
})
