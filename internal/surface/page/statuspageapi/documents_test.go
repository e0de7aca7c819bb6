package statuspageapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/markdown/markdowntest"
	"github.com/allswell/allswell/internal/surface/page/statuspageapi/statuspagetest"
)

// samplePage returns a page in a random state, with the given text wherever people can write one.
func samplePage(r *rand.Rand, s string) statuspage.PageContents {
	p := statuspage.PageContents{AsOf: day, Page: statuspage.Page{
		ID: "page_1", Slug: "acme", Name: s, TimeZone: pick(r, []string{"UTC", "Europe/Berlin", "America/Santiago"}),
		CreatedAt: day, UpdatedAt: day,
	}}
	at := func() time.Time { return day.Add(-time.Duration(r.IntN(1e9)) * time.Millisecond) }
	description := func() *string { return pick(r, []*string{nil, text(""), text(" "), &s}) }
	for i := range r.IntN(4) {
		p.Groups = append(p.Groups, statuspage.Group{
			ID: fmt.Sprint("grp_", i), PageID: "page_1", Name: s, Order: r.IntN(3), CreatedAt: at(), UpdatedAt: at(),
		})
	}
	for i := range r.IntN(9) {
		c := statuspage.Component{
			ID: fmt.Sprint("comp_", i), PageID: "page_1", Name: s, Description: description(),
			Baseline: pick(r, kernel.Statuses),
			Order:    r.IntN(3), CreatedAt: at(), UpdatedAt: at(),
		}
		if n := r.IntN(len(p.Groups) + 1); n > 0 {
			c.GroupID = p.Groups[n-1].ID
		}
		p.Components = append(p.Components, c)
	}
	for i := range r.IntN(5) {
		p.Incidents = append(p.Incidents,
			sampleIncident(r, fmt.Sprintf("01a1fc53-1977-7f37-b83c-ba9c7d0ad2%02d", i), s, p.Components, at()))
	}
	for i := range r.IntN(5) {
		m := statuspage.Maintenance{
			ID: fmt.Sprint("mnt_", i), PageID: "page_1", Title: s, State: pick(r, statuspage.MaintenanceStates),
			CreatedAt: at(), UpdatedAt: at(),
		}
		m.ScheduledFor = at()
		m.ScheduledUntil = m.ScheduledFor.Add(time.Hour)
		if m.State != statuspage.MaintenanceScheduled {
			m.BegunAt = m.ScheduledFor
		}
		if m.State == statuspage.MaintenanceCompleted {
			m.EndedAt = m.ScheduledUntil
		}
		for _, c := range p.Components[:r.IntN(len(p.Components)+1)] {
			m.Components = append(m.Components, statuspage.ComponentName{ID: c.ID, Name: c.Name})
		}
		for n := range r.IntN(4) {
			m.Updates = append(m.Updates, statuspage.MaintenanceUpdate{
				ID: fmt.Sprint("upd_", n), MaintenanceID: m.ID, Number: n + 1, Message: s,
				State:     statuspage.MaintenanceStates[n],
				CreatedAt: m.CreatedAt.Add(time.Duration(n) * time.Minute),
			})
		}
		p.Maintenances = append(p.Maintenances, m)
	}
	return p
}

// changeIncident applies a valid change.
func changeIncident(i *statuspage.Incident, at time.Time, change func(*statuspage.Incident)) {
	if _, err := i.Change(func(i *statuspage.Incident) error {
		change(i)
		return nil
	}, statuspage.IncidentUpdate{}, nil, at); err != nil {
		panic(err)
	}
}

