package dashboard

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
	"github.com/allswell/allswell/internal/surface/web"
)

// Limits of a report of Slack, which waits three seconds for the answer.
const (
	maxSlackBytes = 256 << 10
	slackTimeout  = 2500 * time.Millisecond
)

// pressSlackButton acknowledges the alerts of a message whose button somebody has pressed in Slack.
func (v *visit) pressSlackButton() error {
	body, err := io.ReadAll(http.MaxBytesReader(v.w, v.r.Body, maxSlackBytes))
	if errors.Is(err, web.ErrBodies) {
		return v.busy()
	}
	if err != nil {
		return v.answerProgram(http.StatusRequestEntityTooLarge, "The report is too long.")
	}
	ctx, cancel := context.WithTimeout(v.r.Context(), slackTimeout)
	defer cancel()
	action, err := alertchannel.ReadSlackAction(body)
	channel := alert.Channel{}
	if err == nil && isText(action.Key) {
		if channel, err = v.store.ThreadChannel(ctx, action.Key); err != nil && !errors.Is(err, kernel.ErrNotFound) {
			return v.busy()
		}
	}
	if !alertchannel.VerifySlack(channel, v.r.Header, body, v.now()) {
		return v.refuseSlackReport()
	}
	if !action.Acknowledge {
		return v.answerProgram(http.StatusOK, "")
	}
	if _, err := v.store.AcknowledgeThread(
		ctx, action.Key,
		kernel.Actor{Kind: kernel.ActorSlack, Name: slackName(action.User), Address: v.actor().Address},
	); err != nil {
		return v.busy()
	}
	return v.answerProgram(http.StatusOK, "")
}

// refuseSlackReport answers a report that is not signed. All have the same answer, so that it says nothing about keys.
// Their limit does not keep out signed reports, because other apps can send from Slack's addresses, too.
func (v *visit) refuseSlackReport() error {
	if !v.slackFaults.Take(clientaddr.Of(v.r), v.now()).Allowed {
		return v.answerProgram(http.StatusTooManyRequests, "Too many reports that are not signed.")
	}
	return v.answerProgram(http.StatusUnauthorized, "The report is not signed by the app of a channel.")
}

// slackName returns the name that Slack gives for the person who pressed a button; "": it is not known.
func slackName(user string) string {
	return alert.Shorten(kernel.OneLine(user), kernel.MaxNameLength)
}

// busy answers that nothing was changed, as far as it is known. Slack shows that it has failed, and the button can be
// pressed again.
func (v *visit) busy() error {
	return v.answerProgram(http.StatusServiceUnavailable, "Please try again.")
}

// answerProgram answers with a short text.
func (v *visit) answerProgram(status int, text string) error {
	v.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	v.w.WriteHeader(status)
	_, err := io.WriteString(v.w, text)
	return err
}
