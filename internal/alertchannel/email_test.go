package alertchannel

import (
	"context"
	"strings"
	"testing"

	"github.com/allswell/allswell"
)

// TestEmail sends every message as a mail. The header is tested with a real server in the package notify.
func TestEmail(t *testing.T) {
	var got Mail
	outcome := allswell.SendOutcome{Result: allswell.SendAccepted}
	sender := NewSender(Config{Mail: func(_ context.Context, m Mail) allswell.SendOutcome {
		got = m
		return outcome
	}})
	defer sender.Close()
	channel := newChannel(t, "email", `{"to":" oncall@example.com "}`, "")
	for title, m := range messages("") {
		if r := sender.Send(t.Context(), channel, m); r.Result != allswell.SendAccepted {
			t.Errorf("%s: %+v", title, r)
		}
		thread := ""
		if m.Thread != nil {
			thread = m.Thread.ID
		}
		if got.ID != m.ID || got.ThreadID != thread || got.To != "oncall@example.com" || len([]rune(got.Subject)) > emailSubject || len([]rune(got.Text)) > emailText+1 || !strings.HasSuffix(got.Text, "\n") {
			t.Errorf("%s: %+v", title, got)
		}
	}
	outcome = allswell.SendOutcome{Result: allswell.SendServerUnavailable, Reason: "busy"}
	if r := sender.Send(t.Context(), channel, messages("")["one"]); r.Result != allswell.SendFailed || r.Reason != "busy" {
		t.Errorf("a server that is busy: %+v", r)
	}
	sender.Mail = nil
	if r := sender.Send(t.Context(), channel, messages("")["one"]); r.Result != allswell.SendFailed || !strings.Contains(r.Reason, "ALLSWELL_SMTP_URL") {
		t.Errorf("without a server: %+v", r)
	}
	for _, bad := range []string{"oncall", "Ops <oncall@example.com>", "a@example.com, b@example.com", ""} {
		var invalid allswell.ValidationError
		(&email{To: bad}).Validate(&invalid)
		if len(invalid.Fields["to"]) == 0 {
			t.Errorf("the address %q was accepted", bad)
		}
	}
}