func sampleIncident(r *rand.Rand, id, s string, components []statuspage.Component, at time.Time) statuspage.Incident {
	inc := statuspage.Incident{
		ID: id, PageID: "page_1", Title: s, Impact: pick(r, kernel.Impacts), State: pick(r, statuspage.IncidentStates),
	}
	for _, c := range components[:r.IntN(len(components)+1)] {
		inc.Affected = append(inc.Affected, statuspage.AffectedComponent{
			ComponentID: c.ID, Name: c.Name, Status: pick(r, kernel.AffectedStatuses),
		})
	}
	inc.Open(statuspage.IncidentUpdate{}, at)
	for i := range r.IntN(6) {
		at = at.Add(time.Minute)
		switch r.IntN(4) {
		case 0:
			state := pick(r, statuspage.IncidentStates)
			changeIncident(&inc, at, func(i *statuspage.Incident) { i.State = state })
		case 1:
			resolved := r.IntN(2) == 0
			changeIncident(&inc, at, func(i *statuspage.Incident) { i.SetResolved(resolved) })
		default:
			var last *statuspage.IncidentUpdate
			if len(inc.Updates) > 0 {
				last = &inc.Updates[len(inc.Updates)-1]
			}
			inc.AddUpdate(fmt.Sprint("upd_", i), s, last, at)
		}
	}
	return inc
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// documentsOf returns the documents of a page at https://status.example.
func documentsOf(t testing.TB, p statuspage.PageContents) map[string][]byte {
	t.Helper()
	bodies, err := Documents(p.Summarize(day), p, "https://status.example")
	if err != nil {
		t.Fatal(err)
	}
	got, want := slices.Sorted(maps.Keys(bodies)), slices.Sorted(maps.Keys(statuspagetest.Documents))
	if !slices.Equal(got, want) {
		t.Fatalf("documents %v, want %v", got, want)
	}
	return bodies
}

// FuzzStatuspage checks the form of the documents of pages in many states, and that they contain texts as
// they were typed.
func FuzzStatuspage(f *testing.F) {
	for i, s := range []string{
		"Hello", markdowntest.Hostile, "a\nb\tc\u2028d", `"\u0000",`, "ü€𝄞", "\xff\xfe", "null",
	} {
		for seed := range 30 {
			f.Add(uint64(100*i+seed), s)
		}
	}
	f.Fuzz(func(t *testing.T, seed uint64, s string) {
		if strings.TrimSpace(s) == "" {
			s = "x" // names are never blank
		}
		for path, body := range documentsOf(t, samplePage(rand.New(rand.NewPCG(seed, 1)), s)) {
			for _, fault := range statuspagetest.Faults(path, body) {
				t.Error(fault)
			}
			if !utf8.Valid(body) || strings.ContainsAny(string(body), "<>\u2028") {
				t.Errorf("%s: %q", path, body)
			}
			var doc any
			if err := json.Unmarshal(body, &doc); err != nil {
				t.Fatal(err)
			}
			typed(t, path, doc, strings.ToValidUTF8(s, "\ufffd"), s)
		}
	})
}

// typed checks the texts of a document. An encoder may replace each byte of invalid UTF-8, so texts are
// compared only if they are valid.
func typed(t *testing.T, path string, v any, want, raw string) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			typed(t, path, item, want, raw)
		}
	case map[string]any:
		for name, member := range v {
			s, isText := member.(string)
			if name == "body" &&
				slices.ContainsFunc(statuspage.IncidentStates, func(state statuspage.IncidentState) bool {
					return s == state.SystemMessage().Text()
				}) {
				continue // not written by a person
			}
			if isText && (name == "name" || name == "body" || name == "description" && v["indicator"] == nil) &&
				s != want && utf8.ValidString(raw) {
				t.Errorf("%s: %s is %q, want %q", path, name, s, want)
			}
			typed(t, path, member, want, raw)
		}
	}
}

func TestStatuspageStatuses(t *testing.T) {
	for status, want := range map[kernel.Status][3]string{
		kernel.StatusOperational:         {"operational", "none", "All systems operational"},
		kernel.StatusDegraded:            {"degraded_performance", "minor", "Some systems are degraded"},
		kernel.StatusDegradedPerformance: {"degraded_performance", "minor", "Some systems are degraded"},
		kernel.StatusPartialOutage:       {"partial_outage", "major", "Partial system outage"},
		kernel.StatusMajorOutage:         {"major_outage", "critical", "Major system outage"},
		kernel.StatusMaintenance:         {"under_maintenance", "maintenance", "Under maintenance"},
		kernel.StatusUnknown:             {"operational", "none", "Status unknown"},
	} {
		p := statuspage.PageContents{
			Page:       statuspage.Page{Name: "Acme"},
			Components: []statuspage.Component{{ID: "comp_1", Name: "C", Baseline: status}},
		}
		var summary struct {
			Status     statusObject
			Components []struct{ Status string }
		}
		if err := json.Unmarshal(documentsOf(t, p)["summary.json"], &summary); err != nil {
			t.Fatal(err)
		}
		got := [3]string{summary.Components[0].Status, summary.Status.Indicator, summary.Status.Description}
		if got != want {
			t.Errorf("%s: %q, want %q", status, got, want)
		}
	}
}

