package api

import (
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/limit"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/internal/surface/signin/password"
	"github.com/allswell/allswell/internal/surface/web"
	"github.com/google/go-cmp/cmp"
)

func init() { password.Weaken() }

// clock is the clock of a test. Only Advance moves it, and what reads it if it runs.
type clock struct {
	mu   sync.Mutex
	now  time.Time
	runs bool
}

func newClock() *clock {
	// At least the host's time, because the store records the last use of a token by that.
	return &clock{now: time.Now().UTC().Truncate(time.Second).Add(time.Hour)}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs {
		c.now = c.now.Add(time.Millisecond)
	}
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// service is a real handler over a real store.
type service struct {
	http.Handler
	store *store.Store
	clock *clock
	log   *strings.Builder
	found statuspage.DomainResult  // result of every domain check
	seen  *statuspage.DomainLookup // what it sees of the domain

	commits func() int64 // a number that changes with every commit; nil: unknown
	stateMu sync.Mutex
	states  map[string]savedState // by token
}

// savedState is what state returned.
type savedState struct {
	commits int64
	objects map[string]any
}

// countCommits returns a function that returns a number which changes when a transaction on a SQLite database is
// committed, and nil for other databases.
func countCommits(t testing.TB, dsn string) func() int64 {
	t.Helper()
	path, isFile := strings.CutPrefix(dsn, "sqlite:")
	if !isFile {
		return nil
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1) // the version is counted for each connection
	return func() (n int64) {
		if err := db.QueryRow("PRAGMA data_version").Scan(&n); err != nil {
			panic(err)
		}
		return n
	}
}

// client calls the service. It checks each response against the OpenAPI document.
type client struct {
	*service
	t       testing.TB
	token   string // "": none is sent
	address string
}

// each runs f on every engine, with an admin token of a new workspace.
func each(t *testing.T, f func(t *testing.T, c *client)) {
	t.Helper()
	eachWith(t, Config{}, f)
}

func eachWith(t *testing.T, config Config, f func(t *testing.T, c *client)) {
	t.Helper()
	t.Parallel() // most of a test is waiting for the disk
	hosts := statuspage.NewHosts("allswell.example", "alias.allswell.example")
	if base, err := url.Parse(config.BaseURL); err == nil && base.Host != "" {
		hosts = statuspage.NewHosts(base.Host)
	}
	storetest.Each(t, func(t *testing.T, dsn string) {
		clk := newClock()
		c := newClient(t,
			storetest.Open(t, dsn, storetest.WithKey(t, dsn, store.Options{Clock: clk.Now, Hosts: hosts})), clk, config)
		c.commits = countCommits(t, dsn)
		f(t, c)
	})
}

func newClient(t testing.TB, s *store.Store, clk *clock, config Config) *client {
	t.Helper()
	log := new(strings.Builder)
	config.Store, config.Now = s, clk.Now
	if config.Limits != nil { // they are per client of the tests
		config.Limits = limit.NewTokens(config.Limits.Calls.Limit())
	}
	config.Logger = slog.New(slog.NewTextHandler(log, nil))
	_, secret := storetest.Workspace(t, s, "ours")
	svc := &service{store: s, clock: clk, log: log}
	config.VerifyDomain = func(
		ctx context.Context, actor kernel.Actor, slug string, save ...store.SaveResponse[statuspage.Page],
	) (statuspage.Page, error) {
		p, err := s.Page(ctx, actor, slug)
		if err != nil {
			return p, err
		}
		return s.RecordDomainCheck(ctx,
			store.DomainCheck{PageID: p.ID, Domain: p.Domain, Actor: actor, Lookup: svc.seen}, svc.found, save...)
	}
	config.Tests = web.NewCheckTester(func(
		ctx context.Context, _ string, kind monitor.MonitorType, spec monitor.CheckSpec,
	) (r monitor.CheckResult, err error) {
		of, _ := check.TypeOf(kind)
		p, err := of.Probe(spec.Config, spec.Secrets)
		if err != nil {
			return r, err
		}
		o := check.Run(ctx, new(check.Network), p, spec.Timeout)
		r = monitor.CheckResult{
			DueAt: clk.Now(), StartedAt: clk.Now(), Status: monitor.CheckOK, Reason: o.Failure, Phases: o.Phases,
			Body: o.Body, Location: "here",
		}
		if o.Failure != "" {
			r.Status = monitor.CheckFailed
		}
		return r, nil
	}, clk.Now)
	config.ChannelTests = web.NewChannelTester(alertchannel.NewSender(alertchannel.Config{AllowPrivate: true}).Test,
		clk.Now)
	svc.Handler = New(config)
	return &client{service: svc, t: t, token: secret, address: "192.0.2.1:4711"}
}

// in returns the same client for a subtest.
func (c *client) in(t testing.TB) *client {
	out := *c
	out.t = t
	return &out
}

// with returns the same client with another token.
func (c *client) with(token string) *client {
	out := *c
	out.token = token
	return &out
}

// stranger returns an admin of another workspace.
func (c *client) stranger() *client {
	c.t.Helper()
	_, secret := storetest.Workspace(c.t, c.store, "theirs")
	return c.with(secret)
}

// answer is a response.
type answer struct {
	t      testing.TB
	asked  string
	status int
	header http.Header
	body   []byte
}

// do sends a request. The body is a string, which is sent unchanged, nil for no body, or a
// value that is marshalled to JSON. extra are names and values of headers.
func (c *client) do(method, target string, body any, extra ...string) answer {
	c.t.Helper()
	var text string
	var reader io.Reader
	switch b := body.(type) {
	case io.Reader:
		reader = b
	case nil:
	case string:
		text = b
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			c.t.Fatal(err)
		}
		text = string(raw)
	}
	if reader == nil {
		reader = strings.NewReader(text)
	}
	r := httptest.NewRequest(method, target, reader)
	r.RemoteAddr = c.address
	r.Host = "status.example.com"
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i < len(extra); i += 2 {
		r.Header.Add(extra[i], extra[i+1])
	}
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	a := answer{t: c.t, asked: method + " " + target, status: w.Code, header: w.Header(), body: w.Body.Bytes()}
	if method == http.MethodHead {
		a.body = nil // net/http leaves it out
	}
	checkAgainstDocument(c.t, r, a.status, a.header, a.body)
	return a
}

