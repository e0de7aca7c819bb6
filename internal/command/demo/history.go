package demo

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// The demo's page has a history of three months. It is created before the service starts, by
// the store's own methods, with a clock that runs through these months.

// demoAge is the apparent age of the demo's page.
const demoAge = 100 * 24 * time.Hour

// ago is a time of day, in UTC, a number of days before today.
type ago struct{ days, hour, minute int }

func (a ago) before(now time.Time) time.Time {
	return statuspage.AddDays(statuspage.Midnight(now, time.UTC), -a.days).Add(time.Duration(a.hour)*time.Hour +
		time.Duration(a.minute)*time.Minute)
}

var demoIncidents = []struct {
	at       ago
	duration time.Duration
	title    string
	impact   kernel.Impact
	status   kernel.Status
	affected []string
	messages []string // at equal intervals; the last one resolves the incident

	postmortem string // published a day later; "": none
}{
	{ago{84, 9, 12}, 47 * time.Minute, "Card payments fail", kernel.ImpactCritical, kernel.StatusMajorOutage,
		[]string{"Checkout"}, []string{
			"Payments by card fail. **Orders are kept**, and nothing is charged twice.",
			"The payment provider has revoked a certificate. We are installing the new one.",
			"The new certificate is in place. Payments go through again."},
		"The provider revoked a certificate that we still used. Its warning went to an address that no one reads.\n\n" +
			"- Certificates are now watched, and renewed two weeks before their end.\n- The provider writes to the " +
			"team on call."},
	{ago{71, 21, 30}, 190 * time.Minute, "Search results are out of date", kernel.ImpactMinor, kernel.StatusDegraded,
		[]string{"Search"}, []string{
			"Search does not find new articles yet.",
			"The indexer has caught up."}, ""},
	{ago{63, 13, 5}, 25 * time.Minute, "Email is delayed", kernel.ImpactMajor, kernel.StatusPartialOutage,
		[]string{"Email"}, []string{
			"One of our two mail servers does not respond.",
			"Both servers respond again. All delayed messages have been sent."}, ""},
	{ago{52, 17, 41}, 12 * time.Minute, "The shop cannot be reached", kernel.ImpactCritical, kernel.StatusMajorOutage,
		[]string{"Website", "Checkout", "Search"}, []string{
			"We are investigating.",
			"The cause was a change of the load balancer:\n\n- deployed at 17:40\n- reverted at 17:52\n\nFrom now " +
				"on, we test such changes on one machine first."}, ""},
	{ago{41, 4, 0}, 5 * time.Hour, "Backups take longer than usual", kernel.ImpactNone, kernel.StatusDegraded,
		[]string{"Backups"}, []string{
			"Backups are complete, but late.", "Backups are on time again."}, ""},
	{ago{33, 10, 20}, 18 * time.Minute, "Email is delayed", kernel.ImpactMinor, kernel.StatusDegraded,
		[]string{"Email"}, []string{
			"Messages are sent a few minutes late.", "Messages are sent without delay again."}, ""},
	{ago{23, 15, 2}, 65 * time.Minute, "Some payments fail", kernel.ImpactMajor, kernel.StatusPartialOutage,
		[]string{"Checkout"}, []string{
			"Payments through one of the banks fail. Please use another payment method for now.",
			"The bank has confirmed the problem: its servers respond with `503`.",
			"Payments through this bank work again."}, ""},
	{ago{12, 8, 30}, 95 * time.Minute, "Pictures load slowly", kernel.ImpactMinor, kernel.StatusDegraded,
		[]string{"Website"}, []string{
			"We are investigating.", "A disk was full. We have added space."},
		"A job that shrinks pictures kept its temporary files. It deletes them now, and **we are alerted at 80 %** " +
			"instead of 95 %."},
	{ago{4, 19, 15}, 35 * time.Minute, "Search is slow", kernel.ImpactMinor, kernel.StatusDegraded, []string{"Search"},
		[]string{
			"Some searches take several seconds.", "Search is fast again."}, ""},
}

var demoMaintenances = []struct {
	begins     ago // in the future if the days are negative
	lasts      time.Duration
	title      string
	message    string
	components []string
}{
	{ago{77, 2, 0}, time.Hour, "Database upgrade", "The shop is closed for an hour.",
		[]string{"Website", "Checkout", "Search"}},
	{ago{45, 3, 0}, 30 * time.Minute, "New mail servers", "Messages will be sent after the maintenance.",
		[]string{"Email"}},
	{ago{6, 2, 30}, 90 * time.Minute, "Move to a new data centre", "No backups run during the move.",
		[]string{"Backups"}},
	{ago{-2, 2, 0}, 2 * time.Hour, "Search index rebuild", "Search shows older results while its index is rebuilt.",
		[]string{"Search"}},
}

// past creates the example with its history.
type past struct {
	store      *store.Store
	clock      time.Time
	actor      kernel.Actor
	components map[string]string // id by name
	steps      []step
}

// step is one event of the history.
type step struct {
	at time.Time
	do func(context.Context) error
}

// access has the credentials of the demo: the secret of its API token, and a code that signs in to the dashboard.
type access struct{ secret, code string }

