package store

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

const postmortemColumns = `incident_id, body, published_at, edited_at, notified, created_at, updated_at`

func scanPostmortem(row database.Row) (p statuspage.Postmortem, err error) {
	err = row.Scan(&p.IncidentID, &p.Body, instant{&p.PublishedAt}, instant{&p.EditedAt}, &p.Notified,
		instant{&p.CreatedAt}, instant{&p.UpdatedAt})
	p.Published = !p.PublishedAt.IsZero()
	return
}

// Postmortem returns the post-mortem of a workspace's incident, or kernel.ErrNotFound.
func (s *Store) Postmortem(ctx context.Context, actor kernel.Actor, incidentID string) (statuspage.Postmortem, error) {
	return read(ctx, s, func(c *session) (statuspage.Postmortem, error) {
		if _, err := c.incidentOf(actor, incidentID); err != nil {
			return statuspage.Postmortem{}, err
		}
		return c.postmortem(incidentID)
	})
}

func (c *session) postmortem(incidentID string) (statuspage.Postmortem, error) {
	return database.One(c.Session, scanPostmortem,
		`SELECT `+postmortemColumns+` FROM postmortems WHERE incident_id = $1`, incidentID)
}

// PutPostmortem creates or changes the post-mortem of an incident, and reports whether it was created. The first
// publication of any post-mortem of the incident emits an event, unless it is silent; nothing else notifies
// subscribers. It returns kernel.ErrPreconditionFailed if the post-mortem does not meet the precondition.
func (s *Store) PutPostmortem(
	ctx context.Context, actor kernel.Actor, incidentID string, change statuspage.PostmortemChange, silent bool,
	cond kernel.Precondition,
) (statuspage.Postmortem, bool, error) {
	done, err := writeAs(ctx, s, actor, func(t *tx) (done put[statuspage.Postmortem], err error) {
		i, before, err := t.lockPostmortem(actor, incidentID, cond)
		if err != nil {
			return done, err
		}
		done.object = statuspage.Postmortem{IncidentID: i.ID, CreatedAt: t.Now}
		if before != nil {
			done.object = *before
		}
		done.created = before == nil
		if err := done.object.Change(change, i, t.Now); err != nil {
			return done, err
		}
		return done, t.savePostmortem(actor, i, before, &done.object, silent)
	})
	return done.object, done.created, err
}

// lockPostmortem locks an incident and loads its post-mortem; nil: it has none.
func (t *tx) lockPostmortem(
	actor kernel.Actor, incidentID string, cond kernel.Precondition,
) (i statuspage.Incident, p *statuspage.Postmortem, err error) {
	if i, err = t.lockIncident(actor, incidentID); err != nil {
		return i, nil, err
	}
	found, err := t.postmortem(i.ID)
	if errors.Is(err, kernel.ErrNotFound) {
		return i, nil, cond.Check(nil)
	}
	if err != nil {
		return i, nil, err
	}
	return i, &found, cond.Check(found)
}

