package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/pressly/goose/v3"

	"github.com/allswell/allswell"
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
	taken, err := query(&t.session, scanString, fmt.Sprintf(`SELECT slug %s AND substr(slug, 1, %d) = $%d`, from, len(start), len(args)+1), append(args, start)...)
	return allswell.FreeSlug(slug, taken), err
}

// addSlugs is migration 14. It gives every group, component and monitor a slug made
// from its name; the oldest of those with the same name gets the one without a number.
var addSlugs = goose.NewGoMigration(14, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
	for _, table := range []struct{ name, scope, fallback string }{
		{"component_groups", "page_id", "group"}, {"components", "page_id", "component"}, {"monitors", "workspace_id", "monitor"},
	} {
		if _, err := tx.ExecContext(ctx, `ALTER TABLE `+table.name+` ADD COLUMN slug TEXT`); err != nil {
			return err
		}
		if err := fillSlugs(ctx, tx, table.name, table.scope, table.fallback); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, fmt.Sprintf(`CREATE UNIQUE INDEX %s_slug ON %s (%s, slug)`, table.name, table.name, table.scope)); err != nil {
			return err
		}
	}
	return nil
}}, nil)

// fillSlugs gives the rows of a table slugs that are unique within their scope.
func fillSlugs(ctx context.Context, tx *sql.Tx, table, scope, fallback string) error {
	type row struct{ id, slug string }
	rows, err := tx.QueryContext(ctx, fmt.Sprintf(`SELECT id, %s, name FROM %s ORDER BY created_at, id`, scope, table))
	if err != nil {
		return err
	}
	defer rows.Close()
	var filled []row
	taken, numbers := map[[2]string]bool{}, map[[2]string]int{} // by scope and slug
	for rows.Next() {
		var id, within, name string
		if err := rows.Scan(&id, &within, &name); err != nil {
			return err
		}
		slug := allswell.SlugOf(name, fallback)
		for free, n := slug, max(numbers[[2]string{within, slug}], 1); ; n++ {
			if n > 1 {
				free = allswell.NumberedSlug(slug, n)
			}
			if key := [2]string{within, free}; !taken[key] {
				taken[key], numbers[[2]string{within, slug}] = true, n+1
				filled = append(filled, row{id, free})
				break
			}
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, r := range filled {
		if _, err := tx.ExecContext(ctx, `UPDATE `+table+` SET slug = $1 WHERE id = $2`, r.slug, r.id); err != nil {
			return err
		}
	}
	return nil
}
