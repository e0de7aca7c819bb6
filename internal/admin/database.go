package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/settings"
	"github.com/allswell/allswell/internal/store"
)

// The commands that work on the database itself.

type migrateCommand struct {
	settings.DatabaseSetting `embed:""`
}

func (cmd *migrateCommand) Run(c *console) error {
	database, err := cmd.Parse()
	if err != nil {
		return err
	}
	from, to, err := store.Migrate(c.ctx, database)
	switch {
	case err != nil:
		return err
	case from == 0:
		c.printf("The database %s is made (version %d).\n", settings.DatabaseName(database), to)
	case from == to:
		c.printf("The database %s is up to date (version %d).\n", settings.DatabaseName(database), to)
	default:
		c.printf("The database %s is brought from version %d to version %d.\n", settings.DatabaseName(database), from, to)
	}
	return nil
}

// parseExisting parses the setting for commands that don't create a database: a SQLite file must exist, because with
// a wrong path a new, empty one would be created.
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
		return "", fmt.Errorf("there is no database at %s: set ALLSWELL_DATABASE, or make one there with `allswell migrate` or a first `allswell serve`", path)
	}
	return database, nil
}

type backupCommand struct {
	settings.DatabaseSetting `embed:""`
	Path                     string `arg:"" help:"File to write, which must not exist yet."`
}

func (cmd *backupCommand) Run(c *console) error {
	database, err := parseExisting(cmd.DatabaseSetting)
	if err != nil {
		return err
	}
	if err := store.Backup(c.ctx, database, cmd.Path); err != nil {
		return err
	}
	size := int64(0)
	if info, err := os.Stat(cmd.Path); err == nil {
		size = info.Size()
	}
	c.printf("The backup of %s is in %s (%d kB). It holds ping tokens: keep it as safe as the database.\n",
		settings.DatabaseName(database), cmd.Path, (size+999)/1000)
	return nil
}

type restoreCommand struct {
	settings.DatabaseSetting `embed:""`
	Path                     string `arg:"" help:"File that backup wrote."`
}

func (cmd *restoreCommand) Run(c *console) error {
	database, err := cmd.Parse()
	if err != nil {
		return err
	}
	if sameFile(database, cmd.Path) {
		return &usageError{fmt.Errorf("%s is the database itself, not a backup of it: nothing is restored; give a file that `allswell backup` wrote, or another database with --database", cmd.Path)}
	}
	kept, err := store.Restore(c.ctx, database, cmd.Path)
	if err != nil {
		return err
	}
	c.printf("The database %s is restored from %s.\n", settings.DatabaseName(database), cmd.Path)
	if kept != "" {
		c.printf("What it was before is kept in %s; delete it when you don't need it.\n", kept)
	}
	return nil
}

// sameFile reports whether path is the file of a SQLite database, by whatever
// name.
func sameFile(database, path string) bool {
	file, isFile := strings.CutPrefix(database, "sqlite:")
	if !isFile {
		return false
	}
	a, err := os.Stat(file)
	b, err2 := os.Stat(path)
	return err == nil && err2 == nil && os.SameFile(a, b)
}

type tokenCommands struct {
	settings.DatabaseSetting `embed:""`
	JSON                     bool `name:"json" help:"Print JSON, for programs."`

	Create tokenCreate `cmd:"" help:"Make a token and print it, this once."`
	List   tokenList   `cmd:"" help:"List all tokens, of all workspaces, without their secrets."`
	Revoke tokenRevoke `cmd:"" help:"Put a token out of force at once."`
}

// tokenDesk is what the token commands work with. It opens the database beside
// a service that may be running.
type tokenDesk struct {
	printer
	database string
}

// ProvideDesk is called by the parser before a token command runs.
func (cmd *tokenCommands) ProvideDesk(c *console) (*tokenDesk, error) {
	database, err := parseExisting(cmd.DatabaseSetting)
	return &tokenDesk{printer{c, cmd.JSON}, database}, err
}

// on runs f on the open database.
func (d *tokenDesk) on(f func(*store.Store) error) error {
	s, err := store.OpenBeside(d.ctx, d.database, store.Options{})
	if err != nil {
		return err
	}
	return errors.Join(f(s), s.Close())
}

