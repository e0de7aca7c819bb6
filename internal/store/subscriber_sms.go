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

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// SMSOptions are the settings of SMS to subscribers.
type SMSOptions struct {
	Channel     string   // id or name of the alert channel that sends them; "": none
	DailyLimit  int      // maximum SMS per UTC day, all replicas together; 0: no limit
	SignUpLimit int      // maximum sign-ups of visitors by SMS per UTC day, all replicas together; 0: no limit
	Countries   []string // calling codes of the numbers that visitors can enter; empty: all
}

// Counters of the table sms_counts. It has another one for each phone number that visitors entered: see numberCounter.
const (
	smsSent    = "sent"
	smsSignUps = "sign_ups"
)

// smsCountsKept is how long a counter is kept, from the beginning of its day.
const smsCountsKept = 48 * time.Hour

// SMSGateway sends SMS to the subscribers of one workspace's pages.
type SMSGateway struct {
	Channel alert.Channel // with its secrets; zero: there is none

	// Problem is why no SMS can be sent, a sentence for the operator of the installation; "": SMS can be sent.
	Problem string
}

// Serves reports whether the gateway works and sends SMS to the subscribers of a workspace's pages.
func (g SMSGateway) Serves(workspaceID string) bool {
	return g.Problem == "" && g.Channel.WorkspaceID == workspaceID
}

// SMSGateway returns the gateway that the settings name. A gateway that cannot be used is no error: see
// SMSGateway.Problem.
func (s *Store) SMSGateway(ctx context.Context) (SMSGateway, error) {
	return read(ctx, s, (*session).smsGateway)
}

// smsGateway is Store.SMSGateway in a transaction.
func (c *session) smsGateway() (SMSGateway, error) {
	g, err := c.smsChannel()
	if err == nil && g.Problem == "" && g.Channel.HasSecrets() != nil {
		g.Problem = fmt.Sprintf("The secrets of the alert channel %q cannot be opened.", g.Channel.Name)
	}
	return g, err
}

// smsChannel finds the channel that the settings name.
func (c *session) smsChannel() (g SMSGateway, err error) {
	ref := c.s.sms.Channel
	if ref == "" {
		return SMSGateway{Problem: "ALLSWELL_SMS_CHANNEL is not set."}, nil
	}
	channels := c.s.channels()
	found, err := database.Query(c.Session, channels.scan,
		`SELECT `+channels.selected+` FROM alert_channels WHERE deleted_at IS NULL AND `+
			idOrName(ref, alert.PrefixChannel)+` = $1 LIMIT 2`,
		ref)
	if err != nil {
		return g, err
	}
	switch {
	case len(found) == 0:
		g.Problem = fmt.Sprintf("There is no alert channel with the id or the name %q (ALLSWELL_SMS_CHANNEL).", ref)
		return g, nil
	case len(found) > 1:
		g.Problem = fmt.Sprintf("Several workspaces have an alert channel with the name %q: ALLSWELL_SMS_CHANNEL "+
			"must be its id.", ref)
		return g, nil
	}
	switch g.Channel = found[0]; {
	case !slices.Contains(alert.SMSTypes, g.Channel.Type):
		g.Problem = fmt.Sprintf("The alert channel %q has the type %s, and not %s (ALLSWELL_SMS_CHANNEL).",
			g.Channel.Name, g.Channel.Type, strings.Join(alert.SMSTypes, " or "))
	case !g.Channel.Enabled:
		g.Problem = fmt.Sprintf("The alert channel %q is disabled.", g.Channel.Name)
	}
	return g, nil
}

// checkSMS returns a *kernel.ValidationError if no SMS can be sent to subscribers of a workspace's pages. Only the
// workspace that owns the channel learns what is wrong with it.
func (c *session) checkSMS(workspaceID string) error {
	g, err := c.smsGateway()
	if err != nil || g.Serves(workspaceID) {
		return err
	}
	var bad kernel.ValidationError
	if g.Problem != "" && g.Channel.WorkspaceID == workspaceID {
		bad.Add("channel", "No SMS can be sent. %s", g.Problem)
	} else {
		bad.Add("channel",
			"No SMS can be sent: the server has no gateway for the pages of this workspace (ALLSWELL_SMS_CHANNEL).")
	}
	return bad.Err()
}

