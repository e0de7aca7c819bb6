package store

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"slices"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// PushKey is the key pair by which push services know this installation, in base64 (RFC 8292). The zero value: browsers
// cannot be notified.
type PushKey struct{ Public, Private string }

// pushKeyID is the id of the only row of push_keys.
const pushKeyID = "vapid"

// PushKey returns the key pair, which the first call makes. If the database has no key of secrets to seal it, the
// result is the zero value. If the key pair was sealed with another key, the error is secret.ErrNoKey.
func (s *Store) PushKey(ctx context.Context) (PushKey, error) {
	type stored struct {
		public string
		sealed []byte
	}
	scan := func(row database.Row) (k stored, err error) {
		err = row.Scan(&k.public, &k.sealed)
		return
	}
	if !s.CanSeal() {
		return PushKey{}, nil
	}
	saved := func(c *session) (PushKey, error) {
		k, err := database.One(c.Session, scan, `SELECT public_key, sealed_private FROM push_keys WHERE id = $1`,
			pushKeyID)
		if err != nil {
			return PushKey{}, err
		}
		private, err := s.openTarget(pushKeyID, "", k.sealed)
		if err != nil {
			return PushKey{}, err
		}
		return PushKey{k.public, private}, nil
	}
	if key, err := read(ctx, s, saved); !errors.Is(err, kernel.ErrNotFound) {
		return key, err
	}
	key, err := write(ctx, s, func(t *tx) (PushKey, error) {
		t.skipBeforeReturn = true
		keys, err := t.keysForSealing(slices.Values([]string{"key"}))
		if err != nil {
			return PushKey{}, err
		}
		pair, err := ecdh.P256().GenerateKey(rand.Reader)
		if err != nil {
			return PushKey{}, err
		}
		made := PushKey{
			base64.RawURLEncoding.EncodeToString(pair.PublicKey().Bytes()),
			base64.RawURLEncoding.EncodeToString(pair.Bytes()),
		}
		_, err = t.Exec(`INSERT INTO push_keys (id, public_key, sealed_private, created_at) VALUES ($1, $2, $3, $4)`,
			pushKeyID, made.Public, keys.Seal([]byte(made.Private), pushKeyID), millis(t.Now))
		return made, err
	})
	if err != nil && s.db.IsDuplicate(err) {
		return read(ctx, s, saved) // another replica made it
	}
	return key, err
}

// maxBrowsers is how many browsers can be notified of the end of one incident.
const maxBrowsers = 20_000

// PushSignUp is the request of a browser to be notified of the end of an incident.
type PushSignUp struct {
	Slug, IncidentID string
	Target           audience.PushTarget
	Admitted         bool // the visitor may see the page although it is private
}

// SubscribeToEnd subscribes a browser to the end of an incident. Repeating it changes nothing. The error is a
// *kernel.ValidationError if the browser's subscription is invalid, if the incident is over, or if maxBrowsers wait for
// its end, and kernel.ErrNotFound if the page does not show the incident.
func (s *Store) SubscribeToEnd(ctx context.Context, r PushSignUp) error {
	n, err := audience.NewSubscriber{
		Channel: audience.ChannelPush, Target: r.Target.String(), IncidentID: r.IncidentID,
	}.CheckSignUp()
	if err != nil {
		return err
	}
	n.Confirmed = true // the browser has asked its user
	err = writeOnly(ctx, s, func(t *tx) error {
		p, err := t.publicPage(r.Slug)
		if err == nil && p.Visibility == statuspage.VisibilityPrivate && !r.Admitted {
			err = kernel.ErrNotFound
		}
		if err != nil {
			return err
		}
		if err := t.checkEndIsSent(p.ID, r.IncidentID); err != nil {
			return err
		}
		sub, err := t.subscribe(p.ID, n, byVisitor)
		if err == nil && r.Admitted {
			err = t.admitSubscriber(sub)
		}
		return err
	})
	if err != nil && s.db.IsDuplicate(err) {
		return nil // it is subscribed already
	}
	return err
}

// checkEndIsSent locks an incident of a page, so that it does not end meanwhile, and returns a *kernel.ValidationError
// if no further browser can be notified of its end.
func (t *tx) checkEndIsSent(pageID, incidentID string) error {
	i, err := t.lockIncidentRow(incidentID)
	if err != nil {
		return err
	}
	if i.PageID != pageID || i.Draft {
		return kernel.ErrNotFound
	}
	browsers, err := database.One(t.Session, database.ScanInt,
		`SELECT count(*) FROM subscribers WHERE incident_id = $1`, incidentID)
	if err != nil {
		return err
	}
	var bad kernel.ValidationError
	switch {
	case i.Resolved:
		bad.Add("incident_id", "The incident is over.")
	case !i.Notified:
		bad.Add("incident_id", "No one is notified of this incident.")
	case browsers >= maxBrowsers:
		bad.Add("incident_id", "At most %d browsers are notified of an incident.", maxBrowsers)
	}
	return bad.Err()
}