func (c *client) get(target string) answer { c.t.Helper(); return c.do("GET", target, nil) }
func (c *client) post(target string, body any) answer {
	c.t.Helper()
	return c.do("POST", target, body)
}
func (c *client) patch(target string, body any) answer {
	c.t.Helper()
	return c.do("PATCH", target, body)
}
func (c *client) put(target string, body any) answer {
	c.t.Helper()
	return c.do("PUT", target, body)
}
func (c *client) delete(target string) answer { c.t.Helper(); return c.do("DELETE", target, nil) }

// is ends the test unless the response has the status.
func (a answer) is(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s = %d, want %d: %s", a.asked, a.status, status, a.body)
	}
	return a
}

// object reads the body as a JSON object.
func (a answer) object() map[string]any {
	a.t.Helper()
	var out map[string]any
	if err := json.Unmarshal(a.body, &out); err != nil {
		a.t.Fatalf("%s: %v in %s", a.asked, err, a.body)
	}
	return out
}

// data returns the resource in the body.
func (a answer) data() map[string]any {
	a.t.Helper()
	object := a.object()
	if keys := slices.Sorted(maps.Keys(object)); !slices.Equal(keys, []string{"data"}) {
		a.t.Fatalf("%s: the keys are %v, not data alone", a.asked, keys)
	}
	data, ok := object["data"].(map[string]any)
	if !ok {
		a.t.Fatalf("%s: data is no object in %s", a.asked, a.body)
	}
	return data
}

// rows returns the resources of a list.
func (a answer) rows() []map[string]any {
	a.t.Helper()
	rows, ok := a.object()["data"].([]any)
	if !ok {
		a.t.Fatalf("%s: data is no array in %s", a.asked, a.body)
	}
	out := make([]map[string]any, len(rows))
	for i, row := range rows {
		out[i] = row.(map[string]any)
	}
	return out
}

// id returns the id of the resource in the body.
func (a answer) id() string {
	a.t.Helper()
	id, ok := a.data()["id"].(string)
	if !ok {
		a.t.Fatalf("%s: no id in %s", a.asked, a.body)
	}
	return id
}

