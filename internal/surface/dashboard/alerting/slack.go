package alerting

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
	"github.com/allswell/allswell/internal/surface/web"
)

// Limits of a report from Slack, which waits three seconds for the answer.
const (
	maxSlackBytes = 256 << 10
	slackTimeout  = 2500 * time.Millisecond
)

// pressSlackButton acknowledges the alerts of a message after somebody has pressed its button in Slack.
func (r *request) pressSlackButton() error {
	body, err := io.ReadAll(http.MaxBytesReader(r.W, r.Body, maxSlackBytes))
	if errors.Is(err, web.ErrBodies) {
		return r.busy()
	}
	if err != nil {
		return r.answerProgram(http.StatusRequestEntityTooLarge, "The report is too long.")
	}
	ctx, cancel := context.WithTimeout(r.Context(), slackTimeout)
	defer cancel()
	action, err := alertchannel.ReadSlackAction(body)
	channel := alert.Channel{}
	if err == nil && frame.IsText(action.Key) {
		if channel, err = r.Store.ThreadChannel(ctx, action.Key); err != nil && !errors.Is(err, kernel.ErrNotFound) {
			return r.busy()
		}
	}
	if !alertchannel.VerifySlack(channel, r.Header, body, r.Now()) {
		return r.refuseSlackReport()
	}
	if !action.Acknowledge {
		return r.answerProgram(http.StatusOK, "")
	}
	_, err = r.Store.AcknowledgeThread(ctx, action.Key,
		kernel.Actor{Kind: kernel.ActorSlack, Name: slackName(action.User), Address: r.Actor().Address})
	if err != nil {
		return r.busy()
	}
	return r.answerProgram(http.StatusOK, "")
}

// refuseSlackReport rejects an unsigned report. All get the same answer, which reveals nothing about keys. The limit of
// unsigned reports does not affect signed ones, because other apps send from Slack's addresses, too.
func (r *request) refuseSlackReport() error {
	if !r.slackFaults.Take(clientaddr.Of(r.Request.Request), r.Now()).Allowed {
		return r.answerProgram(http.StatusTooManyRequests, "Too many reports that are not signed.")
	}
	return r.answerProgram(http.StatusUnauthorized, "The report is not signed by the app of a channel.")
}

// slackName returns the name from Slack of the person who pressed a button; "": not known.
func slackName(user string) string {
	return alert.Shorten(kernel.OneLine(user), kernel.MaxNameLength)
}

// busy answers 503. Slack then shows a failure, and the button can be pressed again.
func (r *request) busy() error {
	return r.answerProgram(http.StatusServiceUnavailable, "Please try again.")
}

// answerProgram answers with a short text.
func (r *request) answerProgram(status int, text string) error {
	r.W.Header().Set("Content-Type", "text/plain; charset=utf-8")
	r.W.WriteHeader(status)
	_, err := io.WriteString(r.W, text)
	return err
}