// savePostmortem saves a post-mortem that was changed from before; nil: it is new.
func (t *tx) savePostmortem(
	actor kernel.Actor, i statuspage.Incident, before, p *statuspage.Postmortem, silent bool,
) error {
	action := kernel.AuditUpdate
	if before == nil {
		action, before = kernel.AuditCreate, &statuspage.Postmortem{}
	} else if before.UpdatedAt.Equal(p.UpdatedAt) {
		return nil
	}
	if p.Published && !before.Published {
		if err := t.announcePostmortem(i, p, silent); err != nil {
			return err
		}
	}
	_, err := t.Exec(`INSERT INTO postmortems (`+postmortemColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (incident_id) DO UPDATE SET body = excluded.body, published_at = excluded.published_at,
		edited_at = excluded.edited_at,
			notified = excluded.notified, updated_at = excluded.updated_at`,
		p.IncidentID, p.Body, millis(p.PublishedAt), millis(p.EditedAt), p.Notified, millis(p.CreatedAt),
		millis(p.UpdatedAt))
	if err != nil {
		return err
	}
	if before.Published || p.Published {
		body := ""
		if p.Published {
			body = p.Body
		}
		if err := t.postmortemShown(i, body); err != nil {
			return err
		}
	}
	if action == kernel.AuditCreate {
		return t.audit(actor, action, nil, *p)
	}
	return t.audit(actor, action, *before, *p)
}

// announcePostmortem emits the event of the first publication for an incident.
func (t *tx) announcePostmortem(i statuspage.Incident, p *statuspage.Postmortem, silent bool) error {
	first, err := t.Exec(`UPDATE incidents SET postmortem_announced = TRUE WHERE id = $1 AND NOT postmortem_announced`,
		i.ID)
	if err != nil || first == 0 || silent {
		return err
	}
	p.Notified = true
	return t.emit(audience.NewPostmortemEvent(i, *p))
}

// postmortemShown notes that what visitors see of an incident has changed. Messages that are not sent yet get the new
// text; with an empty one, they have only the link to the incident.
func (t *tx) postmortemShown(i statuspage.Incident, body string) error {
	i.UpdatedAt = kernel.Later(t.Now, i.UpdatedAt)
	if err := t.saveIncident(i); err != nil {
		return err
	}
	if err := t.bumpVersion(i.PageID); err != nil {
		return err
	}
	events, err := database.Query(t.Session, scanEvent,
		`SELECT `+eventColumns+` FROM events WHERE incident_id = $1 AND kind = $2`,
		i.ID, string(statuspage.EventIncidentPostmortem))
	if err != nil {
		return err
	}
	for _, e := range events {
		e.Data.Message = body
		data, err := json.Marshal(e.Data)
		if err != nil {
			return err
		}
		if _, err := t.Exec(`UPDATE events SET data = $2 WHERE id = $1`, e.ID, string(data)); err != nil {
			return err
		}
	}
	return nil
}

// DeletePostmortem deletes the post-mortem of an incident. Its text stays in the audit log alone. Nobody is notified.
func (s *Store) DeletePostmortem(
	ctx context.Context, actor kernel.Actor, incidentID string, cond kernel.Precondition,
) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error {
		i, p, err := t.lockPostmortem(actor, incidentID, cond)
		if err != nil {
			return err
		}
		if p == nil {
			return kernel.ErrNotFound
		}
		if _, err := t.Exec(`DELETE FROM postmortems WHERE incident_id = $1`, i.ID); err != nil {
			return err
		}
		if p.Published {
			if err := t.postmortemShown(i, ""); err != nil {
				return err
			}
		}
		return t.audit(actor, kernel.AuditDelete, *p, nil)
	})
}

// postmortemBytes is the maximum size in memory of the post-mortems of one list of incidents.
const postmortemBytes = 1 << 20

// fillPostmortems loads the published post-mortems of resolved incidents. The post-mortems of the first incidents have
// their text, of at most room bytes together.
func (c *session) fillPostmortems(incidents []statuspage.Incident, room int) error {
	index, ids := make(map[string]int, len(incidents)), make([]string, 0, len(incidents))
	for n, i := range incidents {
		if i.Resolved {
			index[i.ID], ids = n, append(ids, i.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	type row struct {
		statuspage.Postmortem
		size int
	}
	found, err := database.Query(c.Session, func(sc database.Row) (r row, err error) {
		err = sc.Scan(&r.IncidentID, &r.size, instant{&r.PublishedAt}, instant{&r.EditedAt})
		r.Published = true
		return
	}, `SELECT incident_id, octet_length(body), published_at, edited_at FROM postmortems
		WHERE incident_id IN EACH($1) AND published_at IS NOT NULL`, list(ids))
	if err != nil {
		return err
	}
	sizes := make(map[string]int, len(found))
	for _, r := range found {
		r.Omitted = true
		sizes[r.IncidentID], incidents[index[r.IncidentID]].Postmortem = r.size, &r.Postmortem
	}
	var whole []string
	for _, id := range ids {
		if size, ok := sizes[id]; ok && size <= room {
			room, whole = room-size, append(whole, id)
		}
	}
	if len(whole) == 0 {
		return nil
	}
	texts, err := database.Query(c.Session, scanPostmortem,
		`SELECT `+postmortemColumns+` FROM postmortems WHERE incident_id IN EACH($1)`, list(whole))
	for _, p := range texts {
		incidents[index[p.IncidentID]].Postmortem = &p
	}
	return err
}
