package store

import (
	"fmt"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// Filter limits a list to the objects with a slug, with a name, hidden or not, and that end after an instant. Zero
// fields do not limit it.
type Filter struct {
	Slug, Name string
	Hidden     *bool // of components; nil: all
	EndsAfter  time.Time
}

// from adds the filter's conditions to a statement that takes args.
func (f Filter) from(statement string, args ...any) (string, []any) {
	if f.Slug != "" {
		statement, args = withCondition(statement, args, `slug = $%d`, f.Slug)
	}
	if f.Name != "" {
		statement, args = withCondition(statement, args, `name = $%d`, f.Name)
	}
	if f.Hidden != nil {
		statement, args = withCondition(statement, args, `hidden = $%d`, *f.Hidden)
	}
	if !f.EndsAfter.IsZero() {
		statement, args = withCondition(statement, args, `ends_at > $%d`, millis(f.EndsAfter))
	}
	return statement, args
}

// withCondition adds a condition with the argument arg to a statement that takes args.
func withCondition(statement string, args []any, condition string, arg any) (string, []any) {
	args = append(args, arg)
	return statement + ` AND ` + fmt.Sprintf(condition, len(args)), args
}

// refColumn returns the column that holds ref, which is an id or a slug.
func refColumn(ref string) string {
	if kernel.ValidSlug(ref) {
		return "slug"
	}
	return "id"
}

// resolveComponents replaces the slugs among refs by the ids of the page's components. Ids and
// slugs that the page does not have are left as they are.
func (c *session) resolveComponents(pageID string, refs []string) ([]string, error) {
	slugs := slices.DeleteFunc(slices.Clone(refs), func(ref string) bool { return !kernel.ValidSlug(ref) })
	if len(slugs) == 0 {
		return refs, nil
	}
	found, err := database.Query(c.Session, func(row database.Row) (pair [2]string, err error) {
		err = row.Scan(&pair[0], &pair[1])
		return
	}, `SELECT slug, id FROM components WHERE page_id = $1 AND slug IN EACH($2)`, pageID, list(slugs))
	ids := slices.Clone(refs)
	for _, pair := range found {
		for i, ref := range refs {
			if ref == pair[0] {
				ids[i] = pair[1]
			}
		}
	}
	return ids, err
}

// resolveDistinctComponents is resolveComponents for the components of an incident or a maintenance. It returns a
// *kernel.ValidationError if an id and a slug name the same component.
func (c *session) resolveDistinctComponents(pageID string, refs []string) ([]string, error) {
	ids, err := c.resolveComponents(pageID, refs)
	if err != nil {
		return nil, err
	}
	var bad kernel.ValidationError
	statuspage.CheckComponentIDs(&bad, ids)
	return ids, bad.Err()
}

// objectOf returns a condition for an object of a page that the actor can reach, given its id, or its
// slug if the page's slug is not "".
func objectOf(actor kernel.Actor, pageSlug, ref string) (where string, args []any) {
	r := accessOf(actor)
	if pageSlug == "" {
		return `WHERE id = $1 AND ` + r.on(`page_id`, 2), []any{ref, r.arg}
	}
	return `WHERE ` + refColumn(ref) + ` = $1 AND page_id IN (SELECT id FROM pages WHERE ` + r.pages(2) +
			` AND slug = $3)`,
		[]any{ref, r.arg, pageSlug}
}

// checkUniqueName returns a *kernel.ValidationError if the rows that from selects include one with the name.
// Its SameName is the id of the first.
func (t *tx) checkUniqueName(noun, name, from string, args ...any) error {
	from, args = withCondition(from, args, `name = $%d`, name)
	same, err := database.Query(t.Session, database.ScanString, `SELECT id `+from+` ORDER BY created_at, id LIMIT 1`,
		args...)
	if err != nil || len(same) == 0 {
		return err
	}
	bad := kernel.ValidationError{SameName: same[0]}
	bad.Add("name", "The page has a %s with this name: %s.", noun, same[0])
	return bad.Err()
}

// freeSlug returns slug, with a number if it is taken in the rows that from selects.
func (t *tx) freeSlug(slug, from string, args ...any) (string, error) {
	start := slug[:min(len(slug), kernel.MaxSlugLength-10)] // FreeSlug may cut off the rest to add a number
	taken, err := database.Query(t.Session, database.ScanString,
		fmt.Sprintf(`SELECT slug %s AND substr(slug, 1, %d) = $%d`, from, len(start), len(args)+1),
		append(args, start)...)
	return kernel.FreeSlug(slug, taken), err
}
