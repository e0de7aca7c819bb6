// Package admin has the commands that work on the database: migrate, backup, restore, secret, token and user.
package admin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/shared/secret"
	"github.com/allswell/allswell/internal/shared/settings"
	"github.com/allswell/allswell/internal/store"
)

// MigrateCommand creates or upgrades the database.
type MigrateCommand struct {
	settings.FileSetting     `embed:""`
	settings.DatabaseSetting `embed:""`
}

// Run creates or upgrades the database.
func (cmd *MigrateCommand) Run(c *console.Console) error {
	database, err := cmd.Parse()
	if err != nil {
		return err
	}
	began := time.Now()
	show, end := c.Progress()
	from, to, err := store.Migrate(c.Ctx, database, show)
	end()
	took := time.Since(began).Round(time.Millisecond)
	switch {
	case err != nil:
		return err
	case from == 0:
		c.Printf("The database %s is created (version %d) in %s.\n", settings.DatabaseName(database), to, took)
	case from == to:
		c.Printf("The database %s is up to date (version %d).\n", settings.DatabaseName(database), to)
	default:
		c.Printf("The database %s is upgraded from version %d to version %d in %s.\n", settings.DatabaseName(database),
			from, to, took)
	}
	return nil
}

// parseExisting parses the setting for commands that do not create a database. A SQLite file must exist: otherwise a
// wrong path would create an empty database.
func parseExisting(setting settings.DatabaseSetting) (string, error) {
	database, err := setting.Parse()
	if err != nil {
		return "", err
	}
	path, isFile := strings.CutPrefix(database, "sqlite:")
	if !isFile {
		return database, nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if full, err := filepath.Abs(path); err == nil {
			path = full
		}
		return "",
			fmt.Errorf("there is no database at %s: set ALLSWELL_DATABASE, or create one there with `allswell "+
				"migrate` or a first `allswell serve`", path)
	}
	return database, nil
}

// BackupCommand copies a SQLite database.
type BackupCommand struct {
	settings.FileSetting          `embed:""`
	settings.KeyedDatabaseSetting `embed:""`
	Path                          string `arg:"" help:"File to write. It must not exist."`
}

// Run writes the copy.
func (cmd *BackupCommand) Run(c *console.Console) error {
	database, err := parseExisting(cmd.DatabaseSetting)
	if err != nil {
		return err
	}
	keys, err := cmd.Keys()
	if err != nil {
		return err
	}
	show, end := c.Progress()
	err = store.Backup(c.Ctx, database, cmd.Path, show)
	end()
	if err != nil {
		return err
	}
	size := int64(0)
	if info, err := os.Stat(cmd.Path); err == nil {
		size = info.Size()
	}
	c.Printf("The backup of %s is in %s (%d kB). It contains ping tokens and private keys of certificates: keep it "+
		"as safe as the database.\n",
		settings.DatabaseName(database), cmd.Path, (size+999)/1000)
	reportSecrets(c, database, keys)
	return nil
}

// reportSecrets warns if the secrets in a database need keys that are not configured. keys are the configured keys;
// nil: none. A database of another version is not read: serve reports this after the upgrade.
func reportSecrets(c *console.Console, database string, keys *secret.Keys) {
	found, err := store.SecretsIn(c.Ctx, database, keys)
	if err != nil || found.Owners == 0 {
		return
	}
	if found.Unreadable > 0 {
		c.Printf("%s\n", unreadableSecrets(found))
		return
	}
	if found.KeyFile != "" {
		c.Printf("Secrets are encrypted with the key in %s, which no backup contains: keep a copy of it elsewhere.\n",
			found.KeyFile)
	} else {
		c.Printf("Secrets are encrypted with the key that is set, which no backup contains.\n")
	}
}

// unreadableSecrets returns a text about the secrets that cannot be decrypted.
func unreadableSecrets(found store.SecretsFound) string {
	names := strings.Join(found.Named, ", ")
	if more := found.Unreadable - len(found.Named); more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return "The secrets of these cannot be decrypted, because their key is missing or has changed: " + names +
		". Restore the key, or enter the secrets again."
}

// RestoreCommand replaces a SQLite database by a backup.
type RestoreCommand struct {
	settings.FileSetting          `embed:""`
	settings.KeyedDatabaseSetting `embed:""`
	Path                          string `arg:"" help:"File that allswell backup wrote."`
}

// Run replaces the database.
func (cmd *RestoreCommand) Run(c *console.Console) error {
	database, err := cmd.Parse()
	if err != nil {
		return err
	}
	keys, err := cmd.Keys()
	if err != nil {
		return err
	}
	if sameFile(database, cmd.Path) {
		return console.UsageErrorf("%s is the database itself, not a backup of it: nothing was restored; give a file "+
			"that `allswell backup` wrote, or another database with --database", cmd.Path)
	}
	show, end := c.Progress()
	kept, err := store.Restore(c.Ctx, database, cmd.Path, show)
	end()
	if err != nil {
		return err
	}
	c.Printf("The database %s is restored from %s.\n", settings.DatabaseName(database), cmd.Path)
	if kept != "" {
		c.Printf("The replaced database is kept in %s; delete it when you don't need it.\n", kept)
	}
	reportSecrets(c, database, keys)
	return nil
}

// sameFile reports whether path names the file of a SQLite database, directly or through a link.
func sameFile(database, path string) bool {
	file, isFile := strings.CutPrefix(database, "sqlite:")
	if !isFile {
		return false
	}
	a, err := os.Stat(file)
	b, err2 := os.Stat(path)
	return err == nil && err2 == nil && os.SameFile(a, b)
}

// databaseContext is the context of commands on a database that a running service may use at the same time.
type databaseContext struct {
	console.Printer
	database string
}

// on opens the database, calls f and closes the database.
func (c *databaseContext) on(f func(*store.Store) error) error {
	s, err := store.OpenBeside(c.Ctx, c.database, store.Options{})
	if err != nil {
		return err
	}
	return errors.Join(f(s), s.Close())
}
