package admin

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/settings"
	"github.com/allswell/allswell/internal/shared/timeinput"
	"github.com/allswell/allswell/internal/store"
)

// TokenCommands are the commands of API tokens.
type TokenCommands struct {
	settings.FileSetting     `embed:""`
	settings.DatabaseSetting `embed:""`
	JSON                     bool `name:"json" help:"Print JSON, for programs."`
	Wide                     bool `help:"Do not cut columns to fit the terminal."`

	Create tokenCreate `cmd:"" help:"Create a token and print it, only once."`
	List   tokenList   `cmd:"" help:"List all tokens, of all workspaces, without their secrets."`
	Revoke tokenRevoke `cmd:"" aliases:"delete" help:"Revoke a token at once."`
}

// ProvideContext is called by the parser before a token command runs.
func (cmd *TokenCommands) ProvideContext(c *console.Console) (*databaseContext, error) {
	database, err := parseExisting(cmd.DatabaseSetting)
	return &databaseContext{console.Printer{Console: c, JSON: cmd.JSON, Wide: cmd.Wide}, database}, err
}

// tokenRecord is the JSON of a token, with the keys of the API.
type tokenRecord struct {
	ID         string       `json:"id"`
	Workspace  string       `json:"workspace"`
	Name       string       `json:"name"`
	Scope      kernel.Scope `json:"scope"`
	Pages      []string     `json:"pages"`
	CreatedAt  string       `json:"created_at"`
	ExpiresAt  *string      `json:"expires_at"`
	LastUsedAt *string      `json:"last_used_at"`
	RevokedAt  *string      `json:"revoked_at"`
	Token      string       `json:"token,omitempty"`
}

func recordOf(t account.Token, workspace string) tokenRecord {
	format := func(at time.Time) *string {
		if at.IsZero() {
			return nil
		}
		return new(kernel.FormatTime(at))
	}
	return tokenRecord{
		ID: t.ID, Workspace: workspace, Name: t.Name, Scope: t.Scope, Pages: pagesOf(t.Limit),
		ExpiresAt: format(t.ExpiresAt), CreatedAt: kernel.FormatTime(t.CreatedAt), LastUsedAt: format(t.LastUsedAt),
		RevokedAt: format(t.RevokedAt),
	}
}

// pagesOf returns the slugs of a limit, or nil if there is none.
func pagesOf(l account.PageLimit) []string {
	if l.Limited && l.Pages == nil { // all of them were deleted
		return []string{}
	}
	return l.Pages
}

type tokenCreate struct {
	Name      string              `required:"" placeholder:"NAME" help:"Name of the token, such as its purpose."`
	Scope     string              `default:"write" placeholder:"read|write|admin" help:"Permissions: read, write or admin."`
	Expires   *timeinput.Duration `placeholder:"DURATION" help:"Time from now until it expires, such as 90d. Never by default."`
	Pages     []string            `name:"page" sep:"none" placeholder:"SLUG" help:"Limit it to this page; repeatable. Not with the scope admin."`
	Workspace string              `default:"default" placeholder:"NAME" help:"Workspace of the token. It is created if it does not exist. Only checks of the first one reach private addresses, unless the service has ALLSWELL_CHECK_PRIVATE=on."`
}

func (cmd *tokenCreate) Run(c *databaseContext) error {
	return c.on(func(s *store.Store) error {
		n := account.NewToken{Name: cmd.Name, Scope: kernel.Scope(cmd.Scope), Limit: account.LimitTo(cmd.Pages)}
		if cmd.Expires != nil {
			n.ExpiresAt = time.Now().Add(time.Duration(*cmd.Expires)).UTC().Truncate(time.Second)
		}
		before, err := s.CheckEnvironment(c.Ctx)
		if err != nil {
			return err
		}
		issued, err := s.IssueTokenFor(c.Ctx, cmd.Workspace, n)
		if err != nil {
			return refused(err)
		}
		if after, err := s.CheckEnvironment(c.Ctx); err == nil && before.SingleWorkspace && !after.SingleWorkspace {
			fmt.Fprintln(c.Err,
				"There are two workspaces now: only checks of the first one reach private addresses and this "+
					"machine, unless the service has ALLSWELL_CHECK_PRIVATE=on.")
		}
		if c.JSON {
			record := recordOf(issued.Token, cmd.Workspace)
			record.Token = issued.Secret
			return c.Raw(record)
		}
		// Standard output has only the token: TOKEN=$(allswell token create …).
		fmt.Fprintf(c.Err, "The token %s (%s, scope %s, workspace %s) of %s is shown only this once:\n",
			issued.ID, console.Visible(issued.Name), issued.Scope, console.Visible(cmd.Workspace),
			settings.DatabaseName(c.database))
		c.Printf("%s\n", issued.Secret)
		return nil
	})
}

// refused returns a usage error if the input is invalid.
func refused(err error) error {
	if bad := (*kernel.ValidationError)(nil); errors.As(err, &bad) {
		return &console.UsageError{Err: err}
	}
	return err
}

type tokenList struct{}

func (cmd *tokenList) Run(c *databaseContext) error {
	return c.on(func(s *store.Store) error {
		tokens, err := s.AllTokens(c.Ctx)
		if err != nil {
			return err
		}
		records := make([]tokenRecord, len(tokens))
		rows := [][]string{{"TOKEN", "SCOPE", "WORKSPACE", "PAGES", "LAST USED", "EXPIRES", "STATE", "NAME"}}
		for i, t := range tokens {
			records[i] = recordOf(t.Token, t.Workspace)
			pages, last, expires, state := "all", "never", "never", "valid"
			if t.Limit.Limited {
				pages = strings.Join(t.Limit.Pages, ", ")
			}
			if !t.ExpiresAt.IsZero() {
				expires = console.Time(t.ExpiresAt)
			}
			if t.Expired(time.Now()) {
				state = "expired"
			}
			if !t.LastUsedAt.IsZero() {
				last = console.Time(t.LastUsedAt)
			}
			if !t.RevokedAt.IsZero() {
				state = "revoked"
			}
			rows = append(rows, []string{t.ID, string(t.Scope), t.Workspace, pages, last, expires, state, t.Name})
		}
		switch {
		case c.JSON:
			return c.Raw(records)
		case len(tokens) == 0:
			c.Printf("No tokens yet in %s.\n", settings.DatabaseName(c.database))
		default:
			fmt.Fprintf(c.Err, "The tokens of %s:\n", settings.DatabaseName(c.database))
			c.Table(rows)
		}
		return nil
	})
}

type tokenRevoke struct {
	ID string `arg:"" help:"Id of the token from the list; not its secret."`
}

func (cmd *tokenRevoke) Run(c *databaseContext) error {
	return c.on(func(s *store.Store) error {
		err := s.RevokeAnyToken(c.Ctx, cmd.ID)
		if errors.Is(err, kernel.ErrNotFound) {
			which := "with this id" // what was typed may be a secret
			if strings.HasPrefix(cmd.ID, kernel.PrefixToken) {
				which = fmt.Sprintf("%q", console.Visible(cmd.ID))
			}
			return fmt.Errorf("there is no token %s; `allswell token list` shows them", which)
		}
		if err == nil {
			c.Done("Revoked the token %s.", console.Visible(cmd.ID))
		}
		return err
	})
}
