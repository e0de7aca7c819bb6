package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

var incidentUpdates = tableOf("incident_updates", func(u statuspage.IncidentUpdate) string { return u.ID },
	[]column[statuspage.IncidentUpdate]{
		{name: "id", at: func(u *statuspage.IncidentUpdate) any { return &u.ID }, fixed: true},
		{name: "incident_id", at: func(u *statuspage.IncidentUpdate) any { return &u.IncidentID }, fixed: true},
		{name: "number", at: func(u *statuspage.IncidentUpdate) any { return &u.Number }, fixed: true},
		{name: "message", at: func(u *statuspage.IncidentUpdate) any { return &u.Message }},
		{name: "state", at: func(u *statuspage.IncidentUpdate) any { return &u.State }, fixed: true},
		{name: "affected", at: func(u *statuspage.IncidentUpdate) any {
			return listOf[statuspage.AffectedChange]{&u.Affected}
		}, fixed: true},
		{name: "system_message", at: func(u *statuspage.IncidentUpdate) any { return systemMessage{&u.System} }},
		{name: "created_at", at: func(u *statuspage.IncidentUpdate) any { return &u.CreatedAt }, fixed: true},
		{name: "edited_at", at: func(u *statuspage.IncidentUpdate) any { return &u.EditedAt }},
		{name: "silent", at: func(u *statuspage.IncidentUpdate) any { return &u.Silent }},
	})

// truncatedUpdateColumns are the columns of an update that takes little memory.
var truncatedUpdateColumns = strings.NewReplacer(" message,", fmt.Sprintf(" substr(message, 1, %d),", truncatedLength),
	" affected,", " NULL,").
	Replace(incidentUpdates.selected)

// updatesOf loads the updates of an incident, oldest first.
func (c *session) updatesOf(incidentID string) ([]statuspage.IncidentUpdate, error) {
	return database.Query(c.Session, incidentUpdates.scan,
		`SELECT `+incidentUpdates.selected+` FROM incident_updates WHERE incident_id = $1 ORDER BY number`, incidentID)
}

// Update returns an update of a workspace's incident.
func (s *Store) Update(
	ctx context.Context, actor kernel.Actor, incidentID, id string,
) (statuspage.IncidentUpdate, error) {
	return read(ctx, s, func(c *session) (statuspage.IncidentUpdate, error) {
		if _, err := c.incidentOf(actor, incidentID); err != nil {
			return statuspage.IncidentUpdate{}, err
		}
		return c.updateOf(incidentID, id)
	})
}

func (c *session) updateOf(incidentID, id string) (statuspage.IncidentUpdate, error) {
	return database.One(c.Session, incidentUpdates.scan,
		`SELECT `+incidentUpdates.selected+` FROM incident_updates WHERE id = $1 AND incident_id = $2`, id, incidentID)
}

// EditUpdate replaces the text of an update. Subscribers are not notified; messages that are not sent yet get the new
// text. It returns kernel.ErrPreconditionFailed if the update does not meet the precondition.
func (s *Store) EditUpdate(
	ctx context.Context, actor kernel.Actor, incidentID, id, message string, p kernel.Precondition,
) (statuspage.IncidentUpdate, error) {
	if err := statuspage.CheckMessage(message); err != nil {
		return statuspage.IncidentUpdate{}, err
	}
	return writeAs(ctx, s, actor, func(t *tx) (statuspage.IncidentUpdate, error) {
		i, u, err := t.lockUpdate(actor, incidentID, id, p)
		if err != nil {
			return u, err
		}
		before := u
		u.Edit(message, t.Now)
		if u.Message == before.Message {
			return u, nil
		}
		if err := incidentUpdates.update(t, &u); err != nil {
			return u, err
		}
		if err := t.replaceUpdateText(i, u.ID, u.Message); err != nil {
			return u, err
		}
		return u, t.audit(actor, kernel.AuditUpdate, before, u)
	})
}

