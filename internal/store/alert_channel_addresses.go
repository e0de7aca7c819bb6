package store

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store/database"
)

// askForAddress reports whether the address of a channel may be sent alerts of its workspace: it was confirmed, or it
// is a member's who has proved that it is theirs. Otherwise a mail will ask for the confirmation, unless one did so
// within alert.ConfirmationInterval. The error is a *kernel.ValidationError above alert.MaxConfirmationsPerDay. The
// mutex of the alerts must be held.
func (t *tx) askForAddress(c alert.Channel) (confirmed bool, err error) {
	to := c.Address()
	if to == "" {
		return false, nil
	}
	if confirmed, err = t.addressConfirmed(c.WorkspaceID, to); err != nil || confirmed {
		return confirmed, err
	}
	member, err := t.isMembersAddress(c.WorkspaceID, to)
	if err != nil {
		return false, err
	}
	if member {
		return true, t.confirmAddress(c.WorkspaceID, to)
	}
	asked, err := t.lastAsked(c.WorkspaceID, to)
	if err != nil || !asked.IsZero() && t.Now.Before(asked.Add(alert.ConfirmationInterval)) {
		return false, err
	}
	n, err := database.One(t.Session, database.ScanInt,
		`SELECT count(*) FROM address_confirmations WHERE workspace_id = $1 AND asked_at > $2`,
		c.WorkspaceID, millis(t.Now.Add(-24*time.Hour)))
	if err != nil {
		return false, err
	}
	if n >= alert.MaxConfirmationsPerDay {
		return false,
			addressError("A workspace may ask no more than %d addresses a day to confirm that they may be sent "+
				"alerts. Try again tomorrow.", alert.MaxConfirmationsPerDay)
	}
	t.signal(effectAlertsPending)
	_, err = t.Exec(`INSERT INTO address_confirmations (workspace_id, address, asked_at, attempts, due_at)
		VALUES ($1, $2, $3, 0, $3)`, c.WorkspaceID, to, millis(t.Now))
	return false, err
}

func addressError(code string, args ...any) error {
	var bad kernel.ValidationError
	bad.Add("to", code, args...)
	return bad.Err()
}

func (c *session) addressConfirmed(workspaceID, address string) (bool, error) {
	n, err := database.One(c.Session, database.ScanInt,
		`SELECT count(*) FROM channel_addresses WHERE workspace_id = $1 AND address = $2`, workspaceID, address)
	return n > 0, err
}

func (t *tx) confirmAddress(workspaceID, address string) error {
	_, err := t.Exec(`INSERT INTO channel_addresses (workspace_id, address, confirmed_at) VALUES ($1, $2, $3)
			ON CONFLICT DO NOTHING`, workspaceID, address, millis(t.Now))
	if err != nil {
		return err
	}
	_, err = t.Exec(`DELETE FROM address_confirmations WHERE workspace_id = $1 AND address = $2`, workspaceID, address)
	return err
}

// lastAsked returns when an address was last asked to confirm; zero: not lately.
func (c *session) lastAsked(workspaceID, address string) (time.Time, error) {
	return database.One(c.Session, func(row database.Row) (at time.Time, err error) {
		err = row.Scan(instant{&at})
		return
	}, `SELECT max(asked_at) FROM address_confirmations WHERE workspace_id = $1 AND address = $2`, workspaceID, address)
}

