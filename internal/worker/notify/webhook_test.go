package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

const (
	webhookTestBase   = "https://status.example.com"
	webhookTestSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	webhookTestToken  = "t0ken-in-the-path"
)

// testTimeout is the maximum time that a test waits for something that should happen
// immediately.
const testTimeout = 30 * time.Second

var webhookTestTime = time.Date(2026, 3, 1, 2, 4, 5, 678_900_000, time.UTC)

// webhookNotifications returns one notification of each type, as in docs/webhooks.md.
func webhookNotifications() map[statuspage.EventKind]audience.Notification {
	notices := make(map[statuspage.EventKind]audience.Notification)
	for _, e := range slices.Concat(webhookIncidents(), webhookMaintenances(), webhookWarnings()) {
		notices[e.Kind] = webhookNotification("https://hooks.example.com/", e)
	}
	notices[webhookConfirmation] = visitorsConfirmation("https://hooks.example.com/")
	return notices
}

// visitorsConfirmation returns the request to confirm a webhook that a visitor added.
func visitorsConfirmation(target string) audience.Notification {
	n := webhookNotification(target, audience.Event{})
	n.Events, n.Delivery.Purpose, n.Delivery.Attempts, n.Delivery.HappenedAt = nil, audience.PurposeConfirmation, 1,
		webhookTestTime
	n.Subscriber.AddedByOperator, n.Subscriber.ConfirmedAt = false, time.Time{}
	n.Subscriber.Key = "Qm7tXc2LwZ9pKd4RfVb8NsHy3JgTe6Ua"
	return n
}

// webhookIncidents returns the events of an incident and of a component.
func webhookIncidents() []audience.Event {
	incident := audience.Event{
		Kind: statuspage.EventIncidentCreated,
		ID:   "evt_06jb3e8o00abcdefghij", IncidentID: "019ca744-4c9e-7a60-8a39-4d7f6c1f2b3e",
		Data: audience.EventData{
			Title: "Checkout is slow", Impact: kernel.ImpactMajor, State: statuspage.IncidentInvestigating,
			Message: "Payments take up to **a minute**. We are looking into it.",
			Affected: []statuspage.AffectedChange{
				{ComponentID: "comp_06jb2d7n00checkout00", Name: "Checkout", New: kernel.StatusPartialOutage},
				{ComponentID: "comp_06jb2d7n00website000", Name: "Website", New: kernel.StatusDegraded},
			},
		},
		UpdateID: "upd_06jb3e8o00k1m2n3o4p5",
	}
	updated, resolved := incident, incident
	updated.Kind, updated.UpdateID, updated.Data.State = statuspage.EventIncidentUpdated, "upd_06jb3f9p00k1m2n3o4p5",
		statuspage.IncidentIdentified
	updated.Data.Message = "A database index is missing. It is being built."
	updated.Data.Affected = slices.Clone(incident.Data.Affected)
	updated.Data.Affected[1].Old, updated.Data.Affected[1].New = kernel.StatusDegraded, kernel.StatusOperational
	resolved.Kind, resolved.UpdateID, resolved.Data.Message = statuspage.EventIncidentResolved, "", ""
	resolved.Data.State, resolved.Data.Resolved = statuspage.IncidentResolved, true
	changed := audience.Event{
		Kind:        statuspage.EventComponentStatusChanged,
		ComponentID: "comp_06jb2d7n00abcdefghij", MonitorID: "mon_06jb2d7n00qrstuvabcd",
		Data: audience.EventData{
			Component: "Nightly backup", OldStatus: kernel.StatusOperational, NewStatus: kernel.StatusMajorOutage,
		},
	}
	events := []audience.Event{incident, updated, resolved, changed}
	for i := range events {
		events[i].CreatedAt = webhookTestTime.Add(time.Duration(i) * 20 * time.Minute)
	}
	postmortem := resolved
	postmortem.Kind, postmortem.CreatedAt = statuspage.EventIncidentPostmortem,
		time.Date(2026, 3, 3, 9, 30, 0, 0, time.UTC)
	postmortem.Data.Message = "A deployment removed an index. We now test deployments on a copy of the data."
	return append(events, postmortem)
}

