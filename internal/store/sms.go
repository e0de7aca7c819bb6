package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/database"
	"github.com/allswell/allswell/internal/secret"
)

// SMSOptions say how subscribers get SMS.
type SMSOptions struct {
	Channel     string   // id or name of the alert channel that sends them; "": none
	DailyLimit  int      // SMS in a day of UTC, of all replicas together; 0: no limit
	SignUpLimit int      // sign-ups of visitors by SMS in a day of UTC; 0: no limit
	Countries   []string // calling codes of the numbers that visitors can enter; empty: all
}

// The counters of sms_counts. The others are hashes of numbers.
const (
	smsSent    = "sent"
	smsSignUps = "sign_ups"
)

// smsCountsKept is how long counters are kept after the beginning of their day.
const smsCountsKept = 48 * time.Hour

// SMSGateway is what sends SMS to the subscribers of the pages of one workspace.
type SMSGateway struct {
	Channel alert.Channel // with its secrets; the zero value: there is none

	// Problem says why no SMS can be sent, as a sentence for the operator of the installation; "": they can.
	Problem string
}

// Serves reports whether the gateway sends SMS to the subscribers of a workspace's pages.
func (g SMSGateway) Serves(workspaceID string) bool {
	return g.Problem == "" && g.Channel.WorkspaceID == workspaceID
}

// SMSGateway returns the gateway that the settings name, as its channel is now.
func (s *Store) SMSGateway(ctx context.Context) (SMSGateway, error) {
	return read(ctx, s, func(c *session) (SMSGateway, error) {
		g, err := c.smsGateway()
		if err != nil || g.Problem != "" {
			return g, err
		}
		g.Channel.Secrets, err = c.channelSecrets(g.Channel.ID)
		if errors.Is(err, secret.ErrNoKey) || errors.Is(err, secret.ErrDamaged) || err == nil && g.Channel.HasSecrets() != nil {
			g.Problem, err = fmt.Sprintf("The secrets of the alert channel %q cannot be read.", g.Channel.Name), nil
		}
		return g, err
	})
}

// smsGateway returns the gateway without its secrets.
func (c *session) smsGateway() (g SMSGateway, err error) {
	ref := c.s.sms.Channel
	if ref == "" {
		return SMSGateway{Problem: "ALLSWELL_SMS_CHANNEL is not set."}, nil
	}
	found, err := database.Query(c.Session, scanChannel, `SELECT `+channelColumns+` FROM alert_channels WHERE `+idOrName(ref, alert.PrefixChannel)+` = $1 LIMIT 2`, ref)
	if err != nil {
		return g, err
	}
	switch {
	case len(found) == 0:
		g.Problem = fmt.Sprintf("There is no alert channel with the id or the name %q (ALLSWELL_SMS_CHANNEL).", ref)
		return g, nil
	case len(found) > 1:
		g.Problem = fmt.Sprintf("Several workspaces have an alert channel with the name %q: ALLSWELL_SMS_CHANNEL must be its id.", ref)
		return g, nil
	}
	switch g.Channel = found[0]; {
	case !slices.Contains(alert.SMSTypes, g.Channel.Type):
		g.Problem = fmt.Sprintf("The alert channel %q has the type %s, and not %s (ALLSWELL_SMS_CHANNEL).", g.Channel.Name, g.Channel.Type, strings.Join(alert.SMSTypes, " or "))
	case !g.Channel.Enabled:
		g.Problem = fmt.Sprintf("The alert channel %q is disabled.", g.Channel.Name)
	}
	return g, nil
}

// checkSMS returns an *allswell.ValidationError if no SMS can be sent to subscribers of a workspace's pages. It says what is wrong with the channel only
// to the workspace that has it.
func (c *session) checkSMS(workspaceID string) error {
	g, err := c.smsGateway()
	if err != nil || g.Serves(workspaceID) {
		return err
	}
	var bad allswell.ValidationError
	if g.Problem != "" && g.Channel.WorkspaceID == workspaceID {
		bad.Add("channel", "No SMS can be sent. %s", g.Problem)
	} else {
		bad.Add("channel", "No SMS can be sent: the server has no gateway for the pages of this workspace (ALLSWELL_SMS_CHANNEL).")
	}
	return bad.Err()
}