// complains ends the test unless the response is a 422 for exactly these fields.
func (a answer) complains(fields ...string) answer {
	a.t.Helper()
	a.is(http.StatusUnprocessableEntity)
	if code := a.object()["code"]; code != "invalid" {
		a.t.Fatalf("%s: the code is %v", a.asked, code)
	}
	errors, _ := a.object()["errors"].(map[string]any)
	got := slices.Sorted(maps.Keys(errors))
	slices.Sort(fields)
	if !slices.Equal(got, fields) {
		a.t.Fatalf("%s complains of %v, want %v: %s", a.asked, got, fields, a.body)
	}
	return a
}

// says ends the test unless the body has only the message and the code of the status.
func (a answer) says(message string) answer {
	a.t.Helper()
	want := map[string]any{"message": message}
	switch a.status {
	case http.StatusForbidden:
		want["code"] = "forbidden"
	case http.StatusMethodNotAllowed:
		want["code"] = "method_not_allowed"
	case http.StatusConflict:
		want["code"] = "in_progress"
	case http.StatusRequestEntityTooLarge:
		want["code"] = "too_large"
	case http.StatusTooManyRequests:
		want["code"] = "rate_limited"
	}
	if diff := cmp.Diff(want, a.object()); diff != "" {
		a.t.Fatalf("%s (-want +got):\n%s", a.asked, diff)
	}
	return a
}

// sentence compares only the message.
func (a answer) sentence(want string) answer {
	a.t.Helper()
	if got := a.object()["message"]; got != want {
		a.t.Errorf("%s: the message is %q, want %q", a.asked, got, want)
	}
	return a
}

