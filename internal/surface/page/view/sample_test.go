package view

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/check/checkstats"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/shared/markdown/markdowntest"
	"github.com/allswell/allswell/internal/surface/page/checkchart"
)

// day is the current time of most tests.
var day = time.Date(2020, 11, 21, 15, 4, 5, 0, time.UTC)

const hostile = markdowntest.Hostile

func text(s string) *string { return &s }

// sample returns a page with the given text in every field that takes one.
func sample(s string) statuspage.PageContents {
	p := statuspage.PageContents{
		Page: statuspage.Page{
			ID: "page_1", Slug: "acme", Name: s, Description: text(s), CreatedAt: day.AddDate(0, -3, 0),
			Host:   "status.acme.example",
			Footer: []statuspage.FooterLink{{Label: s, URL: "https://acme.example/"}}, Accent: "#ff8800",
			Icon: "0123456789abcdef.png",
		},
		Groups: []statuspage.Group{{ID: "grp_1", Name: s, Order: 1}},
		AsOf:   day,
	}
	for i, level := range statuspage.AnnouncementLevels {
		p.Announcements = append(p.Announcements, statuspage.Announcement{
			ID: fmt.Sprint("ann_", i), Title: s, Message: s, Level: level, ShownFrom: day,
		})
	}
	for i, status := range kernel.Statuses {
		p.Components = append(p.Components, statuspage.Component{
			ID: fmt.Sprint("comp_", i), GroupID: []string{"", "grp_1"}[i%2], Name: s, Description: text(s),
			Baseline: status, Order: i,
		})
	}
	for i, impact := range kernel.Impacts {
		for _, resolved := range []bool{false, true} {
			inc := sampleIncident(s, i, impact, resolved)
			p.Incidents = append(p.Incidents, inc)
		}
	}
	for i, state := range statuspage.MaintenanceStates {
		m := statuspage.Maintenance{
			ID: fmt.Sprint("mnt_", i), Title: s, State: state, ScheduledFor: day.Add(time.Duration(2-i) * time.Hour),
			ScheduledUntil: day.Add(time.Duration(3-i) * time.Hour),
			Components:     []statuspage.ComponentName{{ID: "comp_3", Name: s}, {ID: "comp_4", Name: s}},
			Updates:        []statuspage.MaintenanceUpdate{{Number: 1, Message: s, State: state, CreatedAt: day}},
		}
		if state != statuspage.MaintenanceScheduled {
			m.BegunAt = m.ScheduledFor
		}
		if state == statuspage.MaintenanceCompleted {
			m.EndedAt = m.ScheduledUntil
		}
		p.Maintenances = append(p.Maintenances, m)
	}
	return p
}

func sampleIncident(s string, i int, impact kernel.Impact, resolved bool) statuspage.Incident {
	inc := statuspage.Incident{
		ID: fmt.Sprintf("01a1fc53-1977-7f37-b83c-ba9c7d0ad2%d%v", i, resolved)[:36], Title: s, Impact: impact,
		State: statuspage.IncidentIdentified, CreatedAt: day.Add(-time.Duration(26*i+3) * time.Hour),
	}
	if resolved {
		inc.Resolved, inc.State, inc.ResolvedAt = true, statuspage.IncidentResolved, inc.CreatedAt.Add(42*time.Minute)
	}
	inc.Updates = []statuspage.IncidentUpdate{
		{Number: 1, Message: s + " first", State: statuspage.IncidentInvestigating, CreatedAt: inc.CreatedAt},
		{Number: 2, Message: s + " second", State: inc.State, CreatedAt: inc.CreatedAt.Add(time.Minute)},
	}
	inc.Affected = []statuspage.AffectedComponent{
		{ComponentID: "comp_1", Name: s, Status: kernel.StatusDegraded},
		{ComponentID: "comp_2", Name: s, Status: kernel.StatusOperational},
	}
	inc.Updates[1].Affected = []statuspage.AffectedChange{
		{ComponentID: "comp_1", Name: s, New: kernel.StatusDegraded},
		{ComponentID: "comp_2", Name: s, Old: kernel.StatusMajorOutage, New: kernel.StatusOperational},
	}
	return inc
}

