package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// version2 is a database at version 2 of the schema.
type version2 struct {
	*testing.T
	db      *sql.DB
	want    map[string]statuspage.Component // by id
	outages int
}

// TestVersion2IsMigrated: a database that was used at version 2 keeps its
// causes, and each component begins its history with the status that it has.
func TestVersion2IsMigrated(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, dsn string) {
		t.Parallel()
		if err := store.MigrateTo(t.Context(), dsn, 2); err != nil {
			t.Fatal(err)
		}
		driver, address := "pgx", dsn
		if path, isFile := strings.CutPrefix(dsn, "sqlite:"); isFile {
			driver, address = "sqlite", path
		}
		v := &version2{T: t, db: must(sqlOpen(driver, address))(t), want: map[string]statuspage.Component{}}
		v.fill()
		if err := v.db.Close(); err != nil {
			t.Fatal(err)
		}

		w := &world{T: t, ctx: t.Context(), clock: newClock(), dsn: dsn, ws: kernel.Actor{WorkspaceID: "ws_1"}}
		w.clock.move(24 * time.Hour)
		w.Store = w.replica()
		p := must(w.LoadPage(w.ctx, "acme"))(w)
		if len(p.Components) != len(v.want) || p.Page.TimeZone != "UTC" || p.Page.Language != "" ||
			p.Page.Domain != "" || p.Page.Accent != "" || len(p.Page.Footer) != 0 {
			t.Fatalf("%d components of %d on %+v", len(p.Components), len(v.want), p.Page)
		}
		for _, c := range p.Components {
			is := v.want[c.ID]
			if !slices.Equal(c.Causes, is.Causes) {
				t.Errorf("%s has the causes %+v, want %+v", c.ID, c.Causes, is.Causes)
			}
			kept := p.Changes[c.ID]
			if len(kept) != 1 || kept[0].Status != is.Status().Canonical() || !kept[0].At.Equal(is.UpdatedAt) {
				t.Errorf("%s (%s, %+v) begins with %+v", c.ID, is.Baseline, is.Causes, kept)
			}
		}
		if got := must(w.Events(w.ctx))(w); len(got) != 1 || !slices.Equal(got[0].Components, []string{"comp_000"}) {
			t.Errorf("events: %+v", got)
		}
		w.run(`DELETE FROM events`) // this one leads to no status
		w.consistent()
	})
}

func (v *version2) run(text string, args ...any) {
	v.Helper()
	if _, err := v.db.Exec(text, args...); err != nil {
		v.Fatalf("%v in %s", err, text)
	}
}

// cause adds a monitor whose outage is a cause of the status of a component.
func (v *version2) cause(c *statuspage.Component, status kernel.Status, acknowledged bool) {
	ms := began.UnixMilli()
	v.outages++
	id := fmt.Sprint(v.outages)
	v.run(`INSERT INTO monitors (id, workspace_id, page_id, component_id, name, token, interval_ms, enabled,
		failure_threshold, down_status, state,
			consecutive_failures, last_ping_at, waiting_since_at, next_check_at, created_at, updated_at)
		VALUES ($1, 'ws_1', 'page_1', $2, 'job', $3, 60000, TRUE, 0, $4, 'down', 3, $5, $5, $6, $5,
		$5)`, "mon_"+id, c.ID, "token"+id, string(status), ms, ms+60_000)
	v.run(`INSERT INTO outages (id, monitor_id, silent_since_at, started_at) VALUES ($1, $2, $3, $3)`, "out_"+id,
		"mon_"+id, ms)
	v.run(`INSERT INTO causes (outage_id, component_id, status, acknowledged, started_at)
		VALUES ($1, $2, $3, $4, $5)`, "out_"+id, c.ID, string(status), acknowledged, ms+int64(v.outages))
	c.Causes = append(c.Causes, statuspage.Cause{
		Source: "out_" + id, Status: status, Acknowledged: acknowledged,
		StartedAt: began.Add(time.Duration(v.outages) * time.Millisecond),
	})
}

