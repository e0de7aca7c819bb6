package store

import (
	"context"
	"errors"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store/database"
)

var incidentTemplates = collection[statuspage.IncidentTemplate]{
	table: newTable("incident_templates", resource.IncidentTemplate,
		column[statuspage.IncidentTemplate]{name: "workspace_id", at: func(t *statuspage.IncidentTemplate) any {
			return &t.WorkspaceID
		}, fixed: true},
		column[statuspage.IncidentTemplate]{name: "page_id", at: func(t *statuspage.IncidentTemplate) any {
			return &t.PageID
		}, null: true},
		column[statuspage.IncidentTemplate]{
			name: "(SELECT slug FROM pages WHERE pages.id = incident_templates.page_id)",
			at:   func(t *statuspage.IncidentTemplate) any { return &t.Page }, null: true, read: true,
		}),
	prefix: kernel.PrefixIncidentTemplate, order: `ORDER BY created_at, id`, parent: templateParent(),
	resolve: (*tx).resolveTemplatePage, allow: (*tx).allowIncidentTemplate,
}

// IncidentTemplates returns the templates of workspaces. Lists begin with the oldest, and the list of a page has the
// templates that can be used on it. Incidents that began with a template do not change if it is deleted.
func (s *Store) IncidentTemplates() Collection[statuspage.IncidentTemplate] {
	return Collection[statuspage.IncidentTemplate]{s: s, collection: incidentTemplates}
}

// templateParent is the workspace. An actor that is limited to pages sees the templates that can be used on them, and
// changes the templates that belong to them.
func templateParent() parent[statuspage.IncidentTemplate] {
	return parent[statuspage.IncidentTemplate]{
		uniqueNames: true,
		list: func(_ context.Context, _ *Store, actor kernel.Actor, page string) (string, []any, error) {
			access := accessOf(actor)
			from, args := `FROM incident_templates WHERE `+access.templates(1), []any{access.arg}
			if page != "" {
				from, args = withCondition(from, args,
					`(page_id IS NULL OR page_id IN (SELECT id FROM pages WHERE slug = $%d))`, page)
			}
			return from, args, nil
		},
		find: func(actor kernel.Actor, _, ref string) (string, []any, error) {
			r := accessOf(actor)
			return `WHERE ` + r.templates(1) + ` AND ` + refersTo(ref, kernel.PrefixIncidentTemplate, 2),
				[]any{r.arg, ref}, nil
		},
		begin: func(_ *tx, actor kernel.Actor, _ string, v *statuspage.IncidentTemplate) error {
			v.WorkspaceID = actor.WorkspaceID
			return rights.TemplateChange.CheckLimit(actor)
		},
		lock: func(t *tx, actor kernel.Actor, _ *statuspage.IncidentTemplate, id string) error {
			r := accessOf(actor)
			_, err := database.One(t.Session, database.ScanString,
				`SELECT id FROM incident_templates WHERE id = $1 AND `+r.objects(2)+` FOR UPDATE`, id, r.arg)
			return err
		},
		siblings: func(v *statuspage.IncidentTemplate) (string, []any) {
			return `FROM incident_templates WHERE workspace_id = $1`, []any{v.WorkspaceID}
		},
	}
}

// resolveTemplatePage finds the page of a template.
func (t *tx) resolveTemplatePage(actor kernel.Actor, _, v *statuspage.IncidentTemplate) error {
	if v.Page == "" {
		v.PageID = ""
		return nil
	}
	p, err := t.pageBySlug(actor, v.Page)
	if errors.Is(err, kernel.ErrNotFound) {
		var bad kernel.ValidationError
		bad.Add("page", "does not exist")
		return bad.Err()
	}
	v.PageID = p.ID
	return err
}

// allowIncidentTemplate limits how many templates a workspace has, and who changes the templates of all pages.
func (t *tx) allowIncidentTemplate(actor kernel.Actor, before, after *statuspage.IncidentTemplate) error {
	if after.Page == "" {
		if err := rights.SharedTemplateChange.CheckLimit(actor); err != nil {
			return err
		}
	}
	if before != nil {
		return nil
	}
	return t.checkCount("incident_templates", actor.WorkspaceID, "templates", statuspage.MaxIncidentTemplates)
}

// BeginIncident returns a new incident of a page, and its first update, with what is not given from a template, by id,
// slug or name. The error is a *kernel.ValidationError if the page has no such template.
func (s *Store) BeginIncident(
	ctx context.Context, actor kernel.Actor, slug, template string, i statuspage.Incident,
	first statuspage.IncidentUpdate,
) (statuspage.Incident, statuspage.IncidentUpdate, error) {
	values := statuspage.TemplateValues{}
	v, err := read(ctx, s, func(c *session) (v statuspage.IncidentTemplate, err error) {
		p, err := c.pageBySlug(actor, slug)
		if err != nil {
			return v, err
		}
		v, err = incidentTemplates.one(c, actor, "", template)
		if errors.Is(err, kernel.ErrNotFound) || err == nil && v.PageID != "" && v.PageID != p.ID {
			var bad kernel.ValidationError
			bad.Add("template", "does not exist on this page")
			return v, bad.Err()
		}
		if err != nil {
			return v, err
		}
		refs := make([]string, len(i.Affected))
		for n, a := range i.Affected {
			refs[n] = a.ComponentID
		}
		names, err := database.Query(c.Session, database.ScanString,
			`SELECT name FROM components WHERE page_id = $1 AND NOT hidden AND (id IN EACH($2) OR slug IN EACH($2))
			ORDER BY position, created_at, id`, p.ID, list(refs))
		if err != nil {
			return v, err
		}
		now, err := c.ReadClock()
		values = statuspage.TemplateValues{Page: p.Name, Components: names, At: now.In(p.Location())}
		return v, err
	})
	if err == nil {
		v.Begin(&i, &first, values)
	}
	return i, first, err
}