// PrepareTest completes a channel, saved or not, that may be sent a test message. If its address is not confirmed, the
// error is a *kernel.ValidationError, and another mail asks the address of a saved channel, within the limits of
// askForAddress.
func (s *Store) PrepareTest(ctx context.Context, actor kernel.Actor, c alert.Channel) (alert.Channel, error) {
	var refused error
	c, err := writeAs(ctx, s, actor, func(t *tx) (alert.Channel, error) {
		refused = nil
		if err := rights.ChannelChange.CheckLimit(actor); err != nil {
			return c, err
		}
		var err error
		c.WorkspaceID = actor.WorkspaceID
		c.WorkspaceName, err = database.One(t.Session, database.ScanString, `SELECT name FROM workspaces WHERE id = $1`,
			actor.WorkspaceID)
		if err != nil || c.Address() == "" {
			return c, err
		}
		if err := t.lockMutex(mutexAlerts); err != nil {
			return c, err
		}
		saved, err := t.ids(`SELECT id FROM alert_channels WHERE workspace_id = $1 AND id = $2 AND address = $3
			AND deleted_at IS NULL`, c.WorkspaceID, c.ID, c.Address())
		if err != nil {
			return c, err
		}
		if len(saved) > 0 {
			c.AddressConfirmed, err = t.askForAddress(c)
		} else {
			c.AddressConfirmed, err = t.mayBeSent(c)
		}
		if err == nil && !c.AddressConfirmed {
			refused, err = t.unconfirmed(c, len(saved) > 0)
		}
		return c, err
	})
	return c, errors.Join(err, refused)
}

// mayBeSent is askForAddress without a mail.
func (t *tx) mayBeSent(c alert.Channel) (bool, error) {
	member, err := t.isMembersAddress(c.WorkspaceID, c.Address())
	if err != nil || member {
		return member, err
	}
	return t.addressConfirmed(c.WorkspaceID, c.Address())
}

// isMembersAddress reports whether an address belongs to a member who has proved it.
func (c *session) isMembersAddress(workspaceID, address string) (bool, error) {
	n, err := database.One(c.Session, database.ScanInt,
		`SELECT count(*) FROM users JOIN members ON members.user_id = users.id
		WHERE members.workspace_id = $1 AND users.email = $2 AND users.email_confirmed`, workspaceID, address)
	return n > 0, err
}

// unconfirmed returns why a channel is not sent a test message.
func (c *session) unconfirmed(ch alert.Channel, saved bool) (why, err error) {
	if !saved {
		return addressError("%s is no confirmed address of a member, so it has to confirm that it may be sent "+
			"alerts. Save the channel: a mail asks for it.", ch.Address()), nil
	}
	asked, err := c.lastAsked(ch.WorkspaceID, ch.Address())
	return addressError("The channel waits for the confirmation of %s, which was asked for by mail at %s. Another "+
		"mail can be sent from %s.", ch.Address(),
		kernel.FormatTime(asked), kernel.FormatTime(asked.Add(alert.ConfirmationInterval))), err
}

// AddressConfirmation is a mail that asks for the confirmation of an address.
type AddressConfirmation struct {
	WorkspaceID, Workspace string // id and name
	Address                string
	AskedAt                time.Time
	Code                   string // of the link; only TakeConfirmations returns it
}

const confirmationColumns = `c.workspace_id, workspaces.name, c.address, c.asked_at`

func scanConfirmation(row database.Row) (a AddressConfirmation, err error) {
	err = row.Scan(&a.WorkspaceID, &a.Workspace, &a.Address, instant{&a.AskedAt})
	return
}

// TakeConfirmations returns mails that are to be sent now, at most limit, the first of each workspace before the second
// of any. A mail is returned again after alert.ConfirmationRetry unless ConfirmationSent is called, at most
// alert.ConfirmationAttempts times, with another code each time.
func (s *Store) TakeConfirmations(ctx context.Context, limit int) ([]AddressConfirmation, error) {
	now, err := s.Clock(ctx)
	if err != nil {
		return nil, err
	}
	found, err := s.exists(ctx, `SELECT 1 FROM address_confirmations WHERE due_at <= $1`, millis(now))
	if err != nil || !found {
		return nil, err
	}
	return write(ctx, s, func(t *tx) (due []AddressConfirmation, err error) {
		t.skipBeforeReturn = true
		if err := t.lockMutex(mutexAlerts); err != nil {
			return nil, err
		}
		due, err = database.Query(t.Session, scanConfirmation,
			`SELECT `+confirmationColumns+` FROM (SELECT workspace_id, address, asked_at,
				row_number() OVER (PARTITION BY workspace_id ORDER BY due_at, address) AS turn
				FROM address_confirmations WHERE due_at <= $1) c
			JOIN workspaces ON workspaces.id = c.workspace_id ORDER BY c.turn, c.asked_at, c.address
			LIMIT $2`, millis(t.Now), limit)
		for i := range due {
			a := &due[i]
			a.Code = rand.Text() // 130 bits
			if err == nil {
				_, err = t.Exec(`UPDATE address_confirmations SET hash = $4, attempts = attempts + 1, due_at = CASE
					WHEN attempts + 1 < $5 THEN CAST($6 AS BIGINT) END
					WHERE workspace_id = $1 AND address = $2 AND asked_at = $3`, a.WorkspaceID, a.Address,
					millis(a.AskedAt),
					account.HashTokenSecret(a.Code), alert.ConfirmationAttempts,
					millis(t.Now.Add(alert.ConfirmationRetry)))
			}
		}
		return due, err
	})
}

