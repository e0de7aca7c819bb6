package store

import (
	"fmt"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// access is the set of objects that an actor can see and change: its workspace, or some pages of it. Every statement
// that finds pages, or what belongs to them, for an actor has one of its conditions. Methods about the whole workspace
// call rights.Operation.CheckLimit. TestPageLimits tries all verbs.
type access struct {
	limited bool
	arg     string // the argument of the conditions
}

func accessOf(actor kernel.Actor) access {
	if actor.PageLimited {
		return access{true, limitHolder(actor)}
	}
	return access{false, actor.WorkspaceID}
}

// limitedPages selects the ids of the pages to which the holder of a page limit is limited.
const limitedPages = `SELECT page_id FROM page_limits WHERE holder_id = $%d`

// pages returns a condition on a page. n is the number of the parameter for access.arg.
func (a access) pages(n int) string {
	if a.limited {
		return fmt.Sprintf(`id IN (`+limitedPages+`)`, n)
	}
	return fmt.Sprintf(`workspace_id = $%d`, n)
}

// on returns a condition on a column with the id of a page.
func (a access) on(column string, n int) string {
	if a.limited {
		return fmt.Sprintf(column+` IN (`+limitedPages+`)`, n)
	}
	return fmt.Sprintf(column+` IN (SELECT id FROM pages WHERE workspace_id = $%d)`, n)
}

// rows returns the FROM clause of the rows of a table that are on a page, given its slug, or on any page if it is "".
func (a access) rows(table, page string) (from string, args []any) {
	if page == "" {
		return `FROM ` + table + ` WHERE ` + a.on(`page_id`, 1), []any{a.arg}
	}
	return `FROM ` + table + ` WHERE page_id IN (SELECT id FROM pages WHERE ` + a.pages(1) + ` AND slug = $2)`,
		[]any{a.arg, page}
}

// templates returns a condition on templates that can be read: templates of the pages, and templates of the workspace
// that belong to all pages. Only actors that reach the whole workspace can change the latter.
func (a access) templates(n int) string {
	if a.limited {
		return fmt.Sprintf(`(`+a.on(`page_id`, n)+
			` OR page_id IS NULL AND workspace_id IN (SELECT workspace_id FROM pages WHERE id IN (`+limitedPages+
			`)))`, n)
	}
	return a.objects(n)
}

// objects returns a condition on what need not be on a page: a monitor or a template.
func (a access) objects(n int) string {
	if a.limited {
		return a.on(`page_id`, n)
	}
	return fmt.Sprintf(`workspace_id = $%d`, n)
}
