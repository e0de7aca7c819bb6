package alerter

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/test/syncbuffer"
)

// TestLinksOfMessages checks which links messages get.
func TestLinksOfMessages(t *testing.T) {
	thread := &alert.Thread{ID: "thr_1", Key: "k"}
	for _, c := range []struct {
		base   string
		thread *alert.Thread
		want   alert.Links
	}{
		{"", thread, alert.Links{}}, {"", nil, alert.Links{}},
		{"https://a.example", nil, alert.Links{Alerts: "https://a.example/admin/alerts"}},
		{"https://a.example/status", thread,
			alert.Links{
				Alerts:      "https://a.example/status/admin/alerts",
				Acknowledge: "https://a.example/status/admin/alert-link?key=k",
			}},
	} {
		if got := WithLinks(alert.Message{Thread: c.thread}, c.base).Links; got != c.want {
			t.Errorf("below %q: %+v, want %+v", c.base, got, c.want)
		}
	}
}

// TestEarliest checks that the earlier of two instants is returned in either order, and that a zero instant is ignored.
func TestEarliest(t *testing.T) {
	var none time.Time
	first, second := time.Unix(1, 0), time.Unix(2, 0)
	for _, c := range [][3]time.Time{
		{none, none, none}, {none, first, first}, {first, none, first}, {first, second, first}, {second, first, first},
		{first, first, first},
	} {
		if got := earliest(c[0], c[1]); !got.Equal(c[2]) {
			t.Errorf("%v and %v: %v", c[0], c[1], got)
		}
	}
}

// TestAttempts checks what an attempt results in if the channel cannot be used, or its sender fails.
func TestAttempts(t *testing.T) {
	sent := 0
	a := &Alerter{
		Config: Config{
			Logger: slog.New(slog.DiscardHandler),
			Sender: alertchannel.NewSender(alertchannel.Config{Mail: func(
				_ context.Context, m alertchannel.Mail,
			) audience.SendOutcome {
				if sent++; strings.Contains(m.To, "panic") {
					panic("no memory")
				}
				return audience.SendOutcome{Result: audience.SendAccepted}
			}}),
		},
	}
	for _, c := range []struct {
		to      string
		missing bool
		result  audience.SendResult
		reason  string
		sent    int
	}{
		{"ann@example.com", false, audience.SendAccepted, "", 1},
		{"ann@example.com", true, audience.SendFailed,
			"The secrets of the channel cannot be decrypted: enter them again.", 0},
		{"panic@example.com", false, audience.SendUndeliverable, "An internal error prevented it.", 1},
	} {
		sent = 0
		channel := alert.Channel{
			ID: "chn_1", Type: alert.EmailType, Name: "Mail", AddressConfirmed: true,
			Health: alert.Health{SecretsUnreadable: c.missing}, Config: json.RawMessage(`{"to":"` + c.to + `"}`),
		}
		m := store.ClaimedMessage{Message: alertchannel.TestMessage(channel, "", time.Unix(1e9, 0)), Channel: channel}
		if got := a.attempt(t.Context(), m); got.Result != c.result || got.Reason != c.reason || sent != c.sent {
			t.Errorf("%+v: %+v, sent %d times", c, got, sent)
		}
	}
}

// TestBatchesThatAreDue checks that full batches follow each other immediately, that all that was taken is sent
// although the taking failed, and that nothing is taken after the end.
func TestBatchesThatAreDue(t *testing.T) {
	var log syncbuffer.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	ctx, end := context.WithCancel(t.Context())
	var mu sync.Mutex
	var sent, limits []int
	due := [][]int{{1, 2, 3}, {4, 5, 6}, {7}, {8}}
	b := batches[int]{
		size: 3, interval: time.Hour, what: "looking",
		take: func(_ context.Context, limit int) (batch []int, err error) {
			limits = append(limits, limit)
			batch, due = due[0], due[1:]
			if batch[0] == 7 {
				end() // what is taken is sent nevertheless
			}
			if batch[0] == 4 {
				err = errors.New("connection lost")
			}
			return batch, err
		},
		send: func(n int) {
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, n)
		},
	}
	b.run(ctx, logger)
	slices.Sort(sent)
	if !slices.Equal(sent, []int{1, 2, 3, 4, 5, 6, 7}) || !slices.Equal(limits, []int{3, 3, 3}) {
		t.Errorf("%v are sent, with the limits %v", sent, limits)
	}
	got := log.String()
	if strings.Count(got, "looking failed; retrying") != 1 || !strings.Contains(got, "connection lost") {
		t.Errorf("the log: %s", got)
	}
	if n := b.sendDue(ctx, logger); n != 0 || len(due) != 1 {
		t.Errorf("%d are sent after the end", n)
	}
}