// TestStatuspageIncidents checks that the page's status is the worse of its components' status and its incidents'
// impact.
func TestStatuspageIncidents(t *testing.T) {
	for _, c := range []struct {
		status kernel.Status
		impact kernel.Impact
		want   statusObject
	}{
		{kernel.StatusOperational, kernel.ImpactNone, statusObject{"none", "All systems operational"}},
		{kernel.StatusOperational, kernel.ImpactMinor, statusObject{"minor", "Some systems are degraded"}},
		{kernel.StatusOperational, kernel.ImpactCritical, statusObject{"critical", "Major system outage"}},
		{kernel.StatusMaintenance, kernel.ImpactMinor, statusObject{"minor", "Some systems are degraded"}},
		{kernel.StatusMaintenance, kernel.ImpactNone, statusObject{"maintenance", "Under maintenance"}},
		{kernel.StatusPartialOutage, kernel.ImpactMinor, statusObject{"major", "Partial system outage"}},
		{kernel.StatusUnknown, kernel.ImpactMajor, statusObject{"major", "Partial system outage"}},
	} {
		p := statuspage.PageContents{
			Page:       statuspage.Page{Name: "Acme"},
			Components: []statuspage.Component{{ID: "comp_1", Name: "C", Baseline: c.status}},
			Incidents:  []statuspage.Incident{{ID: "i", Title: "It fails", Impact: c.impact, CreatedAt: day}},
		}
		for _, name := range []string{"summary.json", "status.json"} {
			var got struct{ Status statusObject }
			if err := json.Unmarshal(documentsOf(t, p)[name], &got); err != nil || got.Status != c.want {
				t.Errorf("%s with impact %s: %+v, %v, want %+v", c.status, c.impact, got.Status, err, c.want)
			}
		}
	}
}

// examplePage returns a page with one object of each kind. Times are minutes after day.
func examplePage() statuspage.PageContents {
	return statuspage.PageContents{
		AsOf: minutes(60),
		Page: statuspage.Page{
			ID: "page_1", Slug: "acme", Name: "Acme", TimeZone: "Pacific/Auckland", CreatedAt: minutes(0),
			UpdatedAt: minutes(0),
		},
		Groups: []statuspage.Group{
			{ID: "grp_1", PageID: "page_1", Name: "Regions", CreatedAt: minutes(1), UpdatedAt: minutes(1)},
		},
		Components: []statuspage.Component{
			{
				ID: "comp_w", PageID: "page_1", Name: "Website", Description: text("All of it"),
				Baseline: kernel.StatusUnknown, CreatedAt: minutes(2), UpdatedAt: minutes(2),
			},
			{
				ID: "comp_n", PageID: "page_1", GroupID: "grp_1", Name: "North", Baseline: kernel.StatusDegraded,
				CreatedAt: minutes(3), UpdatedAt: minutes(16),
			},
		},
		Incidents:    exampleIncidents(),
		Maintenances: exampleMaintenances(),
	}
}

// minutes returns a time some minutes after the page was created.
func minutes(n int) time.Time { return day.Add(time.Duration(n) * time.Minute) }

// exampleIncidents returns an incident that is resolved, and one that is open.
func exampleIncidents() []statuspage.Incident {
	inc := statuspage.Incident{
		ID: "01a1fc53-1977-7f37-b83c-ba9c7d0ad201", PageID: "page_1", Title: "North is dark",
		Impact: kernel.ImpactMajor, Affected: []statuspage.AffectedComponent{
			{ComponentID: "comp_n", Name: "North", Status: kernel.StatusMajorOutage},
			{ComponentID: "comp_gone", Name: "Gone", Status: kernel.StatusDegraded},
		},
	}
	inc.Open(statuspage.IncidentUpdate{}, minutes(10))
	u := inc.AddUpdate("upd_1", "We look.", nil, minutes(11))
	changeIncident(&inc, minutes(12), func(i *statuspage.Incident) { i.State = statuspage.IncidentMonitoring })
	u = inc.AddUpdate("upd_2", "It is *back*.", &u, minutes(13))
	inc.Affected = inc.Affected[:1]
	changeIncident(&inc, minutes(14), func(i *statuspage.Incident) { i.SetResolved(true) })
	inc.AddUpdate("upd_3", "Done.", &u, minutes(15))
	open := statuspage.Incident{ID: "01a1fc53-1977-7f37-b83c-ba9c7d0ad202", PageID: "page_1", Title: "Slow"}
	open.Open(statuspage.IncidentUpdate{}, minutes(20))
	return []statuspage.Incident{inc, open}
}