// webhookMaintenances returns all kinds of events of a planned maintenance.
func webhookMaintenances() (events []audience.Event) {
	begin := webhookTestTime.Truncate(time.Hour).AddDate(0, 0, 8)
	for _, c := range []struct {
		kind            statuspage.EventKind
		at              time.Time
		state           statuspage.MaintenanceState
		update, message string
	}{
		{statuspage.EventMaintenanceScheduled, webhookTestTime, statuspage.MaintenanceScheduled,
			"upd_06jb3e8o00q1r2s3t4u5", "Writes wait for up to *a minute*; nothing is lost."},
		{statuspage.EventMaintenanceReminder, begin.AddDate(0, 0, -1), statuspage.MaintenanceScheduled, "", ""},
		{statuspage.EventMaintenanceBegun, begin, statuspage.MaintenanceInProgress, "upd_06jdf3k000q1r2s3t4u5",
			"The maintenance has begun."},
		{statuspage.EventMaintenanceUpdated, begin.Add(40 * time.Minute), statuspage.MaintenanceVerifying,
			"upd_06jdf7s000q1r2s3t4u5", "The new version runs. We are checking the results."},
		{statuspage.EventMaintenanceEnded, begin.Add(2 * time.Hour), statuspage.MaintenanceCompleted,
			"upd_06jdfe0000q1r2s3t4u5", "The maintenance is complete."},
		{statuspage.EventMaintenanceCancelled, begin.Add(-time.Hour), statuspage.MaintenanceScheduled, "", ""},
	} {
		events = append(events, audience.Event{
			Kind: c.kind, MaintenanceID: "mnt_06jb3e8o00f1g2h3i4j5", UpdateID: c.update, CreatedAt: c.at,
			Data: audience.EventData{
				Title: "Database upgrade", Message: c.message, Maintenance: &audience.MaintenanceData{
					State: c.state, ScheduledFor: begin, ScheduledUntil: begin.Add(2 * time.Hour),
					Components: []statuspage.ComponentName{{ID: "comp_06jb2d7n00checkout00", Name: "Checkout"}},
				},
			},
		})
	}
	return events
}

// webhookWarnings returns both kinds of events of a warning.
func webhookWarnings() []audience.Event {
	m := monitor.Monitor{
		ID: "mon_06jb2d7n00qrstuvabcd",
		MonitorConfig: monitor.MonitorConfig{
			Name: "Nightly backup", Slug: "nightly-backup", ComponentID: "comp_06jb2d7n00abcdefghij",
		},
	}
	begun := audience.NewWarningEvent(m, monitor.Warning{
		ID: "warn_06jb3e8o00h1i2j3k4l5", Number: 1, WarnedAt: webhookTestTime,
		Violation: monitor.Violation{
			Condition: monitor.ConditionMinRuntime, RunID: "0191a1b2-0000-7000-8000-000000000101",
			Message: "A run succeeded after 10 seconds, in less than 1 minute.",
		},
	})
	return []audience.Event{begun, begun.Ended(webhookTestTime.Add(24 * time.Hour))}
}

func webhookNotification(target string, e audience.Event) audience.Notification {
	return audience.Notification{
		Delivery: audience.Delivery{ID: "dlv_06jb3e8o00zyxwvutsrq", Channel: audience.ChannelWebhook},
		Subscriber: audience.Subscriber{
			Channel: audience.ChannelWebhook, Target: target, Secret: webhookTestSecret, ConfirmedAt: webhookTestTime,
			AddedByOperator: true,
		},
		Page: statuspage.Page{Slug: "acme", Name: "Acme"}, Events: []audience.Event{e},
	}
}

// TestWebhookExamples checks that the examples in docs/webhooks are what is sent, and that docs/webhooks.md links to
// each of them.
func TestWebhookExamples(t *testing.T) {
	page := string(read(t, "../../../docs/webhooks.md"))
	files, err := filepath.Glob("../../../docs/webhooks/*.json")
	if err != nil {
		t.Fatal(err)
	}
	examples := make(map[statuspage.EventKind]string)
	for _, file := range files {
		kind := strings.TrimSuffix(filepath.Base(file), ".json")
		examples[statuspage.EventKind(kind)] = strings.TrimSpace(string(read(t, file)))
		if !strings.Contains(page, "| [`"+kind+"`](webhooks/"+kind+".json) |") {
			t.Errorf("docs/webhooks.md does not link to the example of %s", kind)
		}
	}
	notices := webhookNotifications()
	for kind := range examples {
		if _, ok := notices[kind]; !ok {
			t.Errorf("%s is documented but not sent", kind)
		}
	}
	for kind, n := range notices {
		body, err := webhookBody(n, webhookTestBase)
		if err != nil {
			t.Fatal(err)
		}
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, body, "", "  "); err != nil {
			t.Fatal(err)
		}
		if pretty.String() != examples[kind] {
			t.Errorf("docs/webhooks/%s.json is\n%s\nsent is\n%s", kind, examples[kind], pretty.String())
		}
	}
}

