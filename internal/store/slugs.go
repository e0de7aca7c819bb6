package store

import (
	"fmt"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/database"
)

// Filter limits a list to the objects with a slug and a name. Empty fields do not
// limit it.
type Filter struct{ Slug, Name string }

// from adds the filter's conditions to a statement that takes args.
func (f Filter) from(statement string, args ...any) (string, []any) {
	if f.Slug != "" {
		args = append(args, f.Slug)
		statement += fmt.Sprintf(` AND slug = $%d`, len(args))
	}
	if f.Name != "" {
		args = append(args, f.Name)
		statement += fmt.Sprintf(` AND name = $%d`, len(args))
	}
	return statement, args
}

// refColumn returns the column that holds ref, which is an id or a slug.
func refColumn(ref string) string {
	if allswell.ValidSlug(ref) {
		return "slug"
	}
	return "id"
}

// freeSlug returns slug, with a number if it is taken in the rows that from selects.
func (t *tx) freeSlug(slug, from string, args ...any) (string, error) {
	start := slug[:min(len(slug), allswell.MaxSlugLength-10)] // the rest of a long slug may be cut off for the number
	taken, err := database.Query(t.Session, database.ScanString, fmt.Sprintf(`SELECT slug %s AND substr(slug, 1, %d) = $%d`, from, len(start), len(args)+1), append(args, start)...)
	return allswell.FreeSlug(slug, taken), err
}