// exampleMaintenances returns maintenance in each state.
func exampleMaintenances() []statuspage.Maintenance {
	return []statuspage.Maintenance{{
		ID: "mnt_1", PageID: "page_1", Title: "New wires", State: statuspage.MaintenanceCompleted,
		ScheduledFor: minutes(30), ScheduledUntil: minutes(50),
		BegunAt: minutes(30), EndedAt: minutes(40), CreatedAt: minutes(21), UpdatedAt: minutes(40),
		Components: []statuspage.ComponentName{{ID: "comp_n", Name: "North"}},
		Updates: []statuspage.MaintenanceUpdate{
			{
				ID: "upd_4", MaintenanceID: "mnt_1", Number: 1, Message: "Soon.",
				State: statuspage.MaintenanceScheduled, CreatedAt: minutes(21),
			},
			{
				ID: "upd_5", MaintenanceID: "mnt_1", Number: 2, Message: "Now.",
				State: statuspage.MaintenanceInProgress, CreatedAt: minutes(30),
			},
			{
				ID: "upd_6", MaintenanceID: "mnt_1", Number: 3, Message: "Nearly.",
				State: statuspage.MaintenanceVerifying, CreatedAt: minutes(35),
			},
			{
				ID: "upd_7", MaintenanceID: "mnt_1", Number: 4, Message: "Done.",
				State: statuspage.MaintenanceCompleted, CreatedAt: minutes(40),
			},
		},
	}, {
		ID: "mnt_2", PageID: "page_1", Title: "More wires", State: statuspage.MaintenanceScheduled,
		ScheduledFor: minutes(300), ScheduledUntil: minutes(500),
		CreatedAt: minutes(22), UpdatedAt: minutes(22),
	}, {
		ID: "mnt_3", PageID: "page_1", Title: "Fewer wires", State: statuspage.MaintenanceScheduled,
		ScheduledFor: minutes(200), ScheduledUntil: minutes(250),
		CreatedAt: minutes(23), UpdatedAt: minutes(23),
	}, {
		ID: "mnt_4", PageID: "page_1", Title: "Wires now", State: statuspage.MaintenanceVerifying,
		ScheduledFor: minutes(50), ScheduledUntil: minutes(70),
		BegunAt: minutes(50), CreatedAt: minutes(24), UpdatedAt: minutes(24),
	}}
}

const northJSON = `{"id": "comp_n", "name": "North", "status": "degraded_performance", "created_at": "2020-11-21T15:07:05.000Z",
		"updated_at": "2020-11-21T15:20:05.000Z", "position": 1, "description": null, "showcase": true, "start_date": "2020-11-22",
		"group_id": "grp_1", "page_id": "page_1", "group": false, "only_show_if_degraded": false}`
const componentsJSON = `[
		{"id": "comp_w", "name": "Website", "status": "operational", "created_at": "2020-11-21T15:06:05.000Z",
			"updated_at": "2020-11-21T15:06:05.000Z", "position": 1, "description": "All of it", "showcase": true, "start_date": "2020-11-22",
			"group_id": null, "page_id": "page_1", "group": false, "only_show_if_degraded": false},
		{"id": "grp_1", "name": "Regions", "status": "degraded_performance", "created_at": "2020-11-21T15:05:05.000Z",
			"updated_at": "2020-11-21T15:20:05.000Z", "position": 2, "description": null, "showcase": true, "start_date": null,
			"group_id": null, "page_id": "page_1", "group": true, "only_show_if_degraded": false, "components": ["comp_n"]},
		` + northJSON + `]`

const darkID, slowID = "01a1fc53-1977-7f37-b83c-ba9c7d0ad201", "01a1fc53-1977-7f37-b83c-ba9c7d0ad202"