// fill adds components of every status, each with up to two causes.
func (v *version2) fill() {
	ms := began.UnixMilli()
	v.run(`INSERT INTO workspaces (id, name, created_at) VALUES ('ws_1', 'default', $1)`, ms)
	v.run(`INSERT INTO pages (id, workspace_id, slug, name, created_at, updated_at)
		VALUES ('page_1', 'ws_1', 'acme', 'Acme', $1, $1)`, ms)
	down := []kernel.Status{
		"", kernel.StatusMajorOutage, kernel.StatusPartialOutage, kernel.StatusDegraded,
		kernel.StatusDegradedPerformance,
	}
	for _, baseline := range kernel.Statuses {
		for _, first := range down {
			for _, second := range down {
				for _, acknowledged := range []bool{false, true} {
					c := statuspage.Component{
						ID: fmt.Sprintf("comp_%03d", len(v.want)), Baseline: baseline,
						UpdatedAt: began.Add(time.Duration(len(v.want)) * time.Second),
					}
					v.run(`INSERT INTO components (id, page_id, name, baseline, position, created_at, updated_at)
						VALUES ($1, 'page_1', $1, $2, 0, $3, $4)`, c.ID, string(baseline), ms, c.UpdatedAt.UnixMilli())
					if first != "" {
						v.cause(&c, first, acknowledged)
					}
					if second != "" {
						v.cause(&c, second, false)
					}
					v.want[c.ID] = c
				}
			}
		}
	}
	v.run(`INSERT INTO events (id, page_id, page_version, ordinal, kind, component_id, data, created_at)
		VALUES ('evt_1', 'page_1', 1, 0, 'component.status_changed', 'comp_000', '{}', $1)`, ms)
}

// TestHistoryIsKeptAsLongAsItIsShown: twice that, and what was in force then.
func TestHistoryIsKeptAsLongAsItIsShown(t *testing.T) {
	inWorlds(t, func(w *world) {
		const day = 24 * time.Hour
		quiet := w.anotherComponent("never changes")
		for _, s := range []kernel.Status{
			kernel.StatusDegraded, kernel.StatusMajorOutage, kernel.StatusOperational, kernel.StatusPartialOutage,
		} {
			w.clock.move(day)
			w.say(s)
		}
		w.clock.move(178*day - time.Millisecond)
		w.ok(w.Prune(w.ctx))
		w.history("degraded", "major_outage", "operational", "partial_outage") // degraded was in force 180 days ago
		w.clock.move(time.Millisecond)
		w.ok(w.Prune(w.ctx))
		w.history("major_outage", "operational", "partial_outage")
		w.clock.move(10 * 365 * day)
		w.ok(w.Prune(w.ctx))
		w.history("partial_outage")
		p := must(w.LoadPage(w.ctx, "acme"))(w)
		for _, c := range []statuspage.Component{w.component, quiet} {
			of := statuspage.NewHistory(p.Changes[c.ID], p.Gaps, w.clock.now(), time.UTC).Last(statuspage.HistoryDays)
			if of.Empty() || of.In(kernel.StatusUnknown) > 0 {
				w.Errorf("%s: %+v", c.Name, of)
			}
		}
	})
}