// fillSMS sets Page.SMS: whether SMS can be sent to subscribers of the page.
func (c *session) fillSMS(p *statuspage.Page) error {
	if c.s.sms.Channel == "" {
		return nil
	}
	g, err := c.smsGateway()
	p.SMS = g.Serves(p.WorkspaceID)
	return err
}

// TakeSMS counts an SMS towards the daily limit, before it is sent. It returns kernel.ErrSMSLimit, and counts
// nothing, if the limit of this UTC day is reached; next is then the beginning of the next day.
func (s *Store) TakeSMS(ctx context.Context) (next time.Time, err error) {
	return write(ctx, s, func(t *tx) (time.Time, error) {
		return nextDay(t.Now), t.countSMS(smsSent, s.sms.DailyLimit)
	})
}

// ReturnSMS undoes TakeSMS for an SMS that was not sent. It does nothing if a new UTC day has begun since.
func (s *Store) ReturnSMS(ctx context.Context) error {
	return writeOnly(ctx, s, func(t *tx) error {
		_, err := t.Exec(`UPDATE sms_counts SET n = n - 1 WHERE day_at = $1 AND counter = $2 AND n > 0`,
			millis(startOfDay(t.Now)), smsSent)
		return err
	})
}

// startOfDay returns the beginning of the UTC day of an instant, and nextDay its end.
func startOfDay(now time.Time) time.Time { return now.UTC().Truncate(24 * time.Hour) }
func nextDay(now time.Time) time.Time    { return startOfDay(now).Add(24 * time.Hour) }

// countSMS increments a counter of this UTC day. It returns kernel.ErrSMSLimit if the counter has reached the limit;
// 0: no limit.
func (t *tx) countSMS(counter string, limit int) error {
	n, err := database.One(t.Session, database.ScanInt, `INSERT INTO sms_counts (day_at, counter, n) VALUES ($1, $2, 1)
		ON CONFLICT (day_at, counter) DO UPDATE SET n = sms_counts.n + 1 RETURNING n`, millis(startOfDay(t.Now)),
		counter)
	if err == nil && limit > 0 && n > int64(limit) {
		err = kernel.ErrSMSLimit // rolls the increment back
	}
	return err
}

// admitSMSSignUp decides whether a visitor can sign up with a phone number, and counts the sign-up. accept is false if
// the number was entered too often: the visitor then sees the usual response, and no code is sent. It returns a
// *kernel.ValidationError if the number cannot be subscribed, and kernel.ErrSMSLimit if a limit of this UTC day is
// reached.
func (t *tx) admitSMSSignUp(workspaceID, number string) (accept bool, err error) {
	if err := t.checkSMS(workspaceID); err != nil {
		return false, err
	}
	if !audience.InCountries(number, t.s.sms.Countries) {
		var bad kernel.ValidationError
		bad.Add("country", "Phone numbers of this country cannot be subscribed here.")
		return false, bad.Err()
	}
	sent, err := t.smsCount(smsSent)
	if err != nil {
		return false, err
	}
	if t.s.sms.DailyLimit > 0 && sent >= int64(t.s.sms.DailyLimit) {
		return false, kernel.ErrSMSLimit
	}
	entered, err := t.smsCount(numberCounter(number))
	if err != nil || entered >= audience.MaxSMSSignUps {
		return false, err
	}
	if err := t.countSMS(smsSignUps, t.s.sms.SignUpLimit); err != nil {
		return false, err
	}
	return true, t.countSMS(numberCounter(number), 0)
}

// smsCount returns the value of a counter of this UTC day.
func (t *tx) smsCount(counter string) (int64, error) {
	n, err := database.One(t.Session, database.ScanInt, `SELECT n FROM sms_counts WHERE day_at = $1 AND counter = $2`,
		millis(startOfDay(t.Now)), counter)
	if errors.Is(err, kernel.ErrNotFound) {
		return 0, nil
	}
	return n, err
}

// numberCounter returns the name of the counter of a phone number: a hash, so that the table has no numbers.
func numberCounter(number string) string {
	sum := sha256.Sum256([]byte("sms\n" + number))
	return hex.EncodeToString(sum[:])
}
