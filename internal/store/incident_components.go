package store

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// IncidentComponents returns the affected components of a workspace's incident, in their order on the page.
func (s *Store) IncidentComponents(
	ctx context.Context, actor kernel.Actor, id string,
) ([]statuspage.AffectedComponent, error) {
	return read(ctx, s, func(c *session) ([]statuspage.AffectedComponent, error) {
		i, err := c.incidentOf(actor, id)
		if err != nil {
			return nil, err
		}
		all := []statuspage.Incident{i}
		err = c.fillAffected(all)
		return all[0].Affected, err
	})
}

// SetIncidentComponents changes the affected components of an incident and their statuses. While the incident is not
// resolved, the components get these statuses immediately. A cause that a person has acknowledged stays acknowledged if
// its status is the same.
func (s *Store) SetIncidentComponents(
	ctx context.Context, actor kernel.Actor, id string, change statuspage.IncidentChange,
) ([]statuspage.AffectedComponent, error) {
	return writeAs(ctx, s, actor, func(t *tx) ([]statuspage.AffectedComponent, error) {
		i, _, err := t.changeIncident(actor, id, incidentRequest{change: change})
		if err != nil {
			return nil, err
		}
		all := []statuspage.Incident{{ID: i.ID}}
		err = t.fillAffected(all)
		return all[0].Affected, err
	})
}

// replaceAffected saves other affected components of a locked incident, which are locked, too.
func (t *tx) replaceAffected(before []statuspage.AffectedComponent, i *statuspage.Incident) error {
	if i.OutageID != "" {
		if err := t.fillOutage(*i); err != nil {
			return err
		}
	}
	if _, err := t.Exec(`DELETE FROM incident_components WHERE incident_id = $1`, i.ID); err != nil {
		return err
	}
	if !maps.Equal(statusesOf(before), statusesOf(i.Affected)) {
		i.UpdatedAt = kernel.Later(t.Now, i.UpdatedAt)
	}
	i.DeriveImpact(t.Now)
	return t.saveAffected(*i)
}

// replaceCauses replaces the causes of a source, given in before, by the causes in after. Each component goes from the
// old status to the new one in one step.
func (t *tx) replaceCauses(source string, before, after []statuspage.AffectedComponent) error {
	old, now := statusesOf(before), statusesOf(after)
	ids := slices.Compact(slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Keys(old)),
		slices.Collect(maps.Keys(now))))))
	for _, id := range ids {
		if old[id] == now[id] {
			continue
		}
		if err := t.changeComponentCauses(id, origin{}, func(c *statuspage.Component) error {
			if err := t.deleteCause(c, source); err != nil || now[id] == "" {
				return err
			}
			return t.insertCause(c, source, now[id])
		}); err != nil {
			return err
		}
	}
	return nil
}

func statusesOf(affected []statuspage.AffectedComponent) map[string]kernel.Status {
	out := make(map[string]kernel.Status, len(affected))
	for _, a := range affected {
		out[a.ComponentID] = a.Status
	}
	return out
}

// resolveAffected replaces the slugs of affected components by ids.
func (t *tx) resolveAffected(
	pageID string, affected []statuspage.AffectedComponent,
) ([]statuspage.AffectedComponent, error) {
	refs := make([]string, len(affected))
	for i, a := range affected {
		refs[i] = a.ComponentID
	}
	ids, err := t.resolveDistinctComponents(pageID, refs)
	resolved := slices.Clone(affected)
	for i, id := range ids {
		resolved[i].ComponentID = id
	}
	return resolved, err
}

// affectedOn is resolveAffected and lockAffected. The error is a *kernel.ValidationError with every component that the
// page does not have.
func (t *tx) affectedOn(
	pageID string, affected []statuspage.AffectedComponent,
) ([]statuspage.AffectedComponent, error) {
	affected, err := t.resolveAffected(pageID, affected)
	if err != nil {
		return affected, err
	}
	return t.lockAffected(pageID, affected)
}

// lockAffected locks the affected components of an incident and returns them with their names.
func (t *tx) lockAffected(
	pageID string, affected []statuspage.AffectedComponent,
) ([]statuspage.AffectedComponent, error) {
	if len(affected) == 0 {
		return nil, nil
	}
	ids := make([]string, len(affected))
	for i, a := range affected {
		ids[i] = a.ComponentID
	}
	if err := t.lockComponents(ids); err != nil {
		return nil, err
	}
	names, err := t.namedComponents(pageID, ids, func(i int) string { return fmt.Sprintf("components.%d.id", i) })
	named := slices.Clone(affected)
	for i := range named {
		c := names[named[i].ComponentID]
		named[i].Name, named[i].Hidden = c.name, c.hidden
	}
	return named, err
}

// saveAffected inserts the affected components of an incident that has none stored.
func (t *tx) saveAffected(i statuspage.Incident) error {
	for _, a := range i.Affected {
		_, err := t.Exec(`INSERT INTO incident_components (incident_id, component_id, status) VALUES ($1, $2, $3)`,
			i.ID, a.ComponentID, string(a.Status))
		if err != nil {
			return err
		}
	}
	return nil
}

// addCauses gives the affected components of an incident their statuses.
func (t *tx) addCauses(i statuspage.Incident) error {
	for _, a := range i.Affected {
		if err := t.addCause(i.ID, a.ComponentID, a.Status, origin{}); err != nil {
			return err
		}
	}
	return nil
}
