package store

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// SignUp is a request of the public form.
type SignUp struct {
	Slug       string
	Subscriber audience.NewSubscriber // never confirmed
	Discard    bool                   // accept the request, but do not act on it
	Admitted   bool                   // the visitor may see the page although it is private
}

// RequestSignUp accepts a request to subscribe an email address, a webhook, a chat or a phone. When it returns nil,
// the request is durable; ProcessSignUps acts on it.
//
// It runs the same statements for every target of a channel, so that neither its result nor its duration shows whether
// the target is subscribed. The error is kernel.ErrNotFound if the page does not exist or has become private for the
// visitor meanwhile. It is a *kernel.ValidationError if the target or a component is invalid, if the page does not
// offer webhooks, or if no SMS can be sent to the phone. It is kernel.ErrSMSLimit if a limit of SMS is reached for
// today.
func (s *Store) RequestSignUp(ctx context.Context, r SignUp) error {
	n, err := r.Subscriber.CheckSignUp()
	if err != nil {
		return err
	}
	return writeOnly(ctx, s, func(t *tx) error {
		p, err := t.publicPage(r.Slug)
		if err == nil && p.Visibility == statuspage.VisibilityPrivate && !r.Admitted {
			err = kernel.ErrNotFound
		}
		if err == nil && n.Channel != audience.ChannelEmail && !p.WebhookSignUps {
			var bad kernel.ValidationError
			bad.Add("channel", "This page does not accept webhooks from visitors.")
			err = bad.Err()
		}
		if err == nil {
			err = t.checkChosen(p.ID, "", n.Components)
		}
		discard := r.Discard
		if err == nil && n.Channel == audience.ChannelSMS && !discard {
			var accept bool
			accept, err = t.admitSMSSignUp(p.WorkspaceID, n.Target)
			discard = !accept
		}
		if err != nil {
			return err
		}
		t.signal(effectDeliveriesPending)
		id := kernel.NewID(kernel.PrefixSignUp, t.Now)
		target, err := t.storeTarget(id, targetHash(p.ID, n.Channel, n.Target), n.Channel, n.Target)
		if err != nil {
			return err
		}
		_, err = t.Exec(`INSERT INTO sign_ups (id, page_id, channel, target, components, discarded, admitted,
			created_at, target_key, sealed_target)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			id, p.ID, string(n.Channel), target.shown, list(n.Components), discard, r.Admitted, millis(t.Now),
			target.key, target.sealed)
		return err
	})
}

// signUpRows is the maximum number of requests that one transaction processes.
const signUpRows = 100

// storedSignUp is a row of sign_ups.
type storedSignUp struct {
	id, pageID, target string
	channel            audience.Channel
	components         []string
	discarded          bool
	admitted           bool // SignUp.Admitted
	key                string
	sealed             []byte // see storedTarget
}

func scanSignUp(row database.Row) (r storedSignUp, err error) {
	err = row.Scan(&r.id, &r.pageID, &r.channel, &r.target, listOf[string]{&r.components}, &r.discarded, &r.admitted,
		&r.key, &r.sealed)
	return
}

// ProcessSignUps processes requests to subscribe in their order, and reports whether there may be more. A new target
// becomes a subscriber and is sent a request for confirmation; an unconfirmed one is sent it again, with a new code; a
// confirmed one is sent the link to its subscription, except a webhook, whose messages all have the link. Each is sent
// at most one message in audience.RepeatMailInterval. Any number of replicas may run it.
func (s *Store) ProcessSignUps(ctx context.Context) (more bool, err error) {
	if found, err := s.exists(ctx, `SELECT 1 FROM sign_ups`); err != nil || !found {
		return false, err
	}
	more, err = s.processSignUps(ctx)
	if err != nil && s.db.IsDuplicate(err) {
		more, err = s.processSignUps(ctx) // another transaction added the address
	}
	return more, err
}

func (s *Store) processSignUps(ctx context.Context) (more bool, err error) {
	return write(ctx, s, func(t *tx) (bool, error) {
		// A replica that deletes the same rows at the same time waits here and then finds none.
		rows, err := database.Query(t.Session, scanSignUp,
			`DELETE FROM sign_ups WHERE id IN (SELECT id FROM sign_ups ORDER BY id LIMIT $1)
			RETURNING id, page_id, channel, target, components, discarded, admitted, target_key,
			sealed_target`, signUpRows)
		slices.SortFunc(rows, func(a, b storedSignUp) int { return strings.Compare(a.id, b.id) })
		for _, r := range rows {
			if err == nil && !r.discarded {
				err = t.processSignUp(r)
			}
		}
		return len(rows) == signUpRows, err
	})
}

func (t *tx) processSignUp(r storedSignUp) error {
	known, err := database.One(t.Session, subscriberTable.scan, `SELECT `+subscriberTable.selected+` FROM subscribers
		WHERE page_id = $1 AND channel = $2 AND target = $3 AND target_key = $4 FOR UPDATE`, r.pageID,
		string(r.channel), r.target, r.key)
	if errors.Is(err, kernel.ErrNotFound) {
		chosen, err := database.Query(t.Session, database.ScanString, `SELECT id `+choosable, r.pageID,
			list(r.components), "")
		if err != nil || len(chosen) == 0 && len(r.components) > 0 {
			return err // all chosen components have been deleted or hidden
		}
		target, err := t.s.openTarget(r.id, r.target, r.sealed)
		if err != nil {
			t.s.log.Error("a sign-up cannot be read", "error", err)
			return nil // the key of secrets was replaced meanwhile
		}
		n := audience.NewSubscriber{Channel: r.channel, Target: target, Components: chosen}
		sub, err := t.subscribe(r.pageID, n, byVisitor)
		if err == nil && r.admitted {
			err = t.admitSubscriber(sub)
		}
		return err
	}
	if err == nil && r.admitted {
		err = t.admitSubscriber(known)
	}
	if err != nil || t.Now.Before(known.MailedAt.Add(audience.RepeatMailInterval)) {
		return err
	}
	if known.Channel == audience.ChannelWebhook && !known.ConfirmedAt.IsZero() {
		return nil
	}
	if _, err := t.Exec(`UPDATE subscribers SET mailed_at = $2 WHERE id = $1`, known.ID, millis(t.Now)); err != nil {
		return err
	}
	if known.ConfirmedAt.IsZero() {
		if known.Channel.Coded() {
			known.RequestCode(t.Now)
			_, err := t.Exec(`UPDATE subscribers SET code = $2, code_until_at = $3, code_attempts = 0 WHERE id = $1`,
				known.ID, known.Code, millis(known.CodeUntil))
			if err != nil {
				return err
			}
		}
		return t.queueMessage(known, audience.PurposeConfirmation)
	}
	return t.queueMessage(known, audience.PurposeLink)
}

// admitSubscriber notes that a subscriber has signed up on a private page, and so gets events while it is private.
func (t *tx) admitSubscriber(sub audience.Subscriber) error {
	_, err := t.Exec(`UPDATE subscribers SET admitted = TRUE WHERE id = $1`, sub.ID)
	return err
}