// DeleteUpdate deletes an update with its text, which stays in the audit log alone. Subscribers are not notified;
// messages that are not sent yet are sent without it.
func (s *Store) DeleteUpdate(
	ctx context.Context, actor kernel.Actor, incidentID, id string, p kernel.Precondition,
) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error {
		i, u, err := t.lockUpdate(actor, incidentID, id, p)
		if err != nil {
			return err
		}
		if _, err := t.Exec(`DELETE FROM incident_updates WHERE id = $1`, u.ID); err != nil {
			return err
		}
		// The numbers stay without gaps. They are unique at any moment, hence two steps.
		_, err = t.Exec(`UPDATE incident_updates SET number = 1 - number WHERE incident_id = $1 AND number > $2`,
			i.ID, u.Number)
		if err != nil {
			return err
		}
		_, err = t.Exec(`UPDATE incident_updates SET number = -number WHERE incident_id = $1 AND number < 0`, i.ID)
		if err != nil {
			return err
		}
		if err := t.replaceUpdateText(i, u.ID, ""); err != nil {
			return err
		}
		return t.audit(actor, kernel.AuditDelete, u, nil)
	})
}

// lockUpdate locks an incident and loads one of its updates.
func (t *tx) lockUpdate(
	actor kernel.Actor, incidentID, id string, p kernel.Precondition,
) (i statuspage.Incident, u statuspage.IncidentUpdate, err error) {
	if i, err = t.lockIncident(actor, incidentID); err != nil {
		return i, u, err
	}
	if u, err = t.updateOf(i.ID, id); err != nil {
		return i, u, err
	}
	return i, u, p.Check(u)
}

// replaceUpdateText replaces the text of an update in the events of its incident, and notes that the incident has
// changed. With an empty text the events have no update.
func (t *tx) replaceUpdateText(i statuspage.Incident, updateID, message string) error {
	i.UpdatedAt = kernel.Later(t.Now, i.UpdatedAt)
	if err := t.saveIncident(i); err != nil {
		return err
	}
	events, err := database.Query(t.Session, scanEvent,
		`SELECT `+eventColumns+` FROM events WHERE incident_id = $1 AND update_id = $2`, i.ID, updateID)
	for _, e := range events {
		if err != nil {
			return err
		}
		e.Data.Message, e.Data.System = message, statuspage.SystemMessage{}
		if message == "" {
			updateID = ""
		}
		var data []byte
		if data, err = json.Marshal(e.Data); err == nil {
			_, err = t.Exec(`UPDATE events SET data = $2, update_id = $3 WHERE id = $1`, e.ID, string(data),
				nullIfEmpty(updateID))
		}
	}
	return err
}

// newestUpdate loads the newest update of an incident; nil: it has none.
func (t *tx) newestUpdate(incidentID string) (*statuspage.IncidentUpdate, error) {
	newest, err := database.Query(t.Session, incidentUpdates.scan,
		`SELECT `+incidentUpdates.selected+` FROM incident_updates WHERE incident_id = $1 ORDER BY number DESC LIMIT 1`,
		incidentID)
	if err != nil || len(newest) == 0 {
		return nil, err
	}
	return &newest[0], nil
}

// newUpdate is an update that is to be added.
type newUpdate struct {
	message string
	system  statuspage.SystemMessage // the form of the message; zero: a person wrote it
	silent  bool                     // nobody is notified
	at      time.Time                // of what it reports; zero: now
	state   statuspage.IncidentState // the state of the incident at that time; "": its state now
}

// addUpdate appends to the timeline of a locked incident and saves both.
func (t *tx) addUpdate(i *statuspage.Incident, n newUpdate) (statuspage.IncidentUpdate, error) {
	before, err := t.newestUpdate(i.ID)
	if err == nil && before != nil && n.system.Kind == "" {
		err = kernel.CheckUpdates(before.Number)
	}
	if err == nil && before != nil { // a component that is no longer affected can be hidden since
		var hidden map[string]bool
		hidden, err = t.hiddenComponents(i.PageID)
		before.Affected = withoutHiddenChanges(before.Affected, hidden)
	}
	if err != nil {
		return statuspage.IncidentUpdate{}, err
	}
	u := i.AddUpdate(kernel.NewID(kernel.PrefixUpdate, t.Now), n.message, before, t.Now)
	u.System, u.Silent = n.system, n.silent
	if !n.at.IsZero() {
		u.CreatedAt = n.at
	}
	if n.state != "" {
		u.State, u.Affected = n.state, nil
		if before != nil {
			for _, a := range before.Affected {
				a.Old = a.New // an update from the past changes no status
				u.Affected = append(u.Affected, a)
			}
		}
	}
	i.Updates[len(i.Updates)-1] = u
	if err := incidentUpdates.insert(t, &u); err != nil {
		return u, err
	}
	return u, t.saveIncident(*i)
}
