package store

import (
	"context"
	"errors"
	"strconv"

	"github.com/allswell/allswell/internal/shared/secret"
	"github.com/allswell/allswell/internal/store/database"
)

// sealedColumn is a column of secrets that are sealed. Each is bound to the id of its owner.
type sealedColumn struct {
	table, id, column string
	owners, name      string // the table of the owners, and what people know them by
	noun              string // what an owner is
}

// sealedColumns has every column of sealed secrets. The secrets of a missing one would be lost when the key is
// replaced; TestSealedColumns finds it.
var sealedColumns = []sealedColumn{
	{table: "checks", id: "monitor_id", column: "secrets", owners: "monitors", name: "slug", noun: "monitor"},
	{table: "alert_channels", id: "id", column: "secrets", owners: "alert_channels", name: "name", noun: "channel"},
	{table: "subscribers", id: "id", column: "sealed_target", owners: "subscribers", name: "id", noun: "subscriber"},
	{table: "sign_ups", id: "id", column: "sealed_target", owners: "sign_ups", name: "id", noun: "sign-up"},
	{table: "push_keys", id: "id", column: "sealed_private", owners: "push_keys", name: "id", noun: "push key"},
}

// MaxNamedSecrets is how many owners of secrets that cannot be opened are named.
const MaxNamedSecrets = 20

// SecretsFound says how many owners of secrets there are, such as monitors, and whose secrets cannot be opened.
type SecretsFound struct {
	Owners     int
	Earlier    int      // whose secrets are sealed with another key than the first
	Unreadable int      // whose secrets none of the keys opens
	Named      []string // the first unreadable ones, such as "monitor shop": at most MaxNamedSecrets
	KeyFile    string   // the file beside the database with the keys, if that is used; "": none
}

// CheckSecrets counts the secrets that were sealed with each key. It reads which key that was, and opens nothing.
func (s *Store) CheckSecrets(ctx context.Context) (found SecretsFound, err error) {
	keys, err := s.secretKeys.current()
	if err != nil {
		return found, err
	}
	found, err = read(ctx, s, func(c *session) (SecretsFound, error) { return c.findSecrets(keys) })
	found.KeyFile = s.secretKeys.path
	return found, err
}

// findSecrets counts the secrets of all owners.
func (c *session) findSecrets(keys *secret.Keys) (found SecretsFound, err error) {
	for _, column := range sealedColumns {
		if err := c.countSecrets(column, keys, &found); err != nil {
			return found, err
		}
	}
	return found, nil
}

// countSecrets adds the secrets of a column to what was found. The database groups them by the heads that name their
// keys: there are as many heads as keys were used, and there may be a secret for each subscriber.
func (c *session) countSecrets(of sealedColumn, keys *secret.Keys, found *SecretsFound) error {
	type group struct {
		head  []byte
		count int
	}
	head := `substr(s.` + of.column + `, 1, ` + strconv.Itoa(secret.HeadLength) + `)`
	groups, err := database.Query(c.Session, func(row database.Row) (g group, err error) {
		err = row.Scan(&g.head, &g.count)
		return
	}, `SELECT `+head+`, count(*) FROM `+of.table+` s WHERE s.`+of.column+` IS NOT NULL GROUP BY `+head+` ORDER BY 1`)
	if err != nil {
		return err
	}
	for _, g := range groups {
		found.Owners += g.count
		switch {
		case !keys.CanOpen(g.head):
			found.Unreadable += g.count
			names, err := database.Query(c.Session, database.ScanString,
				`SELECT o.`+of.name+` FROM `+of.table+` s JOIN `+of.owners+` o ON o.id = s.`+of.id+`
				WHERE `+head+` = $1 ORDER BY 1, o.id LIMIT $2`, g.head, MaxNamedSecrets-len(found.Named))
			if err != nil {
				return err
			}
			for _, name := range names {
				found.Named = append(found.Named, of.noun+" "+name)
			}
		case !keys.IsCurrent(g.head):
			found.Earlier += g.count
		}
	}
	return nil
}

// SecretsIn is Store.CheckSecrets of a database that may be in use, as OpenBeside opens it.
func SecretsIn(ctx context.Context, dsn string, keys *secret.Keys) (SecretsFound, error) {
	s, err := OpenBeside(ctx, dsn, Options{SecretKeys: keys})
	if err != nil {
		return SecretsFound{}, err
	}
	found, err := s.CheckSecrets(ctx)
	return found, errors.Join(err, s.Close())
}

// sealedStep is how many secrets are sealed anew in one transaction.
const sealedStep = 200

// RotateSecrets seals all secrets with the first key that were sealed with another one, and returns for how many
// owners. If the keys are in the file beside a SQLite database, it puts a new one there first; the earlier ones stay
// for backups. Secrets that none of the keys opens are left unchanged. The service may be running: it uses the new key
// of the file immediately. When an error is returned, some are sealed anew, and calling RotateSecrets again continues.
func (s *Store) RotateSecrets(ctx context.Context) (rotated int, err error) {
	if s.secretKeys.path != "" {
		if err := s.rotateKeyFile(ctx); err != nil {
			return 0, err
		}
	}
	for _, column := range sealedColumns {
		for last := ""; ; {
			ids, err := write(ctx, s, func(t *tx) ([]string, error) {
				t.skipBeforeReturn = true
				ids, n, err := t.reseal(column, last)
				rotated += n
				return ids, err
			})
			if err != nil {
				return rotated, err
			}
			if len(ids) == 0 {
				break
			}
			last = ids[len(ids)-1]
		}
	}
	return rotated, nil
}

// rotateKeyFile puts a new key into the file. It does so in a transaction, because only one runs at a time: no other
// process replaces the file meanwhile, or afterwards writes what it sealed with an earlier key. Without a file there is
// nothing to replace.
func (s *Store) rotateKeyFile(ctx context.Context) error {
	return writeOnly(ctx, s, func(*tx) error {
		if keys, err := s.secretKeys.current(); keys == nil || err != nil {
			return err
		}
		_, err := secret.Rotate(s.secretKeys.path)
		return err
	})
}

// reseal seals the secrets of the owners after an id with the first key, unless they are. It returns the ids of the
// owners that it read, in order.
func (t *tx) reseal(of sealedColumn, after string) (ids []string, n int, err error) {
	keys, err := t.s.secretKeys.current()
	if err != nil {
		return nil, 0, err
	}
	type row struct {
		id     string
		sealed []byte
	}
	rows, err := database.Query(t.Session, func(r database.Row) (one row, err error) {
		err = r.Scan(&one.id, &one.sealed)
		return
	}, `SELECT `+of.id+`, `+of.column+` FROM `+of.table+` WHERE `+of.column+` IS NOT NULL AND `+of.id+
		` > $1 ORDER BY `+of.id+` LIMIT $2 FOR UPDATE`, after, sealedStep)
	if err != nil {
		return nil, 0, err
	}
	for _, r := range rows {
		ids = append(ids, r.id)
		if keys.IsCurrent(r.sealed) || !keys.CanOpen(r.sealed) {
			continue
		}
		plain, err := keys.Open(r.sealed, r.id)
		if err != nil {
			t.s.log.Error("a secret cannot be encrypted with the new key", "owner", r.id, "error", err)
			continue
		}
		_, err = t.Exec(`UPDATE `+of.table+` SET `+of.column+` = $2 WHERE `+of.id+` = $1`, r.id, keys.Seal(plain, r.id))
		if err != nil {
			return nil, 0, err
		}
		n++
	}
	return ids, n, nil
}