// fillSMS sets whether SMS can be sent to subscribers of a page.
func (c *session) fillSMS(p *allswell.Page) error {
	if c.s.sms.Channel == "" {
		return nil
	}
	g, err := c.smsGateway()
	p.SMS = g.Serves(p.WorkspaceID)
	return err
}

// TakeSMS counts an SMS that is about to be sent, or returns allswell.ErrSMSLimit if no more are sent on this day of UTC. next is then when
// the next day begins.
func (s *Store) TakeSMS(ctx context.Context) (next time.Time, err error) {
	return write(ctx, s, func(t *tx) (time.Time, error) {
		return nextDay(t.Now), t.countSMS(smsSent, s.sms.DailyLimit)
	})
}

// ReturnSMS takes back what TakeSMS counted, because the SMS was not sent.
func (s *Store) ReturnSMS(ctx context.Context) error {
	return writeOnly(ctx, s, func(t *tx) error {
		_, err := t.Exec(`UPDATE sms_counts SET n = n - 1 WHERE day_at = $1 AND counter = $2 AND n > 0`, millis(startOfDay(t.Now)), smsSent)
		return err
	})
}

// startOfDay returns when the day of UTC began, and nextDay when it ends.
func startOfDay(now time.Time) time.Time { return now.UTC().Truncate(24 * time.Hour) }
func nextDay(now time.Time) time.Time    { return startOfDay(now).Add(24 * time.Hour) }

// countSMS increments a counter of the day, or returns allswell.ErrSMSLimit if it has reached a limit; 0 is none.
func (t *tx) countSMS(counter string, limit int) error {
	n, err := database.One(t.Session, database.ScanInt, `INSERT INTO sms_counts (day_at, counter, n) VALUES ($1, $2, 1)
		ON CONFLICT (day_at, counter) DO UPDATE SET n = sms_counts.n + 1 RETURNING n`, millis(startOfDay(t.Now)), counter)
	if err == nil && limit > 0 && n > int64(limit) {
		err = allswell.ErrSMSLimit // which undoes the increment
	}
	return err
}

// admitSMSSignUp decides whether a visitor can sign up with a phone number, and counts it. accept is false if the request gets the usual answer, but
// nothing is sent, because the number was entered too often. The error is an *allswell.ValidationError, or allswell.ErrSMSLimit.
func (t *tx) admitSMSSignUp(workspaceID, number string) (accept bool, err error) {
	if err := t.checkSMS(workspaceID); err != nil {
		return false, err
	}
	if !allswell.InCountries(number, t.s.sms.Countries) {
		var bad allswell.ValidationError
		bad.Add("country", "Phone numbers of this country cannot be subscribed here.")
		return false, bad.Err()
	}
	sent, err := t.smsCount(smsSent)
	if err != nil {
		return false, err
	}
	if t.s.sms.DailyLimit > 0 && sent >= int64(t.s.sms.DailyLimit) {
		return false, allswell.ErrSMSLimit
	}
	entered, err := t.smsCount(numberHash(number))
	if err != nil || entered >= allswell.MaxSMSSignUps {
		return false, err
	}
	if err := t.countSMS(smsSignUps, t.s.sms.SignUpLimit); err != nil {
		return false, err
	}
	return true, t.countSMS(numberHash(number), 0)
}

// smsCount returns a counter of the day.
func (t *tx) smsCount(counter string) (int64, error) {
	n, err := database.One(t.Session, database.ScanInt, `SELECT n FROM sms_counts WHERE day_at = $1 AND counter = $2`, millis(startOfDay(t.Now)), counter)
	if errors.Is(err, allswell.ErrNotFound) {
		return 0, nil
	}
	return n, err
}

// numberHash returns the counter of a phone number.
func numberHash(number string) string {
	sum := sha256.Sum256([]byte("sms\n" + number))
	return hex.EncodeToString(sum[:])
}