// TestPageHasItsHistory: the changes of the days shown, what was in force when
// they begin, and with listening gaps; of this page alone.
func TestPageHasItsHistory(t *testing.T) {
	inWorlds(t, func(w *world) {
		must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"})))(w)
		must(w.Components().Create(w.ctx, w.ws, "other",
			resource.Component.From(statuspage.Component{Name: "of another page"})))(w)
		must(w.ChangePage(w.ctx, w.ws, "acme", resource.Page.From(statuspage.Page{TimeZone: "Pacific/Auckland"})))(w)
		auckland := must(time.LoadLocation("Pacific/Auckland"))(w)
		end := began.AddDate(0, 0, 100)
		start := statuspage.HistoryStart(end, auckland)
		for _, step := range []struct {
			at     time.Time
			status kernel.Status
		}{
			{start.Add(-time.Hour), kernel.StatusDegraded}, {start.Add(-time.Millisecond), kernel.StatusPartialOutage},
			{start.Add(time.Hour), kernel.StatusDegradedPerformance}, {end.Add(-time.Hour), kernel.StatusOperational},
		} {
			w.clock.set(step.at)
			w.say(step.status)
		}
		made := w.anotherComponent("made late")
		w.run(`INSERT INTO listening_gaps (from_at, to_at) VALUES ($1, $2), ($3, $4)`,
			start.Add(-2*time.Hour).UnixMilli(), start.Add(-time.Hour).UnixMilli(),
			start.Add(-time.Minute).UnixMilli(), start.Add(time.Minute).UnixMilli())
		w.clock.set(end)
		p := must(w.LoadPage(w.ctx, "acme"))(w)
		of := func(id string) (lines []string) {
			for _, ch := range p.Changes[id] {
				lines = append(lines, fmt.Sprint(ch.At.Sub(start), " ", ch.Status))
			}
			return lines
		}
		got, want := of(w.component.ID),
			[]string{
				"-1ms partial_outage", "1h0m0s degraded", fmt.Sprint(end.Add(-time.Hour).Sub(start), " operational"),
			}
		if !slices.Equal(got, want) {
			w.Errorf("changes %v, want %v", got, want)
		}
		if got := of(made.ID); len(got) != 1 || len(p.Changes) != 2 {
			w.Errorf("changes of another %v, of %d components", got, len(p.Changes))
		}
		if len(p.Gaps) != 1 || !p.Gaps[0].To.Equal(start.Add(time.Minute)) {
			w.Errorf("gaps: %+v", p.Gaps)
		}
		sum := must(w.Summary(w.ctx, w.ws, "acme"))(w)
		first := sum.Histories[w.component.ID][0]
		if !first.Date.Equal(start) || first.In(kernel.StatusPartialOutage) != time.Hour-time.Minute ||
			first.In(kernel.StatusUnknown) != time.Minute || sum.Zone.String() != "Pacific/Auckland" {
			w.Errorf("the first day: %+v", first)
		}
	})
}

// TestMonthIsOfThePagesZone: what began in the month where the page is, or earlier and was not over then.
func TestMonthIsOfThePagesZone(t *testing.T) {
	inWorlds(t, func(w *world) {
		must(w.ChangePage(w.ctx, w.ws, "acme", resource.Page.From(statuspage.Page{TimeZone: "Pacific/Auckland"})))(w)
		auckland := must(time.LoadLocation("Pacific/Auckland"))(w)
		// 30 days and an hour
		april, may := time.Date(2026, 4, 1, 0, 0, 0, 0, auckland), time.Date(2026, 5, 1, 0, 0, 0, 0, auckland)
		completed := func(title string, at time.Time) {
			w.clock.set(at)
			m := w.plan(title, 0, time.Hour)
			w.alter(m, func(m *statuspage.Maintenance) error { m.State = statuspage.MaintenanceCompleted; return nil })
		}
		for title, at := range map[string]time.Time{
			"march": april.Add(-time.Millisecond), "first": april, "last": may.Add(-time.Millisecond), "may": may,
		} {
			w.opened(title, "", at)
			completed(title, at)
		}
		for title, resolved := range map[string]time.Time{"over": april, "over in April": april.Add(time.Millisecond)} {
			inc := w.opened(title, statuspage.IncidentResolved, april.Add(-time.Hour))
			w.run(fmt.Sprintf(`UPDATE incidents SET resolved_at = %d WHERE id = '%s'`, resolved.UnixMilli(), inc.ID))
		}
		w.clock.set(april.Add(-time.Minute))
		m := w.plan("over night", 0, time.Hour)
		w.alter(m, func(m *statuspage.Maintenance) error { m.State = statuspage.MaintenanceInProgress; return nil })
		w.clock.set(april.Add(time.Minute))
		w.alter(m, func(m *statuspage.Maintenance) error { m.State = statuspage.MaintenanceCompleted; return nil })
		w.clock.set(april.Add(24 * time.Hour))
		w.plan("it runs", 0, time.Hour)
		w.plan("it is to come", time.Hour, 2*time.Hour)
		p := must(w.LoadMonth(w.ctx, "acme", 2026, time.April))(w)
		if got := titles(p.Incidents); !slices.Equal(got, []string{"first", "last", "march", "over in April"}) {
			w.Errorf("incidents of April: %v", got)
		}
		var got []string
		for _, m := range p.Maintenances {
			got = append(got, m.Title)
			if len(m.Updates) < 2 || len(m.Components) != 1 {
				w.Errorf("maintenance: %+v", m)
			}
		}
		if !slices.Equal(got, []string{"last", "first", "over night"}) {
			w.Errorf("maintenances of April: %v", got)
		}
		w.clock.set(may)
	})
}