// TestWebhookTestMessage checks the body of a test message, which no event causes.
func TestWebhookTestMessage(t *testing.T) {
	n := audience.Notification{
		Delivery: audience.Delivery{
			Purpose: audience.PurposeTest, CreatedAt: time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC),
		},
		Page: statuspage.Page{Slug: "acme", Name: "Acme"}, Subscriber: audience.Subscriber{AddedByOperator: true},
	}
	body, err := webhookBody(n, "https://status.example.com")
	want := `{"type":"test","timestamp":"2026-11-21T04:00:00.000Z","data":{"page":{"slug":"acme","name":"Acme",` +
		`"url":"https://status.example.com/status/acme"},` +
		`"incident":null,"maintenance":null,"update":null,"postmortem":null,"component":null,"monitor_id":null,` +
		`"monitor":null,"warning":null,"subscription":null}}`
	if err != nil || string(body) != want {
		t.Errorf("body of the test message: %s, %v", body, err)
	}
}

func TestWebhookBodyNulls(t *testing.T) {
	n := webhookNotifications()[statuspage.EventIncidentCreated]
	e := &n.Events[0]
	e.UpdateID, e.MonitorID, e.Data.Message, e.Data.Title, e.Data.Affected = "", "mon_1", "", "<\u2028\"&", nil
	e.CreatedAt = e.CreatedAt.In(time.FixedZone("", 3600))
	// Only the last event is sent.
	n.Events = append([]audience.Event{{Kind: "other"}}, n.Events...)
	body, err := webhookBody(n, "")
	want := `{"type":"incident.created","timestamp":"2026-03-01T02:04:05.678Z","data":{` +
		`"page":{"slug":"acme","name":"Acme","url":null},` +
		`"incident":{"id":"019ca744-4c9e-7a60-8a39-4d7f6c1f2b3e","title":"\u003c\u2028\"\u0026","impact":"major",` +
		`"state":"investigating","resolved":false,"url":null,"components":[]},` +
		`"maintenance":null,"update":null,"postmortem":null,"component":null,"monitor_id":"mon_1","monitor":null,` +
		`"warning":null,"subscription":null}}`
	if err != nil || string(body) != want {
		t.Errorf("body with fields that are null: %v\n%s\nwant\n%s", err, body, want)
	}
}

// TestWebhookLinks checks that links lead to the page's own domain, and not to deleted
// maintenances.
func TestWebhookLinks(t *testing.T) {
	notices := webhookNotifications()
	for _, c := range []struct {
		kind               statuspage.EventKind
		domain, base       string
		page, about, other any
	}{
		{statuspage.EventIncidentCreated, "", webhookTestBase, webhookTestBase + "/status/acme",
			webhookTestBase + "/status/acme/incidents/019ca744-4c9e-7a60-8a39-4d7f6c1f2b3e", nil},
		{statuspage.EventIncidentCreated, "status.acme.example", webhookTestBase, "https://status.acme.example",
			"https://status.acme.example/incidents/019ca744-4c9e-7a60-8a39-4d7f6c1f2b3e", nil},
		{statuspage.EventMaintenanceBegun, "status.acme.example", "", "https://status.acme.example",
			nil, "https://status.acme.example/maintenances/mnt_06jb3e8o00f1g2h3i4j5"},
		{statuspage.EventMaintenanceBegun, "", "", nil, nil, nil},
		{statuspage.EventMaintenanceCancelled, "status.acme.example", "", "https://status.acme.example", nil, nil},
	} {
		n := notices[c.kind]
		n.Page.Host = c.domain
		body, err := webhookBody(n, c.base)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Data struct{ Page, Incident, Maintenance map[string]any }
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		if d := got.Data; d.Page["url"] != c.page || d.Incident["url"] != c.about || d.Maintenance["url"] != c.other {
			t.Errorf("%s of %q at %q: %s", c.kind, c.domain, c.base, body)
		}
	}
}

