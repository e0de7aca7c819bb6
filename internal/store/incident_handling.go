package store

import (
	"context"
	"errors"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// TakeOverIncident leaves an automatic incident to people, so that the recovery of its monitor does not resolve it, or,
// unless taken, gives it back. It returns the incident with its updates, oldest first. It returns a
// *kernel.ValidationError if no monitor opened the incident, if it is resolved, or if it is given back although the
// monitor has recovered.
func (s *Store) TakeOverIncident(
	ctx context.Context, actor kernel.Actor, id string, taken bool, save ...SaveResponse[statuspage.Incident],
) (statuspage.Incident, error) {
	return writeAs(ctx, s, actor, func(t *tx) (statuspage.Incident, error) {
		i, err := t.lockIncident(actor, id)
		if err != nil {
			return i, err
		}
		before := i
		changed, err := i.TakeOver(taken, t.Now)
		if err != nil {
			return i, err
		}
		if changed {
			if err := t.checkOutageLasts(i, taken); err != nil {
				return i, err
			}
			if err := t.saveIncident(i); err != nil {
				return i, err
			}
			if err := t.audit(actor, kernel.AuditUpdate, before, i); err != nil {
				return i, err
			}
		}
		i.Updates, err = t.updatesOf(i.ID)
		return i, err
	}, save...)
}

// checkOutageLasts returns a *kernel.ValidationError if an incident is given back that no recovery will resolve.
func (t *tx) checkOutageLasts(i statuspage.Incident, taken bool) error {
	if taken {
		return nil
	}
	_, err := database.One(t.Session, database.ScanString, `SELECT id FROM outages WHERE id = $1 AND ended_at IS NULL`,
		i.OutageID)
	if errors.Is(err, kernel.ErrNotFound) {
		var bad kernel.ValidationError
		bad.Add("incident", "The monitor has recovered. Resolve the incident.")
		return bad.Err()
	}
	return err
}

// MergeIncident resolves an incident and adds its components to another one on its page, to which it points from then
// on. Nobody is notified. An incident that was merged into it already does not change. The error is a
// *kernel.ValidationError if the other incident does not exist, or if the two cannot be merged: see
// statuspage.Incident.CheckMerge.
func (s *Store) MergeIncident(ctx context.Context, actor kernel.Actor, id, into string) (statuspage.Incident, error) {
	return writeAs(ctx, s, actor, func(t *tx) (statuspage.Incident, error) {
		i, err := t.incidentOf(actor, id)
		if err != nil {
			return i, err
		}
		target, err := t.lockMergeTarget(actor, into, i)
		if err != nil {
			return i, err
		}
		if i, err = t.lockIncidentRow(id); err != nil || i.MergedInto == target.ID {
			return i, err
		}
		if err := i.CheckMerge(target); err != nil {
			return i, err
		}
		beforeTarget, before := target, i
		target.Affected = target.MergedAffected(i)
		if err := t.replaceAffected(beforeTarget.Affected, &target); err != nil {
			return i, err
		}
		if err := t.replaceCauses(target.ID, beforeTarget.Affected, target.Affected); err != nil {
			return i, err
		}
		if err := t.saveIncident(target); err != nil {
			return i, err
		}
		i.MergedInto = target.ID
		i.Resolve(t.Now)
		if err := t.removeCauses(i.ID, origin{}); err != nil {
			return i, err
		}
		if err := t.saveIncident(i); err != nil {
			return i, err
		}
		// Browsers that wait for the end of the incident now wait for the end of the other one.
		_, err = t.Exec(`UPDATE subscribers SET incident_id = $1 WHERE incident_id = $2`, target.ID, i.ID)
		if err != nil {
			return i, err
		}
		err = t.audit(actor, kernel.AuditUpdate, before, statuspage.IncidentAction{Incident: i, Silent: true})
		if err != nil {
			return i, err
		}
		return i,
			t.audit(actor, kernel.AuditUpdate, beforeTarget, statuspage.IncidentAction{
				Incident: target, Merged: i.Title,
			})
	})
}

// lockMergeTarget locks the incident that another one is merged into, with the components of both.
func (t *tx) lockMergeTarget(actor kernel.Actor, id string, from statuspage.Incident) (statuspage.Incident, error) {
	affected := []statuspage.Incident{from}
	if err := t.fillAffected(affected); err != nil {
		return statuspage.Incident{}, err
	}
	target, err := t.lockIncident(actor, id, affected[0].Affected...)
	if errors.Is(err, kernel.ErrNotFound) {
		var bad kernel.ValidationError
		bad.Add("incident_id", "The incident does not exist.")
		return target, bad.Err()
	}
	return target, err
}