// makeHistory creates the example in a new database, with a user.
func makeHistory(ctx context.Context, database string, now time.Time) (a access, err error) {
	p := &past{clock: now.Add(-demoAge).Truncate(time.Minute), components: make(map[string]string)}
	p.store, err = store.Open(ctx, database, store.Options{Clock: func() time.Time { return p.clock }})
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, p.store.Close()) }()
	a.secret = account.NewTokenSecret()
	if _, err = p.store.CreateFirstToken(ctx, a.secret); err != nil {
		return a, err
	}
	token, err := p.store.Authenticate(ctx, a.secret)
	if err != nil {
		return a, err
	}
	p.actor = token.Actor("")
	if err := p.createPage(ctx); err != nil {
		return a, err
	}
	p.plan(now)
	for _, s := range p.steps {
		if !s.at.Before(now) {
			break
		}
		p.clock = s.at
		if err := s.do(ctx); err != nil {
			return a, err
		}
	}
	p.clock = now
	a.code, err = p.createUser(ctx)
	return a, err
}

// createUser creates the demo's user, who has no password, and returns a code that signs in.
func (p *past) createUser(ctx context.Context) (code string, err error) {
	setup, err := p.store.IssueSetupCode(ctx)
	if err != nil {
		return "", err
	}
	session, err := p.store.SetUp(ctx, setup, account.NewUser{Name: "Demo", Email: "demo@example.com"}, store.Browser{})
	if err != nil {
		return "", err
	}
	in, err := p.store.FindSession(ctx, session)
	if err != nil {
		return "", err
	}
	if err := p.store.EndSession(ctx, in.Actor(""), in.ID); err != nil {
		return "", err
	}
	return p.store.IssueEnterCode(ctx, in.User.ID)
}

// createPage creates the page with its groups and components.
func (p *past) createPage(ctx context.Context) error {
	about := "A fictitious shop with real jobs."
	_, err := p.store.CreatePage(ctx, p.actor,
		resource.Page.From(statuspage.Page{Name: "Example Shop", Slug: demoPage, Description: &about}))
	if err != nil {
		return err
	}
	for _, g := range demoGroups {
		group, err := p.store.Groups().Create(ctx, p.actor, demoPage,
			resource.Group.From(statuspage.Group{Name: g.name}))
		if err != nil {
			return err
		}
		for _, name := range g.components {
			c, err := p.store.Components().Create(ctx, p.actor, demoPage, resource.Component.From(statuspage.Component{
				Name: name, GroupID: group.ID,
			}))
			if err != nil {
				return err
			}
			p.components[name] = c.ID
		}
	}
	return nil
}

func (p *past) at(when time.Time, do func(context.Context) error) {
	p.steps = append(p.steps, step{when, do})
}

// plan adds the steps of all incidents and maintenances, in the order of their times.
func (p *past) plan(now time.Time) {
	for _, i := range demoIncidents {
		p.planIncident(i.at.before(now), i.duration, statuspage.Incident{
			Title: i.title, Impact: i.impact, Affected: p.affected(i.affected, i.status),
		}, i.messages, i.postmortem)
	}
	for _, m := range demoMaintenances {
		begins := m.begins.before(now)
		planned := resource.Maintenance.From(statuspage.Maintenance{
			Title: m.title, Updates: []statuspage.MaintenanceUpdate{{Message: m.message}}, ScheduledFor: begins,
			ScheduledUntil: begins.Add(m.lasts), Components: statuspage.ComponentRefs(p.ids(m.components)...),
		})
		p.at(begins.AddDate(0, 0, -4), func(ctx context.Context) error {
			_, err := p.store.CreateMaintenance(ctx, p.actor, demoPage, planned)
			return err
		})
		for _, due := range []time.Time{begins.Add(-statuspage.DefaultRemindBefore), begins, begins.Add(m.lasts)} {
			p.at(due, func(ctx context.Context) error {
				_, err := p.store.AdvanceMaintenances(ctx)
				return err
			})
		}
	}
	slices.SortStableFunc(p.steps, func(a, b step) int { return a.at.Compare(b.at) })
}

func (p *past) ids(names []string) (ids []string) {
	for _, name := range names {
		ids = append(ids, p.components[name])
	}
	return ids
}

func (p *past) affected(names []string, status kernel.Status) (all []statuspage.AffectedComponent) {
	for _, id := range p.ids(names) {
		all = append(all, statuspage.AffectedComponent{ComponentID: id, Status: status})
	}
	return all
}

// planIncident adds the steps of an incident, with its messages at equal intervals, and of its post-mortem; "": none.
func (p *past) planIncident(
	begins time.Time, duration time.Duration, i statuspage.Incident, messages []string, postmortem string,
) {
	var id string
	p.at(begins, func(ctx context.Context) error {
		i, err := p.store.CreateIncident(ctx, p.actor, demoPage, i, statuspage.IncidentUpdate{Message: messages[0]},
			nil)
		id = i.ID
		return err
	})
	states := []statuspage.IncidentState{statuspage.IncidentIdentified, statuspage.IncidentMonitoring}
	messages = messages[1:]
	for k, message := range messages {
		state := states[min(k, 1)]
		if k == len(messages)-1 {
			state = statuspage.IncidentResolved
		}
		p.at(begins.Add(duration*time.Duration(k+1)/time.Duration(len(messages))), func(ctx context.Context) error {
			if _, err := p.store.ChangeIncident(ctx, p.actor, id, func(i *statuspage.Incident) error {
				i.State = state
				return nil
			}, statuspage.IncidentUpdate{}, ""); err != nil {
				return err
			}
			_, err := p.store.PostUpdate(ctx, p.actor, id, statuspage.IncidentUpdate{Message: message}, nil)
			return err
		})
	}
	if postmortem != "" {
		p.at(begins.Add(duration+24*time.Hour), func(ctx context.Context) error {
			_, _, err := p.store.PutPostmortem(ctx, p.actor, id, func(p *statuspage.Postmortem) error {
				p.Body, p.Published = postmortem, true
				return nil
			}, false, kernel.Precondition{})
			return err
		})
	}
}