// presentations returns all presentations of the page acme.
func presentations() (all []Presentation) {
	for _, l := range i18n.All() {
		for _, f := range []Variant{{Language: l}, {Language: l, Chosen: true, OwnDomain: true}} {
			at := Present(statuspage.Page{Slug: "acme", Host: "status.acme.example"}, f)
			at.Push = true
			all = append(all, at)
		}
	}
	return all
}

// englishPresentation is the presentation of the page acme in most tests.
func englishPresentation() Presentation {
	return Present(statuspage.Page{Slug: "acme"}, Variant{Language: i18n.English()})
}

// models returns every kind of page, with the given text in every field.
func models(at Presentation, s string) []Model {
	p := sample(s)
	sum := p.Summarize(day)
	late := NewRootLayout(at)
	late.Title, late.Description, late.Late = s, s, at.moment(day)
	month := Month{MonthStart(day, at.zone), p.Page.CreatedAt, day, p}
	return append([]Model{
		statusModel(withMail(at), sum),
		historyModel(at, sum.Status, month),
		incidentModel(at, p.Page, sum.Status, p.Incidents[0]),
		incidentModel(at, p.Page, sum.Status, p.Incidents[1]),
		maintenanceModel(at, p.Page, sum.Status, p.Maintenances[0]),
		maintenanceModel(at, p.Page, sum.Status, p.Maintenances[3]),
		componentModel(at, sum, p.Components[1], p),
		List(at, []ListEntry{{sum.Page.Slug, sum.Page.Name, sum.Status, p.Incidents[0]}}, 3, day),
		{late, "firststeps", firstStepsBody{"https://status.example"}},
		{late, "plain", plainBody{Heading: s, Text: []string{s, s}, Home: "/"}},
	}, formModels(at, s, sum)...)
}

// formModels returns the pages with forms, with the given text in every field.
func formModels(at Presentation, s string, sum statuspage.Summary) []Model {
	invalid := new(kernel.ValidationError)
	invalid.Add("target", "%s", s)
	invalid.Add("components", "%s", s)
	sub := audience.Subscriber{Channel: audience.ChannelEmail, Target: s, Components: []string{"comp_1", s}}
	suspended := sub
	suspended.ConfirmedAt, suspended.SuspendedAt, suspended.SuspendedFor = day, day, s
	active := suspended
	active.SuspendedAt, active.SuspendedFor = time.Time{}, ""
	l := func() Layout { return NewLayout(at, sum.Page, sum.Status, time.Time{}) }
	return []Model{
		InvalidSignUp(l(), sum.Blocks, audience.NewSubscriber{Target: s, Components: []string{"comp_1"}}, invalid),
		InvalidSignUp(l(), sum.Blocks,
			audience.NewSubscriber{Channel: audience.ChannelWebhook, Target: s, Components: []string{"comp_1"}},
			invalid),
		Subscription(l(), sum.Blocks, sub, SubscriptionChange{}),
		Subscription(l(), sum.Blocks, suspended, SubscriptionChange{Done: s}),
		Subscription(l(), sum.Blocks, active, SubscriptionChange{Done: s, Secret: s}),
		InvalidChange(l(), sum.Blocks, active, []string{"comp_1"}),
		InvalidSignUp(l(), sum.Blocks,
			audience.NewSubscriber{Channel: audience.ChannelSlack, Target: s, Components: []string{"comp_1"}}, invalid),
		EnterCode(l(), audience.NewSubscriber{Channel: audience.ChannelSlack, Target: "https://hooks.slack.com/" + s},
			""),
		EnterCode(l(), audience.NewSubscriber{Channel: audience.ChannelTeams, Target: s}, s),
		Unsubscribe(l()),
		Access(AccessForm{
			At: at, Password: true, SignIn: "https://status.example/admin/visit/acme", Next: "history", Wrong: true,
		}),
		Access(AccessForm{At: at, Password: true, WaitMinutes: 3}),
		Access(AccessForm{At: at, SignIn: "https://status.example/admin/visit/acme"}),
		Error(l(), 404),
	}
}

// statusModel returns a status page.
func statusModel(at Presentation, sum statuspage.Summary) Model {
	return Status(NewLayout(at, sum.Page, sum.Status, sum.AsOf), sum)
}