// TestWebhookAffected checks that a resolved incident reports its components as
// operational.
func TestWebhookAffected(t *testing.T) {
	statuses := func(n audience.Notification) string {
		body, err := webhookBody(n, webhookTestBase)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Data struct {
				Incident struct{ Components []struct{ Status string } }
			}
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(got.Data.Incident.Components)
	}
	n := webhookNotifications()[statuspage.EventIncidentCreated]
	if got := statuses(n); got != "[{partial_outage} {degraded}]" {
		t.Errorf("created: %s", got)
	}
	n.Events[0].Kind = statuspage.EventIncidentResolved
	if got := statuses(n); got != "[{operational} {operational}]" {
		t.Errorf("resolved: %s", got)
	}
	n.Events[0].Kind, n.Events[0].Data.Resolved = statuspage.EventIncidentUpdated, true
	if got := statuses(n); got != "[{operational} {operational}]" {
		t.Errorf("an update after the resolution: %s", got)
	}
}

// webhookSend sends to target within testTimeout, and checks the rules that apply to
// every outcome.
func webhookSend(t *testing.T, w *webhooks, target string) audience.SendOutcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	n := webhookNotifications()[statuspage.EventIncidentCreated]
	n.Subscriber.Target = target + "/" + webhookTestToken + "?key=" + webhookTestToken
	o := w.send(ctx, n)
	if ctx.Err() != nil {
		t.Errorf("it took %s", testTimeout)
	}
	if (o.Reason == "") != (o.Result == audience.SendAccepted) || utf8.RuneCountInString(o.Reason) > 300 ||
		strings.Contains(o.Reason+o.Detail, webhookTestToken) || strings.Contains(o.Reason+o.Detail, "whsec_") {
		t.Errorf("result %d with reason %q", o.Result, o.Reason)
	}
	return o
}

func webhookSender(t *testing.T) *webhooks {
	w := newWebhooks(Config{BaseURL: webhookTestBase, AllowPrivate: true})
	t.Cleanup(w.close)
	return w
}

var webhookNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// httpDate is a time from webhookNow in a header.
func httpDate(d time.Duration) string { return webhookNow.Add(d).Format(http.TimeFormat) }

// webhookStatuses are answers of webhooks, and what they mean at webhookNow.
var webhookStatuses = []struct {
	code   int
	after  string // Retry-After
	result audience.SendResult
	wait   time.Duration
	reason string

	unreachable bool
}{
	{200, "60", audience.SendAccepted, 0, "", false},
	{201, "", audience.SendAccepted, 0, "", false},
	{204, "", audience.SendAccepted, 0, "", false},
	{299, "", audience.SendAccepted, 0, "", false},
	{301, "", audience.SendFailed, 0, "The webhook answered 301, and redirects are not followed.", false},
	{307, "5", audience.SendFailed, 5 * time.Second, "The webhook answered 307, and redirects are not followed.",
		false},
	{400, "", audience.SendFailed, 0, "The webhook answered 400.", false},
	{401, "", audience.SendFailed, 0, "The webhook answered 401.", false},
	{404, "7", audience.SendFailed, 7 * time.Second, "The webhook answered 404.", false},
	{410, "", audience.SendGone, 0, "The webhook answered 410: it is gone.", false},
	{429, "120", audience.SendFailed, 2 * time.Minute, "The webhook answered 429.", true},
	{429, httpDate(90 * time.Second), audience.SendFailed, 90 * time.Second, "The webhook answered 429.", true},
	{429, httpDate(-time.Hour), audience.SendFailed, 0, "The webhook answered 429.", true},
	{429, httpDate(48 * time.Hour), audience.SendFailed, 24 * time.Hour, "The webhook answered 429.", true},
	{503, "86401", audience.SendFailed, 24 * time.Hour, "The webhook answered 503.", true},
	{503, "99999999999999999999", audience.SendFailed, 24 * time.Hour, "The webhook answered 503.", true},
	{503, "-5", audience.SendFailed, 0, "The webhook answered 503.", true},
	{503, "soon", audience.SendFailed, 0, "The webhook answered 503.", true},
	{500, "", audience.SendFailed, 0, "The webhook answered 500.", true},
	{999, "", audience.SendFailed, 0, "The webhook answered 999.", false},
}

