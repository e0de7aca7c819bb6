package store

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store/database"
)

//go:embed migrations/*.sql
var migrations embed.FS

// schema is the schema of this version.
var schema = database.Schema{
	Files: migrations,
	Funcs: map[int64]func(context.Context, *sql.Tx) error{
		14: addSlugs(
			slugged{"component_groups", "page_id", "group", ""}, slugged{"components", "page_id", "component", ""},
			slugged{"monitors", "workspace_id", "monitor", ""},
		),
		87: hideSecretsOfChannels,
		91: addSlugs(slugged{"incident_templates", "workspace_id", "template", ""}),
		92: addSlugs(slugged{"alert_rules", "workspace_id", "rule", ""}),
		93: addSlugs(slugged{"alert_channels", "workspace_id", "channel", " WHERE deleted_at IS NULL"}),
	},
	Tables: []string{"monitors", "outages"},
}

// Migrate brings the schema of a database up to date and returns the version before and after. It refuses a SQLite file
// that is being served, and a database of a newer version.
func Migrate(ctx context.Context, dsn string, progress database.Progress) (from, to int64, err error) {
	return database.Migrate(ctx, dsn, schema, progress)
}

// Backup writes a consistent copy of a SQLite database to path, also while it is being
// served. It does not overwrite an existing file.
func Backup(ctx context.Context, dsn, path string, progress database.Progress) error {
	return database.Backup(ctx, dsn, path, schema, progress)
}

// Restore replaces a SQLite database with a copy of the backup at path. It refuses while the database is being served,
// and refuses a file that is damaged or not an Allswell database. The replaced database is kept in the same folder,
// under the name that Restore returns; "" if there was none.
func Restore(ctx context.Context, dsn, path string, progress database.Progress) (kept string, err error) {
	return database.Restore(ctx, dsn, path, schema, progress)
}

// slugged is a table that gets slugs, which are unique within a scope, among the rows that a condition selects.
type slugged struct{ name, scope, fallback, where string }

// addSlugs returns a migration. It gives every row of some tables a slug made from its name. Of the rows with the same
// name, the oldest gets the slug without a number.
func addSlugs(tables ...slugged) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		for _, table := range tables {
			if _, err := tx.ExecContext(ctx, `ALTER TABLE `+table.name+` ADD COLUMN slug TEXT`); err != nil {
				return err
			}
			if err := fillSlugs(ctx, tx, table); err != nil {
				return err
			}
			index := fmt.Sprintf(`CREATE UNIQUE INDEX %s_slug ON %s (%s, slug)%s`,
				table.name, table.name, table.scope, table.where)
			if _, err := tx.ExecContext(ctx, index); err != nil {
				return err
			}
		}
		return nil
	}
}

// fillSlugs gives the rows of a table slugs that are unique within their scope.
func fillSlugs(ctx context.Context, tx *sql.Tx, table slugged) error {
	rows, err := tx.QueryContext(ctx,
		fmt.Sprintf(`SELECT id, %s, name FROM %s%s ORDER BY %s, created_at, id`, table.scope, table.name, table.where,
			table.scope))
	if err != nil {
		return err
	}
	defer rows.Close()
	var slugs []any // id, slug, id, slug, and so on
	last := ""      // scope
	next := map[string]int{}
	for rows.Next() {
		var id, within, name string
		if err := rows.Scan(&id, &within, &name); err != nil {
			return err
		}
		if within != last {
			last, next = within, map[string]int{}
		}
		slugs = append(slugs, id, takeSlug(next, kernel.SlugOf(name, table.fallback)))
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for some := range slices.Chunk(slugs, 1000) {
		values := strings.Builder{}
		for i := 1; i < len(some); i += 2 {
			fmt.Fprintf(&values, `, ($%d, $%d)`, i, i+1)
		}
		fill := fmt.Sprintf(`WITH filled (id, slug) AS (VALUES %s)
			UPDATE %s SET slug = filled.slug FROM filled WHERE filled.id = %s.id`,
			values.String()[2:], table.name, table.name)
		if _, err := tx.ExecContext(ctx, fill, some...); err != nil {
			return err
		}
	}
	return nil
}

// takeSlug returns slug, or slug with the next free number. next maps each slug that is
// taken to the number to try next.
func takeSlug(next map[string]int, slug string) string {
	free := slug
	for n := next[slug]; next[free] > 0; n++ {
		free = kernel.NumberedSlug(slug, n)
		next[slug] = n + 1
	}
	next[free] = 2
	return free
}

// hideSecretsOfChannels is migration 87. It removes from the audit log fields of channels that became secret later: see
// alert.LateSecrets. That they were changed can still be seen.
func hideSecretsOfChannels(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, `SELECT e.id, e.old_fields, e.new_fields, coalesce(c.type, '')
		FROM audit_entries e LEFT JOIN alert_channels c ON c.id = e.object_id
		WHERE e.object_kind = 'alert_channel'`)
	if err != nil {
		return err
	}
	defer rows.Close()
	type entry struct{ id, before, after, kind string }
	var entries []entry
	for rows.Next() {
		var e entry
		if err := rows.Scan(&e.id, &e.before, &e.after, &e.kind); err != nil {
			return err
		}
		entries = append(entries, e)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, e := range entries {
		before, after := hideSecrets(e.kind, e.before), hideSecrets(e.kind, e.after)
		if before == e.before && after == e.after {
			continue
		}
		_, err := tx.ExecContext(ctx, `UPDATE audit_entries SET old_fields = $2, new_fields = $3 WHERE id = $1`,
			e.id, before, after)
		if err != nil {
			return err
		}
	}
	return nil
}

// hideSecrets returns the fields of a channel in the audit log without what became secret. kind is its type; "": the
// channel was deleted, and its type may be among the fields. The topic of a Zulip channel stays.
func hideSecrets(kind, text string) string {
	fields := make(map[string]any)
	if json.Unmarshal([]byte(text), &fields) != nil {
		return text
	}
	hidden := false
	for _, name := range []string{"url", "topic"} {
		if _, ok := fields[name]; ok && (name == "url" || kind != "zulip" && fields["type"] != "zulip") {
			fields[name], hidden = "[secret]", true
		}
	}
	without, err := json.Marshal(fields)
	if err != nil || !hidden {
		return text
	}
	return string(without)
}
