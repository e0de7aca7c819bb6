package admin

import (
	"errors"
	"fmt"

	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/shared/secret"
	"github.com/allswell/allswell/internal/shared/settings"
	"github.com/allswell/allswell/internal/store"
)

// SecretCommands are the commands of the secrets in the database.
type SecretCommands struct {
	settings.FileSetting          `embed:""`
	settings.KeyedDatabaseSetting `embed:""`

	Rotate secretRotate `cmd:"" help:"Encrypt all secrets with the first key. With the file allswell.key, put a new key into it first."`
}

// keyedContext is the context of the commands on a database and its secrets.
type keyedContext struct {
	databaseContext
	keys *secret.Keys // nil: none is set
}

// ProvideContext is called by the parser before a command runs.
func (cmd *SecretCommands) ProvideContext(c *console.Console) (*keyedContext, error) {
	database, err := parseExisting(cmd.DatabaseSetting)
	if err != nil {
		return nil, err
	}
	keys, err := cmd.Keys()
	return &keyedContext{databaseContext{console.Printer{Console: c}, database}, keys}, err
}

type secretRotate struct{}

// Run encrypts the secrets with the first key, even while the database is served.
func (cmd *secretRotate) Run(c *keyedContext) error {
	s, err := store.OpenBeside(c.Ctx, c.database, store.Options{SecretKeys: c.keys})
	if err != nil {
		return err
	}
	rotated, err := s.RotateSecrets(c.Ctx)
	if err != nil {
		return errors.Join(fmt.Errorf("encrypted %s with the first key, the others not yet: run this again: %w",
			secretCount(rotated), err), s.Close())
	}
	found, err := s.CheckSecrets(c.Ctx)
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	switch {
	case found.Owners == 0:
		c.Printf("There are no secrets in %s.\n", settings.DatabaseName(c.database))
		return nil
	case found.Unreadable == found.Owners:
		return errors.New(unreadableSecrets(found))
	case found.Earlier > 0:
		return fmt.Errorf("encrypted %s with the first key, but meanwhile %d were saved with an earlier one: restart "+
			"all replicas with the same keys, and run this again",
			secretCount(rotated), found.Earlier)
	case rotated == 0 && found.Unreadable == 0:
		c.Printf("All secrets are already encrypted with the first key.\n")
	case found.KeyFile != "":
		c.Printf("Encrypted %s with the first key in %s: update your copy of this file. Its other lines are for "+
			"earlier backups: delete them when you no longer need these.\n",
			secretCount(rotated), found.KeyFile)
	default:
		c.Printf("Encrypted %s with the first key. The others are for earlier backups.\n", secretCount(rotated))
	}
	if found.Unreadable > 0 {
		return errors.New(unreadableSecrets(found))
	}
	return nil
}

func secretCount(n int) string {
	if n == 1 {
		return "1 secret"
	}
	return fmt.Sprintf("%d secrets", n)
}