func componentModel(
	at Presentation, sum statuspage.Summary, c statuspage.Component, contents statuspage.PageContents,
) Model {
	at.Public = "https://status.acme.example"
	return Component(NewLayout(at, sum.Page, sum.Status, sum.AsOf), sum, c, contents, sampleTimes(sum.AsOf))
}

// sampleTimes has failures, unknown results and a gap.
func sampleTimes(now time.Time) *checkchart.Chart {
	const step = 30 * time.Minute
	to := now.Truncate(step).Add(step)
	var periods []checkstats.Period
	for i := range 48 {
		if i > 20 && i < 24 {
			continue
		}
		p := checkstats.Period{StartsAt: to.Add(time.Duration(i-48) * step)}
		for n := range 30 {
			switch {
			case i == 30:
				p.Add(monitor.CheckUnknown, 0)
			case i > 34 && i < 37 && n > 3*(37-i):
				p.Add(monitor.CheckFailed, 0)
			default:
				p.Add(monitor.CheckOK, time.Duration(80+i*n%90)*time.Millisecond)
			}
		}
		periods = append(periods, p)
	}
	return checkchart.New(to.Add(-24*time.Hour), to, step, periods)
}

func historyModel(at Presentation, status kernel.Status, m Month) Model {
	return History(NewLayout(at, m.Contents.Page, status, m.Now), m)
}

func incidentModel(at Presentation, page statuspage.Page, status kernel.Status, inc statuspage.Incident) Model {
	return Incident(NewLayout(at, page, status, day), inc, TimelinePart{Max: 50})
}

func maintenanceModel(at Presentation, page statuspage.Page, status kernel.Status, m statuspage.Maintenance) Model {
	return Maintenance(NewLayout(at, page, status, day), m, TimelinePart{Max: 50})
}

// withMail returns a presentation that offers subscriptions by mail.
func withMail(at Presentation) Presentation {
	at.Mail = true
	return at
}

// pageWithOutages returns a page with many components, each with several outages in
// 90 days.
func pageWithOutages(components int, now time.Time) statuspage.PageContents {
	rnd := rand.New(rand.NewPCG(1, 2))
	p := statuspage.PageContents{
		Page: statuspage.Page{ID: "page_1", Slug: "acme", Name: "Acme", CreatedAt: now.AddDate(-1, 0, 0)},
		AsOf: now, Changes: map[string][]statuspage.StatusChange{},
	}
	bad := []kernel.Status{
		kernel.StatusDegraded, kernel.StatusPartialOutage, kernel.StatusMajorOutage, kernel.StatusMaintenance,
	}
	for i := range 5 {
		p.Groups = append(p.Groups, statuspage.Group{
			ID: fmt.Sprint("grp_", i), Name: fmt.Sprintf("Region %d", i), Order: i,
		})
	}
	for i := range components {
		c := statuspage.Component{
			ID: fmt.Sprintf("comp_%020x", rnd.Uint64()), GroupID: fmt.Sprint("grp_", i%5),
			Baseline: kernel.StatusOperational, Order: i,
			Name: fmt.Sprintf("%s %d",
				[]string{"Checkout", "Search", "Mail delivery", "Reports", "Webhooks"}[i/5%5], i),
			Description: text(fmt.Sprintf("What number %d is there for, in a few words", i)),
		}
		p.Components = append(p.Components, c)
		changes := []statuspage.StatusChange{{At: now.AddDate(0, 0, -100), Status: kernel.StatusOperational}}
		for at := now.AddDate(0, 0, -95); at.Before(now.AddDate(0, 0, -2)); at = at.AddDate(0, 0, 1) {
			if rnd.IntN(20) == 0 { // 4 or 5 days of each component's 90
				begin := at.Add(time.Duration(rnd.IntN(20*3600)) * time.Second)
				changes = append(changes, statuspage.StatusChange{At: begin, Status: bad[rnd.IntN(len(bad))]},
					statuspage.StatusChange{
						At:     begin.Add(time.Duration(30+rnd.IntN(10_000)) * time.Second),
						Status: kernel.StatusOperational,
					})
			}
		}
		p.Changes[c.ID] = changes
	}
	for _, ago := range []int{3, 17, 40} { // upgrades, and a night without power
		from := now.AddDate(0, 0, -ago)
		p.Gaps = append([]schedule.ListeningGap{{From: from, To: from.Add(time.Duration(ago) * time.Minute)}},
			p.Gaps...)
	}
	return p
}

