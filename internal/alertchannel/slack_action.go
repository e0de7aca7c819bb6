package alertchannel

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// SlackAction is a report by Slack that somebody has pressed a button of a message, as described at
// https://docs.slack.dev/reference/interaction-payloads/block_actions-payload.
type SlackAction struct {
	Key         string // of the thread of the message
	User        string // name of who pressed it; "": not known
	Acknowledge bool   // the button was Acknowledge
}

// slackAcknowledge is the action_id of the button Acknowledge.
const slackAcknowledge = "acknowledge"

// slackTolerance is the maximum difference between the timestamp of a report and the clock of this server.
const slackTolerance = 5 * time.Minute

// errSlackAction means that a request is not a report about a button.
var errSlackAction = errors.New("no report of a button in Slack")

// ReadSlackAction parses the body of a request. The result may be forged unless VerifySlack accepts the request. It
// returns an error if the body is not a report about one button.
func ReadSlackAction(body []byte) (a SlackAction, err error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return a, errSlackAction
	}
	var payload struct {
		Type string `json:"type"`
		User struct {
			Name     string `json:"name"`
			Username string `json:"username"`
		} `json:"user"`
		Actions []struct {
			ActionID string `json:"action_id"`
			Value    string `json:"value"`
		} `json:"actions"`
	}
	if json.Unmarshal([]byte(form.Get("payload")), &payload) != nil || payload.Type != "block_actions" ||
		len(payload.Actions) != 1 || payload.Actions[0].Value == "" {
		return a, errSlackAction
	}
	action := payload.Actions[0]
	a = SlackAction{Key: action.Value, User: payload.User.Name, Acknowledge: action.ActionID == slackAcknowledge}
	if a.User == "" {
		a.User = payload.User.Username
	}
	return a, nil
}

// VerifySlack reports whether a request has a signature with the signing secret of a channel, and a timestamp at most
// five minutes from now, as described at https://docs.slack.dev/authentication/verifying-requests-from-slack.
func VerifySlack(c alert.Channel, header http.Header, body []byte, now time.Time) bool {
	bot := new(slackBot)
	if c.Type != slackBotType.Name || configfield.Configure(bot, c.Config, c.Secrets) != nil || bot.Signing == "" {
		return false
	}
	stamp := header.Get("X-Slack-Request-Timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > slackTolerance {
		return false
	}
	sum := hmac.New(sha256.New, []byte(bot.Signing))
	sum.Write([]byte("v0:" + stamp + ":"))
	sum.Write(body)
	return hmac.Equal([]byte(header.Get("X-Slack-Signature")), []byte("v0="+hex.EncodeToString(sum.Sum(nil))))
}
