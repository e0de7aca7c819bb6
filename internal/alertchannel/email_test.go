package alertchannel

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestEmail sends every message as a mail. The header is tested with a real server in the package notify.
func TestEmail(t *testing.T) {
	var got Mail
	outcome := audience.SendOutcome{Result: audience.SendAccepted}
	sender := NewSender(Config{Mail: func(_ context.Context, m Mail) audience.SendOutcome {
		got = m
		return outcome
	}})
	defer sender.Close()
	channel := newChannel(t, "email", `{"to":" oncall@example.com "}`, "")
	r := sender.Send(t.Context(), channel, messages("")["one"])
	if r.Result != audience.SendFailed || got.To != "" || !strings.Contains(r.Reason, "oncall@example.com") {
		t.Errorf("before its address is confirmed: %+v, and %+v was sent", r, got)
	}
	channel.AddressConfirmed = true
	for title, m := range messages("") {
		if r := sender.Send(t.Context(), channel, m); r.Result != audience.SendAccepted {
			t.Errorf("%s: %+v", title, r)
		}
		thread := ""
		if m.Thread != nil {
			thread = m.Thread.ID
		}
		if got.ID != m.ID || got.ThreadID != thread || got.To != "oncall@example.com" ||
			len([]rune(got.Subject)) > emailSubject || len([]rune(got.Text)) > emailText+1 ||
			!strings.HasSuffix(got.Text, "\n") {
			t.Errorf("%s: %+v", title, got)
		}
	}
	outcome = audience.SendOutcome{Result: audience.SendServerUnavailable, Reason: "busy"}
	r = sender.Send(t.Context(), channel, messages("")["one"])
	if r.Result != audience.SendFailed || r.Reason != "busy" {
		t.Errorf("a server that is busy: %+v", r)
	}
	sender.Mail = nil
	r = sender.Send(t.Context(), channel, messages("")["one"])
	if r.Result != audience.SendFailed || !strings.Contains(r.Reason, "ALLSWELL_SMTP_URL") {
		t.Errorf("without a server: %+v", r)
	}
	for _, bad := range []string{"oncall", "Ops <oncall@example.com>", "a@example.com, b@example.com", ""} {
		var invalid kernel.ValidationError
		(&email{To: bad}).Validate(&invalid)
		if !invalid.Has("to") {
			t.Errorf("the address %q was accepted", bad)
		}
	}
}

// TestEmailsThatTestHaveNoWordsOfTheTester sends a test mail by a channel whose names and templates have other words.
func TestEmailsThatTestHaveNoWordsOfTheTester(t *testing.T) {
	var got Mail
	sender := NewSender(Config{Mail: func(_ context.Context, m Mail) audience.SendOutcome {
		got = m
		return audience.SendOutcome{Result: audience.SendAccepted}
	}})
	defer sender.Close()
	channel := newChannel(t, "email", `{"to":"oncall@example.com"}`, "")
	channel.AddressConfirmed, channel.WorkspaceName, channel.Name = true, "Acme", "Cheap pills"
	channel.TitleTemplate, channel.TextTemplate = "Cheap pills", "Cheap pills at https://pills.example.com"
	for by, line := range map[string]string{
		"Ada":                     "Test message from Allswell, sent by Ada of Acme",
		"":                        "Test message from Allswell, sent by the weekly test of Acme",
		"Ada\n\nBuy at x.example": "Test message from Allswell, sent by AdaBuy at x.example of Acme",
	} {
		r := sender.Send(t.Context(), channel, TestMessage(channel, by, time.Now()))
		if r.Result != audience.SendAccepted {
			t.Errorf("result of the test by %q: %+v", by, r)
		}
		first, rest, _ := strings.Cut(got.Text, "\n")
		if got.Subject != "Test message from Allswell" || first != line || strings.Contains(rest, "pills") {
			t.Errorf("mail of the test by %q: %+v", by, got)
		}
	}
	o := sender.Test(t.Context(), channel, strings.Repeat("x", 5000))
	if o.Result != audience.SendAccepted || len(got.Text) > 400 {
		t.Errorf("a long name: %+v %+v", o, got)
	}
}
