package notify

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/store"
)

// TestWhatEveryStatusMeans checks what each HTTP status of a webhook and of a push service means for the delivery, and
// that a Retry-After is honoured wherever the message is sent again.
func TestWhatEveryStatusMeans(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	hooks := &webhooks{now: func() time.Time { return now }}
	for code := 200; code <= 600; code++ {
		resp := &http.Response{StatusCode: code, Header: http.Header{"Retry-After": {"77"}}}
		number := fmt.Sprint(code)
		webhook := audience.SendOutcome{
			Result: audience.SendFailed, RetryAfter: 77 * time.Second,
			Unreachable: code == 429 || code >= 500 && code <= 599,
		}
		browser := audience.SendOutcome{Result: audience.SendRejected}
		switch {
		case code <= 299:
			webhook, browser = audience.SendOutcome{Result: audience.SendAccepted},
				audience.SendOutcome{Result: audience.SendAccepted}
			number = ""
		case code == 410:
			webhook, browser = audience.SendOutcome{Result: audience.SendGone},
				audience.SendOutcome{Result: audience.SendGone}
		case code == 404:
			browser = audience.SendOutcome{Result: audience.SendGone}
		case code == 429 || code >= 500:
			browser = audience.SendOutcome{
				Result: audience.SendFailed, RetryAfter: 77 * time.Second, Unreachable: code != 429,
			}
		}
		got := hooks.outcome(resp)
		if !strings.Contains(got.Reason, number) || (got.Reason == "") != (number == "") ||
			strings.Contains(got.Reason, "redirects are not followed") != (code >= 300 && code <= 399) {
			t.Errorf("a webhook answered %d: %q", code, got.Reason)
		}
		if got.Reason = ""; got != webhook {
			t.Errorf("a webhook answered %d: %+v, want %+v", code, got, webhook)
		}
		got = pushOutcome(resp, now)
		if (got.Reason == "") != (number == "") ||
			got.Result != audience.SendGone && !strings.Contains(got.Reason, number) {
			t.Errorf("a push service answered %d: %q", code, got.Reason)
		}
		if got.Reason = ""; got != browser {
			t.Errorf("a push service answered %d: %+v, want %+v", code, got, browser)
		}
	}
}

// TestColorsOfChats checks that a message has the color of its worst thread that is not over, wherever that is.
func TestColorsOfChats(t *testing.T) {
	kinds := []struct { // the better first
		thread
		color alertchannel.PostColor
	}{
		{thread{resolved: true, Tone: kernel.ImpactCritical.Tone()}, alertchannel.ColorOver},
		{thread{Tone: kernel.ImpactNone.Tone()}, alertchannel.ColorNeutral},
		{thread{planned: true, Tone: kernel.ImpactNone.Tone()}, alertchannel.ColorCalm},
		{thread{Tone: kernel.ImpactMinor.Tone()}, alertchannel.ColorMinor},
		{thread{Tone: kernel.ImpactMajor.Tone()}, alertchannel.ColorMajor},
		{thread{Tone: kernel.ImpactCritical.Tone()}, alertchannel.ColorCritical},
	}
	for i, worse := range kinds {
		for j, better := range kinds[:i+1] {
			for _, threads := range [][]thread{
				{worse.thread, better.thread}, {better.thread, worse.thread},
				{better.thread, worse.thread, better.thread},
			} {
				if got := chatColor(threads); got != worse.color {
					t.Errorf("kinds %d and %d: %v, want %v", i, j, got, worse.color)
				}
			}
		}
		if got := chatColor([]thread{worse.thread}); got != worse.color {
			t.Errorf("kind %d: %v, want %v", i, got, worse.color)
		}
	}
}

var (
	english = i18n.Or("en")
	cutNote = "(" + english.T("mail.cut") + ")"
)

func oneChatThread(th thread) string { return chatThreadsText([]thread{th}, english) }

// TestLimitsOfEntriesInChats checks which entries a message to a chat shows, and what it says about the others.
func TestLimitsOfEntriesInChats(t *testing.T) {
	for n := range chatEntries + 3 {
		for _, hidden := range []int{0, 2} {
			text := oneChatThread(thread{
				Title: "Title", State: "State", URL: "https://u", Entries: chatEntriesOf(n, 5), Hidden: hidden,
			})
			if shown := strings.Count(text, "xxxxx"); shown != min(n, chatEntries) || strings.Contains(text, cutNote) {
				t.Errorf("%d of %d entries are shown: %q", shown, n, text)
			}
			rest := hidden + max(0, n-chatEntries)
			if says := strings.Contains(text, english.T("mail.earlier", "n", rest)); says != (rest > 0) {
				t.Errorf("%d earlier entries: %q", rest, text)
			}
			if strings.Contains(text, "Title") || strings.Contains(text, "https://u") {
				t.Errorf("one thread repeats its title or its link: %q", text)
			}
		}
	}
}

func TestLimitOfTextsInChats(t *testing.T) {
	for size, want := range map[int]bool{chatText - 1: false, chatText: false, chatText + 1: true} {
		if got := strings.Contains(oneChatThread(thread{Entries: chatEntriesOf(1, size)}), cutNote); got != want {
			t.Errorf("%d characters are cut: %t", size, got)
		}
	}
	if text := oneChatThread(thread{Entries: []entry{{Text: "short", Short: true}}}); !strings.Contains(text, cutNote) {
		t.Errorf("a text that was cut before: %q", text)
	}
	full := oneChatThread(thread{Impact: "Major", When: "tomorrow", Affected: "API", Outages: 2, Since: "noon"})
	want := strings.Join([]string{
		"Major", "tomorrow", english.T("mail.affected", "components", "API"),
		english.T("mail.outages_since", "n", 2, "time", "noon"),
	}, "\n")
	if full != want {
		t.Errorf("text without a limit: %q, want %q", full, want)
	}
	if text := oneChatThread(thread{Impact: "Major", Outages: 1, Since: "noon"}); text != "Major" {
		t.Errorf("without what is empty: %q", text)
	}
}