const openJSON = `[{"id": "` + slowID +
	`", "name": "Slow", "status": "investigating", "created_at": "2020-11-21T15:24:05.000Z",
		"updated_at": "2020-11-21T15:24:05.000Z", "monitoring_at": null, "resolved_at": null, "impact": "none",
		"shortlink": "https://status.example/incidents/` + slowID +
	`", "started_at": "2020-11-21T15:24:05.000Z", "page_id": "page_1",
		"incident_updates": [{"id": "upd_gcb5162lukbj4ob2ud66", "status": "investigating", "body": "We are investigating this incident.",
			"incident_id": "01a1fc53-1977-7f37-b83c-ba9c7d0ad202", "created_at": "2020-11-21T15:24:05.000Z", "updated_at": "2020-11-21T15:24:05.000Z",
			"display_at": "2020-11-21T15:24:05.000Z", "affected_components": null, "deliver_notifications": true, "custom_tweet": null, "tweet_id": null}],
		"components": []}]`

// updateJSON returns an update in a document.
func updateJSON(id, of, status, body, at, affected string) string {
	return fmt.Sprintf(`{"id": %q, "status": %q, "body": %q, "incident_id": %q, "created_at": %q, "updated_at": %[5]q, "display_at": %[5]q,
			"affected_components": %[6]s, "deliver_notifications": true, "custom_tweet": null, "tweet_id": null}`, id,
		status, body, of, at, affected)
}

func affectedJSON(id, name, old, now string) string {
	return fmt.Sprintf(`{"code": %q, "name": %q, "old_status": %q, "new_status": %q}`, id, name, old, now)
}

func onNorth(old, now string) string { return "[" + affectedJSON("comp_n", "North", old, now) + "]" }

// documents are the documents of a page by their paths.
type documents map[string][]byte

// has compares what the steps lead to in a document with JSON.
func (d documents) has(t *testing.T, path, want string, steps ...any) {
	t.Helper()
	var got, wanted any
	if err := json.Unmarshal(d[path], &got); err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		switch step := step.(type) {
		case int:
			got = got.([]any)[step]
		case string:
			got = got.(map[string]any)[step]
		}
	}
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, wanted) {
		text, _ := json.MarshalIndent(got, "", " ")
		t.Errorf("%s %v is %s\nwant %s", path, steps, text, want)
	}
}

// TestStatuspageExample compares whole objects with expected ones.
func TestStatuspageExample(t *testing.T) {
	d := documents(documentsOf(t, examplePage()))
	page := `{"id": "page_1", "name": "Acme", "url": "https://status.example", "time_zone": "Pacific/Auckland", ` +
		`"updated_at": "2020-11-21T15:44:05.000Z"}`
	for path := range d {
		d.has(t, path, page, "page")
	}
	d.has(t, "status.json", `{"indicator": "minor", "description": "Some systems are degraded"}`, "status")
	d.has(t, "summary.json", componentsJSON, "components")
	d.has(t, "components.json", componentsJSON, "components")
}

func TestStatuspageExampleIncidents(t *testing.T) {
	d := documents(documentsOf(t, examplePage()))
	d.has(t, "incidents.json",
		`{"id": "`+darkID+`", "name": "North is dark", "status": "resolved", "created_at": "2020-11-21T15:14:05.000Z",
		"updated_at": "2020-11-21T15:19:05.000Z", "monitoring_at": "2020-11-21T15:17:05.000Z", "resolved_at": "2020-11-21T15:18:05.000Z",
		"impact": "major", "shortlink": "https://status.example/incidents/`+darkID+
			`", "started_at": "2020-11-21T15:14:05.000Z", "page_id": "page_1",
		"incident_updates": [`+
			updateJSON("upd_3", darkID, "resolved", "Done.", "2020-11-21T15:19:05.000Z",
				"["+affectedJSON("comp_n", "North", "major_outage", "operational")+
					","+affectedJSON("comp_gone", "Gone", "degraded_performance", "operational")+"]")+`,`+
			updateJSON("upd_2", darkID, "monitoring", "It is *back*.", "2020-11-21T15:17:05.000Z",
				"["+affectedJSON("comp_n", "North", "major_outage", "major_outage")+
					","+affectedJSON("comp_gone", "Gone", "degraded_performance", "degraded_performance")+"]")+`,`+
			updateJSON("upd_1", darkID, "investigating", "We look.", "2020-11-21T15:15:05.000Z",
				"["+affectedJSON("comp_n", "North", "operational", "major_outage")+
					","+affectedJSON("comp_gone", "Gone", "operational", "degraded_performance")+"]")+`],
		"components": [`+northJSON+`]}`, "incidents", 1)
	d.has(t, "incidents/unresolved.json", openJSON, "incidents")
	d.has(t, "summary.json", openJSON, "incidents")
}

