package store

import (
	"context"
	"errors"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/database"
	"github.com/allswell/allswell/internal/rights"
)

const incidentTemplateColumns = `id, page_id, (SELECT slug FROM pages WHERE pages.id = incident_templates.page_id), name, title, impact, state, message, created_at, updated_at`

func scanIncidentTemplate(row database.Row) (t allswell.IncidentTemplate, err error) {
	err = row.Scan(&t.ID, text{&t.PageID}, text{&t.Page}, &t.Name, &t.Title, &t.Impact, &t.State, &t.Message, instant{&t.CreatedAt}, instant{&t.UpdatedAt})
	return
}

// IncidentTemplates lists the templates of a workspace, the oldest first. If page is the slug of a page, it lists those
// that can be used on it.
func (s *Store) IncidentTemplates(
	ctx context.Context, actor allswell.Actor, page string, r Pagination,
) ([]allswell.IncidentTemplate, int, error) {
	reach := reachOf(actor)
	from, args := `FROM incident_templates WHERE `+reach.templates(1), []any{reach.arg}
	if page != "" {
		from, args = withCondition(from, args, `(page_id IS NULL OR page_id IN (SELECT id FROM pages WHERE slug = $%d))`, page)
	}
	return listQuery[allswell.IncidentTemplate]{
		scan: scanIncidentTemplate, columns: incidentTemplateColumns,
		from: from, args: args, order: `ORDER BY created_at, id`,
	}.load(ctx, s, r)
}

// IncidentTemplate returns a template of a workspace, given its id or name.
func (s *Store) IncidentTemplate(ctx context.Context, actor allswell.Actor, ref string) (allswell.IncidentTemplate, error) {
	return read(ctx, s, func(c *session) (allswell.IncidentTemplate, error) { return c.incidentTemplate(actor, ref) })
}

func (c *session) incidentTemplate(actor allswell.Actor, ref string) (allswell.IncidentTemplate, error) {
	r := reachOf(actor)
	return database.One(c.Session, scanIncidentTemplate, `SELECT `+incidentTemplateColumns+` FROM incident_templates WHERE `+r.templates(1)+` AND `+idOrName(ref, allswell.PrefixIncidentTemplate)+` = $2`, r.arg, ref)
}