func TestWebhookStatuses(t *testing.T) {
	t.Parallel()
	var followed atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Add(1) }))
	defer elsewhere.Close()
	for _, c := range webhookStatuses {
		t.Run(strings.TrimSpace(fmt.Sprint(c.code, " ", c.after)), func(t *testing.T) {
			var requests atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				rw.Header().Set("Location", elsewhere.URL)
				if c.after != "" {
					rw.Header().Set("Retry-After", c.after)
				}
				rw.WriteHeader(c.code)
			}))
			defer server.Close()
			w := webhookSender(t)
			w.now = func() time.Time { return webhookNow }
			want := audience.SendOutcome{
				Result: c.result, RetryAfter: c.wait, Reason: c.reason, Unreachable: c.unreachable,
			}
			if got := webhookSend(t, w, server.URL); got != want {
				t.Errorf("outcome: %+v\nwant %+v", got, want)
			}
			if requests.Load() != 1 {
				t.Errorf("%d requests", requests.Load())
			}
		})
	}
	if followed.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

// receivedRequest is a request that a receiver got.
type receivedRequest struct {
	Method, URI string
	Header      http.Header
	Body        []byte
}

// webhookSink starts a receiver that responds with 200 and returns its requests.
func webhookSink(t *testing.T) (address string, seen <-chan receivedRequest) {
	requests := make(chan receivedRequest, 16)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- receivedRequest{r.Method, r.RequestURI, r.Header, body}
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

func TestWebhookRequest(t *testing.T) {
	address, seen := webhookSink(t)
	n := webhookNotifications()[statuspage.EventIncidentCreated]
	n.Subscriber.Target = address + "/a%2Fb?c=d&e"
	if o := webhookSender(t).send(t.Context(), n); o.Result != audience.SendAccepted {
		t.Fatalf("outcome: %+v", o)
	}
	r := <-seen
	body, err := webhookBody(n, webhookTestBase)
	if err != nil || r.Method != "POST" || r.URI != "/a%2Fb?c=d&e" || !bytes.Equal(r.Body, body) {
		t.Errorf("request: %s %s\n%s\nwant\n%s (%v)", r.Method, r.URI, r.Body, body, err)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "Allswell", "Webhook-Id": n.Delivery.ID,
		"Content-Length": strconv.Itoa(len(body)),
	} {
		if got := r.Header.Values(name); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"Accept-Encoding", "Idempotency-Key", "Authorization", "Cookie", "Referer"} {
		if got := r.Header.Values(name); len(got) > 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestWebhookBroken checks that a message that cannot be sent is undeliverable, and that
// the reason does not reveal the secret.
func TestWebhookBroken(t *testing.T) {
	address, seen := webhookSink(t)
	for name, c := range map[string]struct {
		breakIt func(*audience.Notification)
		reason  string
	}{
		"no event":     {func(n *audience.Notification) { n.Events = nil }, "no event"},
		"kind":         {func(n *audience.Notification) { n.Events[0].Kind = "page.opened" }, "page.opened"},
		"no secret":    {func(n *audience.Notification) { n.Subscriber.Secret = "" }, "rotate"},
		"empty secret": {func(n *audience.Notification) { n.Subscriber.Secret = "whsec_" }, "rotate"},
		"secret":       {func(n *audience.Notification) { n.Subscriber.Secret = "whsec_S3CRET!" }, "rotate"},
		"scheme":       {func(n *audience.Notification) { n.Subscriber.Target = "ftp://S3CRET.example/" }, "URL"},
		"host":         {func(n *audience.Notification) { n.Subscriber.Target = "http:///S3CRET" }, "URL"},
		"target":       {func(n *audience.Notification) { n.Subscriber.Target = "http://a/%zzS3CRET" }, "URL"},
	} {
		t.Run(name, func(t *testing.T) {
			n := webhookNotifications()[statuspage.EventIncidentCreated]
			n.Subscriber.Target = address
			c.breakIt(&n)
			o := webhookSender(t).send(t.Context(), n)
			if o.Result != audience.SendUndeliverable || !strings.Contains(o.Reason, c.reason) ||
				strings.Contains(o.Reason, "S3CRET") {
				t.Errorf("outcome: %+v", o)
			}
		})
	}
	if len(seen) > 0 {
		t.Error("a request was sent")
	}
}