func TestStatuspageExampleMaintenances(t *testing.T) {
	d := documents(documentsOf(t, examplePage()))
	d.has(t, "scheduled-maintenances.json",
		`{"id": "mnt_1", "name": "New wires", "status": "completed", "created_at": "2020-11-21T15:25:05.000Z",
		"updated_at": "2020-11-21T15:44:05.000Z", "monitoring_at": null, "resolved_at": "2020-11-21T15:44:05.000Z", "impact": "maintenance",
		"shortlink": "https://status.example/maintenances/mnt_1", "started_at": "2020-11-21T15:25:05.000Z", "page_id": "page_1",
		"incident_updates": [`+
			updateJSON("upd_7", "mnt_1", "completed", "Done.", "2020-11-21T15:44:05.000Z",
				onNorth("under_maintenance", "operational"))+`,`+
			updateJSON("upd_6", "mnt_1", "verifying", "Nearly.", "2020-11-21T15:39:05.000Z",
				onNorth("under_maintenance", "under_maintenance"))+`,`+
			updateJSON("upd_5", "mnt_1", "in_progress", "Now.", "2020-11-21T15:34:05.000Z",
				onNorth("operational", "under_maintenance"))+`,`+
			updateJSON("upd_4", "mnt_1", "scheduled", "Soon.", "2020-11-21T15:25:05.000Z",
				onNorth("operational", "operational"))+`],
		"components": [`+northJSON+
			`], "scheduled_for": "2020-11-21T15:34:05.000Z", "scheduled_until": "2020-11-21T15:54:05.000Z"}`,
		"scheduled_maintenances", 3)
}