// CreateIncidentTemplate creates a template.
func (s *Store) CreateIncidentTemplate(
	ctx context.Context, actor allswell.Actor, ch allswell.IncidentTemplateChange,
	save ...SaveResponse[allswell.IncidentTemplate],
) (allswell.IncidentTemplate, error) {
	v, err := writeAs(ctx, s, actor, func(t *tx) (allswell.IncidentTemplate, error) {
		v := allswell.IncidentTemplate{
			ID: allswell.NewID(allswell.PrefixIncidentTemplate, t.Now), CreatedAt: t.Now, UpdatedAt: t.Now,
		}
		if err := t.applyIncidentTemplate(actor, &v, ch); err != nil {
			return v, err
		}
		err := t.checkCount("incident_templates", actor.WorkspaceID, "templates", allswell.MaxIncidentTemplates)
		if err == nil {
			_, err = t.Exec(`INSERT INTO incident_templates (id, workspace_id, page_id, name, title, impact, state, message, created_at, updated_at)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
				v.ID, actor.WorkspaceID, nullIfEmpty(v.PageID), v.Name, v.Title, string(v.Impact), string(v.State), v.Message, millis(v.CreatedAt), millis(v.UpdatedAt))
		}
		if err == nil {
			err = t.audit(actor, allswell.AuditCreate, nil, v)
		}
		return v, err
	}, save...)
	return v, s.nameTaken(err, "template")
}

// ChangeIncidentTemplate changes a template, given its id. If it does not meet all conditions, the error is
// allswell.ErrPreconditionFailed.
func (s *Store) ChangeIncidentTemplate(
	ctx context.Context, actor allswell.Actor, id string, ch allswell.IncidentTemplateChange, p allswell.Precondition,
) (allswell.IncidentTemplate, error) {
	v, err := writeAs(ctx, s, actor, func(t *tx) (allswell.IncidentTemplate, error) {
		v, err := t.lockIncidentTemplate(actor, id, p)
		if err != nil {
			return v, err
		}
		before := v
		if err := t.applyIncidentTemplate(actor, &v, ch); err != nil {
			return v, err
		}
		_, err = t.Exec(`UPDATE incident_templates SET page_id = $2, name = $3, title = $4, impact = $5, state = $6, message = $7, updated_at = $8 WHERE id = $1`,
			v.ID, nullIfEmpty(v.PageID), v.Name, v.Title, string(v.Impact), string(v.State), v.Message, millis(v.UpdatedAt))
		if err == nil {
			err = t.audit(actor, allswell.AuditUpdate, before, v)
		}
		return v, err
	})
	return v, s.nameTaken(err, "template")
}

// DeleteIncidentTemplate deletes a template, given its id. Incidents that began with it stay as they are.
func (s *Store) DeleteIncidentTemplate(ctx context.Context, actor allswell.Actor, id string, p allswell.Precondition) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error {
		v, err := t.lockIncidentTemplate(actor, id, p)
		if err != nil {
			return err
		}
		if _, err := t.Exec(`DELETE FROM incident_templates WHERE id = $1`, v.ID); err != nil {
			return err
		}
		return t.audit(actor, allswell.AuditDelete, v, nil)
	})
}

// lockIncidentTemplate loads and locks a template.
func (t *tx) lockIncidentTemplate(actor allswell.Actor, id string, p allswell.Precondition) (allswell.IncidentTemplate, error) {
	r := reachOf(actor)
	if _, err := database.One(t.Session, database.ScanString, `SELECT id FROM incident_templates WHERE id = $1 AND `+r.objects(2)+` FOR UPDATE`, id, r.arg); err != nil {
		return allswell.IncidentTemplate{}, err
	}
	v, err := t.incidentTemplate(actor, id)
	if err != nil {
		return v, err
	}
	return v, p.Check(v)
}

// applyIncidentTemplate changes a template and finds its page. It returns a *allswell.ValidationError with every invalid
// field.
func (t *tx) applyIncidentTemplate(actor allswell.Actor, v *allswell.IncidentTemplate, ch allswell.IncidentTemplateChange) error {
	v.Apply(ch, t.Now)
	if ch.Page != nil {
		v.PageID, v.Page = "", ""
	}
	err := v.Validate()
	if ch.Page == nil || *ch.Page == "" {
		if err == nil && v.PageID == "" {
			err = rights.SharedTemplateChange.CheckLimit(actor)
		}
		return err
	}
	p, pageErr := t.pageBySlug(actor, *ch.Page)
	if errors.Is(pageErr, allswell.ErrNotFound) {
		var bad *allswell.ValidationError
		if !errors.As(err, &bad) {
			bad = new(allswell.ValidationError)
		}
		bad.Add("page", "does not exist")
		return bad.Err()
	}
	v.PageID, v.Page = p.ID, p.Slug
	return errors.Join(err, pageErr)
}

// beginFromTemplate fills a new incident of a page from the template that it names.
func (s *Store) beginFromTemplate(
	ctx context.Context, actor allswell.Actor, slug string, n allswell.NewIncident,
) (allswell.NewIncident, error) {
	return read(ctx, s, func(c *session) (allswell.NewIncident, error) {
		p, err := c.pageBySlug(actor, slug)
		if err != nil {
			return n, err
		}
		v, err := c.incidentTemplate(actor, n.Template)
		if errors.Is(err, allswell.ErrNotFound) || err == nil && v.PageID != "" && v.PageID != p.ID {
			var bad allswell.ValidationError
			bad.Add("template", "does not exist on this page")
			return n, bad.Err()
		}
		if err != nil {
			return n, err
		}
		refs := make([]string, len(n.Affected))
		for i, a := range n.Affected {
			refs[i] = a.ComponentID
		}
		names, err := database.Query(c.Session, database.ScanString, `SELECT name FROM components WHERE page_id = $1 AND NOT hidden AND (id IN EACH($2) OR slug IN EACH($2))
			ORDER BY position, created_at, id`, p.ID, list(refs))
		if err != nil {
			return n, err
		}
		now, err := c.ReadClock()
		return v.Begin(n, allswell.TemplateValues{Page: p.Name, Components: names, At: now.In(p.Location())}), err
	})
}