// has compares some fields of the resource.
func (a answer) has(want map[string]any) answer {
	a.t.Helper()
	data := a.data()
	got := make(map[string]any)
	for name := range want {
		if value, ok := data[name]; ok {
			got[name] = value
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		a.t.Fatalf("%s (-want +got):\n%s", a.asked, diff)
	}
	return a
}

// keys ends the test unless an object has exactly these keys.
func keys(t *testing.T, object map[string]any, want ...string) {
	t.Helper()
	// the caller's may be shared by tests
	got, want := slices.Sorted(maps.Keys(object)), slices.Sorted(slices.Values(want))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

// world has an object of each kind in one workspace.
type world struct {
	slug, group, component, incident, other, update, template, maintenance, announcement string
	monitor, signal, subscriber, delivery, token, member, invitation, session            string
	// rule and onCall need usedChannel
	channel, usedChannel, rule, alert, silence, onCall string

	now time.Time // when it was built
}

// build creates a world on a page with the slug.
func (c *client) build(slug string) world {
	c.t.Helper()
	w := world{slug: slug, now: c.clock.Now()}
	page := "/api/v1/pages/" + slug
	c.post("/api/v1/pages", map[string]any{"name": "Acme", "slug": slug, "domain": slug + ".example.net"}).is(201)
	w.group = c.post(page+"/groups", map[string]any{"name": "Europe"}).is(201).id()
	w.component = c.post(page+"/components", map[string]any{
		"name": "API", "description": "Public", "group": w.group,
	}).is(201).id()
	c.do("PATCH", page+"/ping-key", map[string]any{"access": "ping_only"}).is(200)
	incident := c.post(page+"/incidents", map[string]any{"title": "Logins fail", "message": "We look into it."}).is(201)
	w.incident = incident.id()
	c.do("PUT", "/api/v1/incidents/"+w.incident+"/postmortem", map[string]any{"body": "A full disk."}).is(201)
	w.other = c.post(page+"/incidents", map[string]any{"title": "Another one"}).is(201).id()
	w.update = c.post("/api/v1/incidents/"+w.incident+"/updates", map[string]any{"message": "More."}).is(201).id()
	w.template = c.post("/api/v1/incident-templates", map[string]any{
		"name": "Slow " + slug, "page": slug, "title": "{{component}} is slow",
	}).is(201).id()
	w.maintenance = c.post(page+"/maintenances", map[string]any{
		"title": "Upgrade", "message": "It will be slow.", "scheduled_for": c.clock.Now().Add(48 * time.Hour),
		"scheduled_until": c.clock.Now().Add(50 * time.Hour), "components": []string{w.component},
	}).is(201).id()
	w.announcement = c.post(page+"/announcements", map[string]any{"title": "We are moving"}).is(201).id()
	w.monitor = c.post("/api/v1/monitors", map[string]any{
		"name": "Backup", "interval": 60, "page": slug, "component_id": w.component,
	}).is(201).id()
	w.signal = c.signal(w.monitor, store.NewSignal{Kind: monitor.SignalLog})
	w.subscriber = c.post(page+"/subscribers", map[string]any{
		"channel": "webhook", "target": "https://example.com/" + slug, "components": []string{w.component},
	}).is(201).id()
	c.post(page+"/subscribers", map[string]any{"channel": "email", "target": slug + "@example.com"}).is(201)
	w.delivery = c.get(page + "/deliveries").is(200).rows()[0]["id"].(string) // the question for the confirmation
	w.token = c.post("/api/v1/tokens", map[string]any{"name": "Pipeline", "scope": "write"}).is(201).id()
	// People join through the dashboard.
	ctx, email := context.Background(), slug+"@people.example"
	by, err := c.store.Authenticate(ctx, c.token)
	if err != nil {
		c.t.Fatal(err)
	}
	issued, err := c.store.Invite(ctx, by.Actor(""), account.NewInvitation{Email: email, Role: kernel.RoleEditor})
	if err != nil {
		c.t.Fatal(err)
	}
	secret, err := c.store.AcceptInvitation(ctx, issued.Code, store.Acceptance{Name: "Grace"}, store.Browser{
		Address: "192.0.2.1", Client: "curl",
	})
	if err != nil {
		c.t.Fatal(err)
	}
	joined, err := c.store.FindSession(ctx, secret)
	if err != nil {
		c.t.Fatal(err)
	}
	w.member, w.session = joined.User.ID, joined.ID
	w.invitation = c.post("/api/v1/invitations", map[string]any{
		"email": slug + "@invited.example", "role": "viewer",
	}).is(201).id()
	c.buildAlerts(&w)
	return w
}

// signal records a signal of a monitor, and returns its id.
func (c *client) signal(monitor string, n store.NewSignal) string {
	c.t.Helper()
	n.Token = c.get("/api/v1/monitors/" + monitor).is(200).data()["token"].(string)
	results, err := c.store.RecordSignals(context.Background(), []store.NewSignal{n})
	if err != nil || results[0] != store.PingRecorded {
		c.t.Fatal(results, err)
	}
	return c.get("/api/v1/monitors/" + monitor + "/pings").is(200).rows()[0]["id"].(string)
}

// path replaces the parameters in the path of a route.
func (w world) path(rt *route) string {
	return strings.NewReplacer(
		"{pageSlug}", w.slug, "{groupId}", w.group, "{componentId}", w.component,
		"{incidentId}", w.incident, "{maintenanceId}", w.maintenance, "{monitorId}", w.monitor, "{subscriberId}",
		w.subscriber,
		"{memberId}", w.member, "{invitationId}", w.invitation, "{sessionId}", w.session, "{announcementId}",
		w.announcement,
		"{updateId}", w.update, "{templateId}", w.template, "{deliveryId}", w.delivery, "{tokenId}", w.token,
		"{pingId}", w.signal, "{channelId}", w.channel, "{ruleId}", w.rule, "{alertId}", w.alert, "{silenceId}",
		w.silence, "{onCallId}", w.onCall,
	).Replace(rt.path)
}

// state returns all objects of a workspace, read from the store unless nothing was committed since they were read. It
// omits the last use of tokens, which rejected requests change too.
func (c *client) state() map[string]any {
	c.t.Helper()
	if c.commits == nil {
		return c.readState()
	}
	c.stateMu.Lock()
	defer c.stateMu.Unlock()
	commits := c.commits()
	saved, ok := c.states[c.token]
	if !ok || saved.commits != commits {
		saved = savedState{commits, c.readState()}
		if c.states == nil {
			c.states = make(map[string]savedState)
		}
		c.states[c.token] = saved
	}
	return saved.objects
}

func (c *client) readState() map[string]any {
	c.t.Helper()
	ctx := context.Background()
	by, err := c.store.Authenticate(ctx, c.token)
	if err != nil {
		c.t.Fatal(err)
	}
	out := make(map[string]any)
	keep := func(name string, value any, total int, err error) {
		c.t.Helper()
		if err != nil || total > wholeList.PerPage {
			c.t.Fatalf("reading the state: %d %s, %v", total, name, err)
		}
		out[name] = value
	}
	tokens, total, err := c.store.Tokens(ctx, by.Actor(""), wholeList)
	for i := range tokens {
		tokens[i].LastUsedAt = time.Time{}
	}
	keep("tokens", tokens, total, err)
	members, total, err := c.store.Members(ctx, by.Actor(""), wholeList)
	keep("members", members, total, err)
	invitations, total, err := c.store.Invitations(ctx, by.Actor(""), wholeList)
	keep("invitations", invitations, total, err)
	sessions, total, err := c.store.MemberSessions(ctx, by.Actor(""), wholeList)
	keep("sessions", sessions, total, err)
	channels, total, err := c.store.AlertChannels().List(ctx, by.Actor(""), "", store.Filter{}, wholeList)
	keep("channels", channels, total, err)
	rules, total, err := c.store.AlertRules().List(ctx, by.Actor(""), "", store.Filter{}, wholeList)
	keep("rules", rules, total, err)
	alerts, total, err := c.store.Alerts(ctx, by.Actor(""), store.AlertFilter{}, wholeList)
	keep("alerts", alerts, total, err)
	silences, total, err := c.store.Silences().List(ctx, by.Actor(""), "", store.Filter{}, wholeList)
	keep("silences", silences, total, err)
	schedules, total, err := c.store.OnCallSchedules().List(ctx, by.Actor(""), "", store.Filter{}, wholeList)
	keep("on-call schedules", schedules, total, err)
	monitors, total, err := c.store.Monitors(ctx, by.Actor(""), store.MonitorFilter{}, wholeList)
	keep("monitors", monitors, total, err)
	pages, total, err := c.store.Pages(ctx, by.Actor(""), store.Filter{}, wholeList)
	keep("pages", pages, total, err)
	for _, p := range pages {
		c.readPageState(ctx, by.Actor(""), p, keep)
	}
	return out
}

// wholeList is the page of a list that has all objects.
var wholeList = store.Pagination{Page: 1, PerPage: 1_000_000}

// readPageState reads what is on a page.
func (c *client) readPageState(
	ctx context.Context, by kernel.Actor, p statuspage.Page, keep func(name string, value any, total int, err error),
) {
	c.t.Helper()
	groups, total, err := c.store.Groups().List(ctx, by, p.Slug, store.Filter{}, wholeList)
	keep("groups of "+p.ID, groups, total, err)
	components, total, err := c.store.Components().List(ctx, by, p.Slug, store.Filter{}, wholeList)
	keep("components of "+p.ID, components, total, err)
	incidents, total, err := c.store.Incidents(ctx, by, p.Slug, store.IncidentFilter{}, wholeList)
	for i := range incidents {
		affected, err := c.store.IncidentComponents(ctx, by, incidents[i].ID)
		keep("components of "+incidents[i].ID, affected, 0, err)
		full, err := c.store.Incident(ctx, by, incidents[i].ID)
		if err != nil {
			c.t.Fatal(err)
		}
		incidents[i] = full
	}
	keep("incidents of "+p.ID, incidents, total, err)
	maintenances, total, err := c.store.Maintenances(ctx, by, p.Slug, "", wholeList)
	for i := range maintenances {
		full, err := c.store.Maintenance(ctx, by, maintenances[i].ID)
		if err != nil {
			c.t.Fatal(err)
		}
		maintenances[i] = full
	}
	keep("maintenances of "+p.ID, maintenances, total, err)
	announcements, total, err := c.store.Announcements().List(ctx, by, p.Slug, store.Filter{}, wholeList)
	keep("announcements of "+p.ID, announcements, total, err)
	subscribers, total, err := c.store.Subscribers(ctx, by, p.Slug, store.SubscriberFilter{}, wholeList)
	keep("subscribers of "+p.ID, subscribers, total, err)
	deliveries, total, err := c.store.Deliveries(ctx, by, p.Slug, store.DeliveryFilter{}, wholeList)
	keep("deliveries of "+p.ID, deliveries, total, err)
}

// unchanged runs f and ends the test if it changed anything.
func (c *client) unchanged(f func()) {
	c.t.Helper()
	before := c.state()
	f()
	if diff := cmp.Diff(before, c.state()); diff != "" {
		c.t.Fatalf("something changed (-before +after):\n%s", diff)
	}
}

// issue issues a token of this workspace and returns its secret.
func (c *client) issue(scope kernel.Scope) string {
	c.t.Helper()
	return c.post("/api/v1/tokens", map[string]any{"name": "made", "scope": scope}).is(201).data()["token"].(string)
}
