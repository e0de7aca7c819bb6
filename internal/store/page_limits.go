package store

import (
	"slices"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/database"
)

// limitHolder returns the id under which the pages of a limited actor are stored.
func limitHolder(actor kernel.Actor) string {
	if actor.Kind == kernel.ActorUser {
		return memberHolder(actor.WorkspaceID, actor.ID)
	}
	return actor.ID
}

// memberHolder is limitHolder for a member.
func memberHolder(workspaceID, userID string) string { return userID + " " + workspaceID }

// setPageLimit replaces the pages to which a token, an invitation or a member is limited. It returns a
// *kernel.ValidationError if the actor cannot reach a page.
func (t *tx) setPageLimit(actor kernel.Actor, holder string, limit *account.PageLimit) error {
	if _, err := t.Exec(`DELETE FROM page_limits WHERE holder_id = $1`, holder); err != nil || !limit.Limited {
		return err
	}
	limit.Pages = slices.Compact(slices.Sorted(slices.Values(limit.Pages)))
	var bad kernel.ValidationError
	r := accessOf(actor)
	ids, err := t.ids(`SELECT id FROM pages WHERE slug IN EACH($1) AND `+r.pages(2)+` ORDER BY id`, list(limit.Pages),
		r.arg)
	if err != nil {
		return err
	}
	if len(ids) < len(limit.Pages) {
		bad.Add("pages", "field must have slugs of pages of the workspace")
		return bad.Err()
	}
	for _, id := range ids {
		if _, err := t.Exec(`INSERT INTO page_limits (holder_id, page_id) VALUES ($1, $2)`, holder, id); err != nil {
			return err
		}
	}
	return nil
}

// fillPageLimits loads the slugs of the pages to which items are limited. of returns the holder of an item and its
// limit.
func fillPageLimits[T any](c *session, items []T, of func(*T) (holder string, limit *account.PageLimit)) error {
	limits := make(map[string]*account.PageLimit)
	var holders []string
	for i := range items {
		if holder, limit := of(&items[i]); limit.Limited {
			holders, limits[holder] = append(holders, holder), limit
		}
	}
	if len(holders) == 0 {
		return nil
	}
	_, err := database.Query(c.Session, func(row database.Row) (none struct{}, err error) {
		var holder, slug string
		err = row.Scan(&holder, &slug)
		if limit := limits[holder]; err == nil && limit != nil {
			limit.Pages = append(limit.Pages, slug)
		}
		return
	}, `SELECT holder_id, slug FROM page_limits JOIN pages ON pages.id = page_id WHERE holder_id IN EACH($1)
		ORDER BY slug`, list(holders))
	return err
}