// TestNewestOfAComponent: what concerns it, and nothing else; "" is all.
func TestNewestOfAComponent(t *testing.T) {
	inWorlds(t, func(w *world) {
		b := w.anotherComponent("b")
		for i, of := range [][]statuspage.AffectedComponent{
			{w.at(kernel.StatusDegraded)}, {w.at(kernel.StatusDegraded, b)}, nil,
			{w.at(kernel.StatusDegraded), w.at(kernel.StatusOperational, b)},
		} {
			w.clock.move(time.Second)
			w.about(fmt.Sprint("incident ", i), "x", of...)
			w.plan(fmt.Sprint("maintenance ", i), time.Duration(1+i)*time.Hour, 10*time.Hour,
				[]string{w.component.ID, b.ID}[i%2])
		}
		for id, want := range map[string]string{
			"": "[incident 3 incident 2 incident 1 incident 0] [maintenance 3 maintenance 2 maintenance " +
				"1 maintenance 0]",
			w.component.ID: "[incident 3 incident 0] [maintenance 2 maintenance 0]",
			b.ID:           "[incident 3 incident 1] [maintenance 3 maintenance 1]",
		} {
			p := must(w.LoadNewest(w.ctx, "acme", id))(w)
			var incidents, planned []string
			for _, i := range p.Incidents {
				incidents = append(incidents, i.Title)
				if len(i.Updates) != 1 || id == b.ID && i.Affected[len(i.Affected)-1].Name != "b" {
					w.Errorf("incident: %+v", i)
				}
			}
			for _, m := range p.Maintenances {
				planned = append(planned, m.Title)
			}
			if got := fmt.Sprint(incidents, planned); got != want {
				w.Errorf("of %q: %s, want %s", id, got, want)
			}
		}
		must(w.CreatePage(w.ctx, w.ws, resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"})))(w)
		// p.Components shows that it is not there
		for _, at := range [][2]string{{"other", b.ID}, {"acme", "comp_nothing"}} {
			if p := must(w.LoadNewest(w.ctx, at[0], at[1]))(w); len(p.Incidents)+len(p.Maintenances) != 0 {
				w.Errorf("newest of a component at %v: %+v", at, p)
			}
		}
		if _, err := w.LoadNewest(w.ctx, "nowhere", ""); !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("a page that is not: %v", err)
		}
		m := w.value(`SELECT min(id) FROM maintenances`)
		p, err := w.LoadMaintenance(w.ctx, "acme", m, 0)
		if err != nil || len(p.Maintenances) != 1 || p.Maintenances[0].ID != m {
			w.Errorf("one maintenance: %+v, %v", p.Maintenances, err)
		}
		for _, at := range [][2]string{{"other", m}, {"acme", "mnt_nothing"}, {"nowhere", m}} {
			if _, err := w.LoadMaintenance(w.ctx, at[0], at[1], 0); !errors.Is(err, kernel.ErrNotFound) {
				w.Errorf("maintenance at %v: %v", at, err)
			}
		}
	})
}

// TestPageImages: one of each kind, under a name that moves with it.
func TestPageImages(t *testing.T) {
	inWorlds(t, func(w *world) {
		set := func(kind statuspage.ImageKind, name, body string) statuspage.Page {
			w.Helper()
			w.clock.move(time.Second)
			return must(w.SetPageImage(w.ctx, w.ws, "acme", statuspage.PageImage{
				Kind: kind, Type: "image/png", Name: name, Body: []byte(body),
			}))(w)
		}
		version := func() int64 { return must(w.LoadPage(w.ctx, "acme"))(w).Page.Version }
		before := version()
		set(statuspage.ImageLogo, "l1", "one\x00\xff")
		set(statuspage.ImageIcon, "i1", "icon")
		p := set(statuspage.ImageLogo, "l2", "two\x00\xff")
		if p.Logo != "l2" || p.Icon != "i1" || !p.UpdatedAt.Equal(w.clock.now()) || version() != before+3 {
			w.Errorf("page: %+v", p)
		}
		got := must(w.LoadPageImage(w.ctx, "acme", statuspage.ImageLogo))(w)
		if string(got.Body) != "two\x00\xff" || got.Type != "image/png" || got.Name != "l2" ||
			got.Kind != statuspage.ImageLogo {
			w.Errorf("picture: %+v", got)
		}
		w.clock.move(time.Second)
		for range 2 {
			p = must(w.DeletePageImage(w.ctx, w.ws, "acme", statuspage.ImageLogo))(w)
			if p.Logo != "" || p.Icon != "i1" {
				w.Errorf("page: %+v", p)
			}
		}
		for _, at := range []string{"acme", "nowhere"} {
			if _, err := w.LoadPageImage(w.ctx, at, statuspage.ImageLogo); !errors.Is(err, kernel.ErrNotFound) {
				w.Errorf("a picture that is not there: %v", err)
			}
		}
		w.ok(w.DeletePage(w.ctx, w.ws, "acme"))
		if got := w.value(`SELECT count(*) FROM page_images`); got != "0" {
			w.Errorf("%s pictures outlive their page", got)
		}
	})
}

// TestPageSettingsAreStored checks that a page is loaded with the settings that were saved.
func TestPageSettingsAreStored(t *testing.T) {
	inWorlds(t, func(w *world) {
		p := must(w.ChangePage(w.ctx, w.ws, "acme", resource.Page.From(statuspage.Page{
			Domain: "status.example.com", TimeZone: "Europe/Berlin", Language: "de", Accent: "#112233",
			Footer: []statuspage.FooterLink{{Label: "Imprint", URL: "https://example.com"}},
		})))(w)
		got := must(w.LoadPage(w.ctx, "acme"))(w).Page
		if got.Domain != p.Domain || got.TimeZone != "Europe/Berlin" ||
			got.Language != "de" || got.Accent != "#112233" || !slices.Equal(got.Footer, p.Footer) {
			w.Errorf("page: %+v", got)
		}
	})
}

// BenchmarkLoadPage loads a page of 50 components that changed 20 times a day.
func BenchmarkLoadPage(b *testing.B) {
	for name, dsn := range map[string]func() string{
		"sqlite":   func() string { return "sqlite:" + filepath.Join(b.TempDir(), "allswell.db") },
		"postgres": func() string { return storetest.PostgreSQL(b) },
	} {
		b.Run(name, func(b *testing.B) {
			s := storetest.Open(b, dsn(), store.Options{})
			ws, _ := storetest.Workspace(b, s, "default")
			must(s.CreatePage(b.Context(), ws, resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"})))(b)
			writer, _ := s.Pools()
			now := must(s.Clock(b.Context()))(b)
			tx := must(writer.Begin())(b)
			for i := range 50 {
				c := kernel.NewID(kernel.PrefixComponent, now)
				_, err := tx.Exec(
					`INSERT INTO components (id, page_id, name, baseline, position, created_at, updated_at)
						SELECT $1, id, 'c', 'operational', $2, 0, 0 FROM pages`, c, i,
				)
				if err != nil {
					b.Fatal(err)
				}
				for n := range 180 * 20 {
					at := now.Add(-time.Duration(n) * 24 * time.Hour / 20)
					_, err := tx.Exec(
						`INSERT INTO status_changes (component_id, changed_at, status) VALUES ($1, $2, $3)`,
						c, at.UnixMilli(), []string{"operational", "degraded"}[n%2],
					)
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			if err := tx.Commit(); err != nil {
				b.Fatal(err)
			}
			var p statuspage.PageContents
			b.Run("load", func(b *testing.B) {
				for b.Loop() {
					p = must(s.LoadPage(b.Context(), "acme"))(b)
				}
			})
			b.Run("summarize", func(b *testing.B) {
				for b.Loop() {
					p.Summarize(now)
				}
			})
		})
	}
}