// ConfirmationSent records that a mail need not be sent again.
func (s *Store) ConfirmationSent(ctx context.Context, a AddressConfirmation) error {
	return writeOnly(ctx, s, func(t *tx) error {
		t.skipBeforeReturn = true
		_, err := t.Exec(`UPDATE address_confirmations SET due_at = NULL WHERE hash = $1`,
			account.HashTokenSecret(a.Code))
		return err
	})
}

// FindConfirmation returns what the code of a mail confirms. It returns kernel.ErrNotFound if the code is not valid
// (any more).
func (s *Store) FindConfirmation(ctx context.Context, code string) (AddressConfirmation, error) {
	return read(ctx, s, func(c *session) (AddressConfirmation, error) { return c.findConfirmation(code) })
}

func (c *session) findConfirmation(code string) (AddressConfirmation, error) {
	return database.One(c.Session, scanConfirmation,
		`SELECT `+confirmationColumns+` FROM address_confirmations c JOIN workspaces ON workspaces.id = c.workspace_id
		WHERE c.hash = $1 AND c.asked_at > $2`, account.HashTokenSecret(code),
		millis(c.Now.Add(-alert.ConfirmationLifetime)))
}

// ConfirmAddress lets an address be sent alerts of a workspace, and uses the code up. What waits for its channels is
// sent now. It returns kernel.ErrNotFound if the code is not valid (any more). from is the IP address of the client.
func (s *Store) ConfirmAddress(ctx context.Context, code, from string) (AddressConfirmation, error) {
	return write(ctx, s, func(t *tx) (a AddressConfirmation, err error) {
		if err := t.lockMutex(mutexAlerts); err != nil {
			return a, err
		}
		if a, err = t.findConfirmation(code); err != nil {
			return a, err
		}
		ids, err := t.ids(`SELECT id FROM alert_channels WHERE workspace_id = $1 AND address = $2
			AND deleted_at IS NULL ORDER BY id FOR UPDATE`, a.WorkspaceID, a.Address)
		if err == nil {
			err = t.confirmAddress(a.WorkspaceID, a.Address)
		}
		actor := kernel.Actor{Kind: kernel.ActorLink, Name: a.Address, WorkspaceID: a.WorkspaceID, Address: from}
		for _, id := range ids {
			if err == nil {
				err = t.channelConfirmed(actor, id)
			}
		}
		t.signal(effectAlertsPending)
		return a, err
	})
}

// channelConfirmed records that the address of a locked channel was confirmed.
func (t *tx) channelConfirmed(actor kernel.Actor, id string) error {
	ch, err := t.channelByID(id)
	if err != nil {
		return err
	}
	before := ch
	before.AddressConfirmed = false
	if err := t.planChannel(id); err != nil {
		return err
	}
	_, err = t.Exec(`UPDATE alert_channels SET due_at = $2 WHERE id = $1 AND due_at > $2`, id, millis(t.Now))
	if err != nil {
		return err
	}
	return t.audit(actor, kernel.AuditConfirm, resource.Channel.Audited(before), resource.Channel.Audited(ch))
}