// tokenRecord is how programs see a token, with the keys of the API's.
type tokenRecord struct {
	ID         string         `json:"id"`
	Workspace  string         `json:"workspace"`
	Name       string         `json:"name"`
	Scope      allswell.Scope `json:"scope"`
	CreatedAt  string         `json:"created_at"`
	LastUsedAt *string        `json:"last_used_at"`
	RevokedAt  *string        `json:"revoked_at"`
	Token      string         `json:"token,omitempty"`
}

func recordOf(t allswell.Token, workspace string) tokenRecord {
	instant := func(at time.Time) *string {
		if at.IsZero() {
			return nil
		}
		text := allswell.FormatTime(at)
		return &text
	}
	return tokenRecord{
		ID: t.ID, Workspace: workspace, Name: t.Name, Scope: t.Scope,
		CreatedAt: allswell.FormatTime(t.CreatedAt), LastUsedAt: instant(t.LastUsedAt), RevokedAt: instant(t.RevokedAt),
	}
}

type tokenCreate struct {
	Name      string `required:"" placeholder:"NAME" help:"What the token is for, so that you know it again in the list."`
	Scope     string `default:"write" placeholder:"SCOPE" help:"What it may do: read, write (the default) or admin."`
	Workspace string `default:"default" placeholder:"NAME" help:"Workspace that it belongs to. One that does not exist is made."`
}

func (cmd *tokenCreate) Run(d *tokenDesk) error {
	return d.on(func(s *store.Store) error {
		issued, err := s.IssueTokenFor(d.ctx, cmd.Workspace, allswell.NewToken{Name: cmd.Name, Scope: allswell.Scope(cmd.Scope)})
		if err != nil {
			return refused(err)
		}
		if d.json {
			record := recordOf(issued.Token, cmd.Workspace)
			record.Token = issued.Secret
			return d.raw(record)
		}
		// The token alone on standard output: TOKEN=$(allswell token create …).
		fmt.Fprintf(d.err, "The token %s (%s, scope %s, workspace %s) of %s is shown only this once:\n",
			issued.ID, visible(issued.Name), issued.Scope, visible(cmd.Workspace), settings.DatabaseName(d.database))
		d.printf("%s\n", issued.Secret)
		return nil
	})
}

// refused makes a usage error of input that the domain does not take.
func refused(err error) error {
	if bad := (*allswell.ValidationError)(nil); errors.As(err, &bad) {
		return &usageError{err}
	}
	return err
}

type tokenList struct{}

func (cmd *tokenList) Run(d *tokenDesk) error {
	return d.on(func(s *store.Store) error {
		tokens, err := s.AllTokens(d.ctx)
		if err != nil {
			return err
		}
		records := make([]tokenRecord, len(tokens))
		rows := [][]string{{"TOKEN", "SCOPE", "WORKSPACE", "LAST USED", "STATE", "NAME"}}
		for i, t := range tokens {
			r := recordOf(t.Token, t.Workspace)
			records[i] = r
			last, state := "never", "in force"
			if r.LastUsedAt != nil {
				last = when(*r.LastUsedAt)
			}
			if r.RevokedAt != nil {
				state = "revoked"
			}
			rows = append(rows, []string{r.ID, string(r.Scope), r.Workspace, last, state, r.Name})
		}
		switch {
		case d.json:
			return d.raw(records)
		case len(tokens) == 0:
			d.printf("No tokens yet in %s.\n", settings.DatabaseName(d.database))
		default:
			fmt.Fprintf(d.err, "The tokens of %s:\n", settings.DatabaseName(d.database))
			d.columns(rows)
		}
		return nil
	})
}

type tokenRevoke struct {
	ID string `arg:"" help:"Id of the token, from the list. Not the token itself."`
}

func (cmd *tokenRevoke) Run(d *tokenDesk) error {
	return d.on(func(s *store.Store) error {
		err := s.RevokeAnyToken(d.ctx, cmd.ID)
		if errors.Is(err, allswell.ErrNotFound) {
			which := "with this id" // what was typed may be a secret
			if strings.HasPrefix(cmd.ID, allswell.PrefixToken) {
				which = fmt.Sprintf("%q", visible(cmd.ID))
			}
			return fmt.Errorf("there is no token %s; `allswell token list` shows them", which)
		}
		if err == nil {
			d.done("The token %s is revoked.", visible(cmd.ID))
		}
		return err
	})
}
