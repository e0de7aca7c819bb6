package store

import (
	"fmt"
	"slices"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/database"
)

// reach is the set of objects that an actor can see and change: its workspace, or some pages of it. Every statement
// that finds pages, or what belongs to them, for an actor has one of its conditions. Methods about the whole workspace call
// rights.Operation.CheckLimit. TestPageLimits tries all verbs.
type reach struct {
	limited bool
	arg     string // the argument of the conditions
}

func reachOf(actor kernel.Actor) reach {
	if actor.PageLimited {
		return reach{true, limitHolder(actor)}
	}
	return reach{false, actor.WorkspaceID}
}

// limitedPages selects the ids of the pages to which the holder of a page limit is limited.
const limitedPages = `SELECT page_id FROM page_limits WHERE holder_id = $%d`

// pages returns a condition on a page. n is the number of the parameter for reach.arg.
func (r reach) pages(n int) string {
	if r.limited {
		return fmt.Sprintf(`id IN (`+limitedPages+`)`, n)
	}
	return fmt.Sprintf(`workspace_id = $%d`, n)
}

// on returns a condition on a column with the id of a page.
func (r reach) on(column string, n int) string {
	if r.limited {
		return fmt.Sprintf(column+` IN (`+limitedPages+`)`, n)
	}
	return fmt.Sprintf(column+` IN (SELECT id FROM pages WHERE workspace_id = $%d)`, n)
}

// rows returns the FROM clause of the rows of a table that are on a page, given its slug, or on any page if it is "".
func (r reach) rows(table, page string) (from string, args []any) {
	if page == "" {
		return `FROM ` + table + ` WHERE ` + r.on(`page_id`, 1), []any{r.arg}
	}
	return `FROM ` + table + ` WHERE page_id IN (SELECT id FROM pages WHERE ` + r.pages(1) + ` AND slug = $2)`, []any{r.arg, page}
}

// templates returns a condition on templates that can be read: those of pages, and those of the workspace that belong to
// all pages. Only actors that reach the whole workspace can change the latter.
func (r reach) templates(n int) string {
	if r.limited {
		return fmt.Sprintf(`(`+r.on(`page_id`, n)+` OR page_id IS NULL AND workspace_id IN (SELECT workspace_id FROM pages WHERE id IN (`+limitedPages+`)))`, n)
	}
	return r.objects(n)
}

// objects returns a condition on what need not be on a page: a monitor or a template.
func (r reach) objects(n int) string {
	if r.limited {
		return r.on(`page_id`, n)
	}
	return fmt.Sprintf(`workspace_id = $%d`, n)
}

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
	r := reachOf(actor)
	ids, err := t.ids(`SELECT id FROM pages WHERE slug IN EACH($1) AND `+r.pages(2)+` ORDER BY id`, list(limit.Pages), r.arg)
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

// fillPageLimits loads the slugs of the pages to which items are limited. of returns the holder of an item and its limit.
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
	}, `SELECT holder_id, slug FROM page_limits JOIN pages ON pages.id = page_id WHERE holder_id IN EACH($1) ORDER BY slug`, list(holders))
	return err
}
