package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/database"
)

const updateColumns = `id, incident_id, number, message, state, affected, system_message, created_at, edited_at, silent`

// truncatedUpdateColumns are updateColumns of an update that takes little memory.
var truncatedUpdateColumns = fmt.Sprintf(`id, incident_id, number, substr(message, 1, %d), state, NULL, system_message, created_at, edited_at, silent`, truncatedLength)

func scanUpdate(row database.Row) (u allswell.IncidentUpdate, err error) {
	err = row.Scan(&u.ID, &u.IncidentID, &u.Number, &u.Message, &u.State, listOf[allswell.AffectedChange]{&u.Affected}, systemMessage{&u.System}, instant{&u.CreatedAt},
		instant{&u.EditedAt}, &u.Silent)
	return
}

// Update returns an update of a workspace's incident.
func (s *Store) Update(ctx context.Context, actor allswell.Actor, incidentID, id string) (allswell.IncidentUpdate, error) {
	return read(ctx, s, func(c *session) (allswell.IncidentUpdate, error) {
		if _, err := c.incidentOf(actor, incidentID); err != nil {
			return allswell.IncidentUpdate{}, err
		}
		return c.updateOf(incidentID, id)
	})
}

func (c *session) updateOf(incidentID, id string) (allswell.IncidentUpdate, error) {
	return database.One(c.Session, scanUpdate, `SELECT `+updateColumns+` FROM incident_updates WHERE id = $1 AND incident_id = $2`, id, incidentID)
}

// EditUpdate replaces the text of an update. Subscribers are not notified; messages that are not sent yet get the new
// text. It returns allswell.ErrPreconditionFailed if the update does not meet the precondition.
func (s *Store) EditUpdate(
	ctx context.Context, actor allswell.Actor, incidentID, id, message string, p allswell.Precondition,
) (allswell.IncidentUpdate, error) {
	if err := allswell.CheckMessage(message); err != nil {
		return allswell.IncidentUpdate{}, err
	}
	return writeAs(ctx, s, actor, func(t *tx) (allswell.IncidentUpdate, error) {
		i, u, err := t.lockUpdate(actor, incidentID, id, p)
		if err != nil {
			return u, err
		}
		before := u
		u.Edit(message, t.Now)
		if u.Message == before.Message {
			return u, nil
		}
		if _, err := t.Exec(`UPDATE incident_updates SET message = $2, system_message = NULL, edited_at = $3 WHERE id = $1`, u.ID, u.Message, millis(u.EditedAt)); err != nil {
			return u, err
		}
		if err := t.replaceUpdateText(i, u.ID, u.Message); err != nil {
			return u, err
		}
		return u, t.audit(actor, allswell.AuditUpdate, before, u)
	})
}

// DeleteUpdate deletes an update with its text, which stays in the audit log alone. Subscribers are not notified;
// messages that are not sent yet are sent without it.
func (s *Store) DeleteUpdate(ctx context.Context, actor allswell.Actor, incidentID, id string, p allswell.Precondition) error {
	return writeOnlyAs(ctx, s, actor, func(t *tx) error {
		i, u, err := t.lockUpdate(actor, incidentID, id, p)
		if err != nil {
			return err
		}
		if _, err := t.Exec(`DELETE FROM incident_updates WHERE id = $1`, u.ID); err != nil {
			return err
		}
		// The numbers stay without gaps. They are unique at any moment, hence two steps.
		if _, err := t.Exec(`UPDATE incident_updates SET number = 1 - number WHERE incident_id = $1 AND number > $2`, i.ID, u.Number); err != nil {
			return err
		}
		if _, err := t.Exec(`UPDATE incident_updates SET number = -number WHERE incident_id = $1 AND number < 0`, i.ID); err != nil {
			return err
		}
		if err := t.replaceUpdateText(i, u.ID, ""); err != nil {
			return err
		}
		return t.audit(actor, allswell.AuditDelete, u, nil)
	})
}

// lockUpdate locks an incident and loads one of its updates.
func (t *tx) lockUpdate(
	actor allswell.Actor, incidentID, id string, p allswell.Precondition,
) (i allswell.Incident, u allswell.IncidentUpdate, err error) {
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
func (t *tx) replaceUpdateText(i allswell.Incident, updateID, message string) error {
	i.UpdatedAt = allswell.Later(t.Now, i.UpdatedAt)
	if err := t.saveIncident(i); err != nil {
		return err
	}
	events, err := database.Query(t.Session, scanEvent, `SELECT `+eventColumns+` FROM events WHERE incident_id = $1 AND update_id = $2`, i.ID, updateID)
	for _, e := range events {
		if err != nil {
			return err
		}
		e.Data.Message, e.Data.System = message, allswell.SystemMessage{}
		if message == "" {
			updateID = ""
		}
		var data []byte
		if data, err = json.Marshal(e.Data); err == nil {
			_, err = t.Exec(`UPDATE events SET data = $2, update_id = $3 WHERE id = $1`, e.ID, string(data), nullIfEmpty(updateID))
		}
	}
	return err
}

func (t *tx) saveUpdate(u allswell.IncidentUpdate) error {
	_, err := t.Exec(`INSERT INTO incident_updates (`+updateColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		u.ID, u.IncidentID, u.Number, u.Message, string(u.State), listText(u.Affected), systemMessageText(u.System), millis(u.CreatedAt), millis(u.EditedAt), u.Silent)
	return err
}