func TestOrderOfStatuspageExample(t *testing.T) {
	bodies := documentsOf(t, examplePage())
	for path, want := range map[string][]string{
		"scheduled-maintenances.json":          {"mnt_2", "mnt_3", "mnt_4", "mnt_1"},
		"scheduled-maintenances/upcoming.json": {"mnt_3", "mnt_2"},
		"scheduled-maintenances/active.json":   {"mnt_4"},
		"summary.json":                         {"mnt_4", "mnt_3", "mnt_2"},
		"incidents.json":                       {slowID, darkID},
	} {
		var doc struct {
			Incidents    []struct{ ID string }
			Maintenances []struct{ ID string } `json:"scheduled_maintenances"`
		}
		if err := json.Unmarshal(bodies[path], &doc); err != nil {
			t.Fatal(err)
		}
		var got []string
		items := doc.Maintenances
		if path == "incidents.json" {
			items = doc.Incidents
		}
		for _, item := range items {
			got = append(got, item.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

// TestStatuspageLimits checks that documents are limited to the newest objects.
func TestStatuspageLimits(t *testing.T) {
	p := statuspage.PageContents{Page: statuspage.Page{Name: "Acme"}}
	for i := range 60 {
		at := day.Add(time.Duration(i) * time.Minute)
		inc := statuspage.Incident{ID: fmt.Sprint(i), State: statuspage.IncidentMonitoring, CreatedAt: at}
		for n := range 150 {
			inc.Updates = append(inc.Updates, statuspage.IncidentUpdate{
				Number: n + 1, State: statuspage.IncidentMonitoring, Message: "x", CreatedAt: at.Add(time.Duration(n)),
			})
		}
		p.Incidents = append(p.Incidents, inc)
		p.Maintenances = append(p.Maintenances, statuspage.Maintenance{
			ID: fmt.Sprint(i), State: statuspage.MaintenanceScheduled, ScheduledFor: at,
		})
	}
	for path, body := range documentsOf(t, p) {
		var doc struct {
			Incidents []struct {
				ID           string
				MonitoringAt string            `json:"monitoring_at"`
				CreatedAt    string            `json:"created_at"`
				Updates      []json.RawMessage `json:"incident_updates"`
			}
			Maintenances []struct{ ID string } `json:"scheduled_maintenances"`
		}
		if err := json.Unmarshal(body, &doc); err != nil {
			t.Fatal(err)
		}
		if list := doc.Incidents; strings.Contains(path, "incidents") || path == "summary.json" {
			if len(list) != 50 || list[0].ID != "59" || list[49].ID != "10" {
				t.Fatalf("%s: %d incidents", path, len(list))
			}
			if n := len(list[0].Updates); n != 100 || list[0].MonitoringAt != list[0].CreatedAt {
				t.Errorf("%s: %d updates, monitoring at %s", path, n, list[0].MonitoringAt)
			}
		}
		switch list := doc.Maintenances; path {
		case "scheduled-maintenances.json":
			if len(list) != 50 || list[0].ID != "59" {
				t.Errorf("%s: %d maintenances from %s", path, len(list), list[0].ID)
			}
		case "scheduled-maintenances/upcoming.json", "summary.json":
			if len(list) != 50 || list[0].ID != "0" {
				t.Errorf("%s: %d maintenances from %s", path, len(list), list[0].ID)
			}
		}
	}
}

// TestFaultsAreFound checks that statuspagetest reports invalid documents.
func TestFaultsAreFound(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	var summary string
	for !strings.Contains(summary, `"affected_components":[`) || !strings.Contains(summary, `"group":true`) ||
		!strings.Contains(summary, `"scheduled_for"`) || !strings.Contains(summary, `"description":null`) {
		summary = string(documentsOf(t, samplePage(r, "Hello"))["summary.json"])
	}
	if faults := statuspagetest.Faults("summary.json", []byte(summary)); len(faults) > 0 {
		t.Fatalf("the summary: %v", faults)
	}
	for old, spoilt := range map[string]string{
		`"showcase":true`:              `"showcase":true,"uptime":1`,
		`"incident_updates":[`:         `"postmortem":null,"incident_updates":[`,
		`"time_zone":"`:                `"zone":"`,
		`"deliver_notifications":true`: `"deliver_notifications":true,"wants_twitter_update":false`,
		`"old_status"`:                 `"old"`,
		`"indicator":`:                 `"level":1,"indicator":`,
		`.000Z"`:                       `Z"`,
		`"description":null`:           `"description":""`,
		`"position":1`:                 `"position":0`,
		`"scheduled_until"`:            `"until"`,
		`"impact":"maintenance"`:       `"impact":"none"`,
		`"components":["comp_`:         `"components":["no_`,
		`"group":true`:                 `"group":false`,
		`"page":{`:                     `"meta":{},"page":{`,
	} {
		bad := strings.Replace(summary, old, spoilt, 1)
		if old == `.000Z"` {
			bad = regexp.MustCompile(`\.\d{3}Z"`).ReplaceAllString(summary, spoilt)
		}
		if bad == summary {
			t.Errorf("there is no %s", old)
		} else if len(statuspagetest.Faults("summary.json", []byte(bad))) == 0 {
			t.Errorf("%s passes for %s", spoilt, old)
		}
	}
}

var day = time.Date(2020, 11, 21, 15, 4, 5, 0, time.UTC)

func text(s string) *string { return &s }

// TestDocumentsAreBounded: documents have a limited size, however long the texts on the page are.
func TestDocumentsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 8<<10)
	p := statuspage.PageContents{Page: statuspage.Page{Name: "Acme"}}
	for i := range 200 {
		p.Components = append(p.Components, statuspage.Component{
			ID: fmt.Sprint("comp_", i), Name: "x", Description: &long,
		})
	}
	for i := range MaxItems {
		inc := statuspage.Incident{ID: fmt.Sprint(i), State: statuspage.IncidentMonitoring, CreatedAt: day}
		m := statuspage.Maintenance{ID: fmt.Sprint(i), State: statuspage.MaintenanceScheduled, ScheduledFor: day}
		for n := range 4 {
			inc.Updates = append(inc.Updates, statuspage.IncidentUpdate{
				Number: n + 1, State: inc.State, Message: long, CreatedAt: day,
			})
			m.Updates = append(m.Updates, statuspage.MaintenanceUpdate{
				Number: n + 1, State: m.State, Message: long, CreatedAt: day,
			})
		}
		p.Incidents, p.Maintenances = append(p.Incidents, inc), append(p.Maintenances, m)
	}
	lists := map[string]int{"summary.json": 3, "status.json": 0} // of the others, one
	for path, body := range documentsOf(t, p) {
		n, several := lists[path]
		if !several {
			n = 1
		}
		if most := n*maxListBytes + 100<<10; len(body) > most {
			t.Errorf("%s has %d bytes, more than %d", path, len(body), most)
		}
	}
}