// largestPage returns a page with the maximum of everything, and with text that
// takes the most bytes as HTML and as JSON. More incidents would exceed the budget
// and add nothing.
func largestPage() (statuspage.PageContents, statuspage.Page) {
	description := quotes(kernel.MaxDescriptionLength)
	page := statuspage.Page{
		ID: "page_1", Slug: "acme", Name: quotes(kernel.MaxNameLength), Description: &description,
		CreatedAt: day.Add(-80 * 24 * time.Hour),
	}
	p := statuspage.PageContents{Page: page, AsOf: day}
	var affected []statuspage.AffectedComponent
	var changes []statuspage.AffectedChange
	var named []statuspage.ComponentName
	for n := range kernel.MaxGroups {
		p.Groups = append(p.Groups, statuspage.Group{ID: fmt.Sprint("grp_", n), Name: quotes(kernel.MaxNameLength)})
	}
	for n := range kernel.MaxComponents {
		id := fmt.Sprintf("comp_%020d", n)
		p.Components = append(p.Components, statuspage.Component{
			ID: id, Name: quotes(kernel.MaxNameLength), Description: &description,
			GroupID: fmt.Sprint("grp_", n%kernel.MaxGroups), Baseline: kernel.StatusDegraded,
		})
		affected = append(affected, statuspage.AffectedComponent{
			ComponentID: id, Name: quotes(kernel.MaxNameLength), Status: kernel.StatusMajorOutage,
		})
		changes = append(changes, statuspage.AffectedChange{
			ComponentID: id, Name: quotes(kernel.MaxNameLength), New: kernel.StatusMajorOutage,
		})
		named = append(named, statuspage.ComponentName{ID: id, Name: quotes(kernel.MaxNameLength)})
	}
	for n := range statuspage.MaxAnnouncements {
		p.Announcements = append(p.Announcements, statuspage.Announcement{
			ID: fmt.Sprintf("ann_%020d", n), Title: quotes(kernel.MaxTitleLength),
			Message: quotes(statuspage.MaxAnnouncementLength), Level: statuspage.AnnouncementWarning, ShownFrom: day,
		})
	}
	p.Incidents = largestIncidents(affected, changes)
	p.Maintenances = largestMaintenances(named)
	return p, page
}

func largestMaintenances(named []statuspage.ComponentName) (all []statuspage.Maintenance) {
	for n := range 200 {
		at := day.Add(time.Duration(n) * time.Minute)
		m := statuspage.Maintenance{
			ID: fmt.Sprintf("mnt_%020d", n), Title: quotes(kernel.MaxTitleLength),
			State:        statuspage.MaintenanceScheduled,
			ScheduledFor: at, ScheduledUntil: at.Add(time.Hour), Components: named,
		}
		if n >= 100 {
			m.State, m.BegunAt = statuspage.MaintenanceInProgress, day.Add(-time.Hour)
		}
		for k := range 50 {
			m.Updates = append(m.Updates, statuspage.MaintenanceUpdate{
				ID: "upd_2", Number: k + 1, Message: quotes(kernel.MaxMessageLength), CreatedAt: at,
			})
		}
		all = append(all, m)
	}
	return all
}

// quotes returns a text that becomes much longer in HTML.
func quotes(n int) string { return strings.Repeat("\"", n) }

func largestIncidents(
	affected []statuspage.AffectedComponent, changes []statuspage.AffectedChange,
) (all []statuspage.Incident) {
	for n := range 300 {
		at := day.Add(-time.Duration(n) * time.Minute)
		inc := statuspage.Incident{
			ID: fmt.Sprintf("00000000-0000-7000-8000-%012d", n), Title: quotes(kernel.MaxTitleLength),
			Impact: kernel.ImpactCritical,
			State:  statuspage.IncidentInvestigating, CreatedAt: at, UpdatedAt: at, Affected: affected,
		}
		if n >= 100 {
			inc.Resolved, inc.ResolvedAt = true, at
		}
		for k := range 50 {
			inc.Updates = append(inc.Updates, statuspage.IncidentUpdate{
				ID: "upd_1", Number: k + 1, Message: quotes(kernel.MaxMessageLength), Affected: changes, CreatedAt: at,
			})
		}
		all = append(all, inc)
	}
	return all
}