func TestLimitOfThreadsInChats(t *testing.T) {
	for n := 2; n <= chatThreads+2; n++ {
		var threads []thread
		for i := range n {
			threads = append(threads, thread{
				Title: fmt.Sprint("title", i), State: "Open", URL: fmt.Sprint("https://u/", i),
			})
		}
		text := chatThreadsText(threads, english)
		for i := range n {
			if shown := strings.Contains(text, fmt.Sprint("Open: title", i)); shown != (i < chatThreads) {
				t.Errorf("thread %d of %d is shown: %t", i, n, shown)
			}
			if linked := strings.Contains(text, fmt.Sprint("https://u/", i)); linked != (i > 0 && i < chatThreads) {
				t.Errorf("thread %d of %d is linked: %t", i, n, linked)
			}
		}
		if says := strings.Contains(text, english.T("mail.more", "n", n-chatThreads)); says != (n > chatThreads) {
			t.Errorf("%d threads more: %q", n-chatThreads, text)
		}
	}
}

// chatEntriesOf returns entries with texts of this size.
func chatEntriesOf(n, size int) (all []entry) {
	for i := range n {
		all = append(all, entry{State: fmt.Sprint("state", i), At: "12:00", Text: strings.Repeat("x", size)})
	}
	return all
}

// logged counts the lines of a log by their level.
type logged map[slog.Level]int

func (l logged) Write(p []byte) (int, error) {
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelError} {
		if strings.Contains(string(p), "level="+level.String()) {
			l[level]++
		}
	}
	return len(p), nil
}

// oneServer is a sender whose messages go to one server, or to many if it is "".
type oneServer struct {
	sender
	name string
}

func (s oneServer) server() string { return s.name }

var sendResults = []audience.SendResult{
	audience.SendFailed, audience.SendAccepted, audience.SendRejected, audience.SendUndeliverable,
	audience.SendGone, audience.SendNotAttempted, audience.SendServerUnavailable,
}

// TestOutcomesReachTheGateTheCountsAndTheLog checks every outcome after every other one, for a channel with one server
// and for one with many.
func TestOutcomesReachTheGateTheCountsAndTheLog(t *testing.T) {
	for _, server := range []string{"", "mail.example.com:25"} {
		for _, failing := range []bool{false, true} {
			for _, result := range sendResults {
				for _, unreachable := range []bool{false, true} {
					checkOutcome(t, server, failing, result, unreachable)
				}
			}
		}
	}
}

// checkOutcome notes and reports the result of an attempt at a channel, whose server or host was failing before or not.
func checkOutcome(t *testing.T, server string, failing bool, result audience.SendResult, unreachable bool) {
	t.Helper()
	to := store.ClaimedDelivery{ID: "del_1", WorkspaceID: "ws_1", Host: "hooks.example.com"}
	log, counted := logged{}, 0
	n := &Notifier{Config: Config{
		Logger: slog.New(slog.NewTextHandler(io.MultiWriter(log),
			&slog.HandlerOptions{Level: slog.LevelDebug})),
		Settled: func(audience.Channel, audience.SendResult) { counted++ },
	}}
	c := channel{name: "test", places: 4, perHost: 2, minPause: time.Minute, maxPause: time.Hour}
	if server != "" {
		c.serverName, c.perHost = "server", 0
	}
	q := newQueue(n, c, oneServer{name: server})
	q.gate.Note(fair.Target{Workspace: to.WorkspaceID, Host: to.Host}, failing, time.Unix(1e9, 0))
	batch := []store.DeliveryResult{
		{
			ClaimedDelivery: to,
			Outcome: audience.SendOutcome{
				Result: result, Unreachable: unreachable, Detail: "detail", Reason: "reason",
			},
		},
	}
	q.noteResults(batch, time.Unix(1e9, 0))
	at := fmt.Sprintf("server %q, failing before %t, %v, unreachable %t", server, failing, result, unreachable)
	want := result
	if server != "" && failing && unreachable && result == audience.SendFailed {
		want = audience.SendServerUnavailable // it says nothing about the message
	}
	if got := batch[0].Outcome.Result; got != want {
		t.Errorf("%s: result %v, want %v", at, got, want)
	}
	attempted := result != audience.SendNotAttempted
	if got := q.gate.Failing(target(to)); got != (attempted && unreachable || !attempted && failing) {
		t.Errorf("%s: failing %t", at, got)
	}
	outage := server != "" && unreachable && attempted && result != audience.SendGone
	if errors := log[slog.LevelError]; errors > 0 != outage {
		t.Errorf("%s: %d errors are logged", at, errors)
	}
	clear(log)
	q.report(batch[0])
	if (counted == 1) != attempted {
		t.Errorf("%s: counted %d times", at, counted)
	}
	failed := attempted && result != audience.SendAccepted
	info := failed && (server == "" || !unreachable)
	if (log[slog.LevelInfo] == 1) != info || (log[slog.LevelDebug] == 1) != (failed && !info) {
		t.Errorf("%s: logged %v", at, log)
	}
}
