package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/allswell/allswell/internal/store"
)

var (
	nightly = map[string]any{"kind": "cron", "expression": "0 2 * * *", "time_zone": "Europe/Berlin"}
	yearly  = map[string]any{"kind": "cron", "expression": "@yearly", "time_zone": "UTC"}
)

// nightly creates a monitor with the schedule nightly, and returns its path.
func (c *client) nightly() string {
	c.t.Helper()
	made := c.post("/api/v1/monitors", map[string]any{"name": "Nightly", "schedule": nightly}).is(201)
	return "/api/v1/monitors/" + made.id()
}

func TestMonitorSchedules(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		a := c.post("/api/v1/monitors", map[string]any{"name": "Nightly", "schedule": nightly}).is(201)
		a.has(map[string]any{"interval": 90_000.0, "schedule": nightly, "grace": 300.0})
		target := "/api/v1/monitors/" + a.id()
		due := c.get(target + "/schedule?n=2").is(200).data()
		if times := due["due_at"].([]any); len(times) != 2 || !cmp.Equal(due["schedule"], any(nightly)) {
			t.Errorf("the next two due times: %v", due)
		}
		_, err := c.store.RecordPings(t.Context(), []string{a.data()["token"].(string)},
			store.LivenessRecord{Replica: "test", First: true}, store.PingOrigins{})
		if err != nil {
			t.Fatal(err)
		}
		e := c.get(target + "/explain").is(200)
		e.has(map[string]any{"schedule": nightly, "grace": 300.0, "expected_at": due["due_at"].([]any)[0]})
		for _, n := range []string{"0", "101", "-1", "x", ""} {
			c.get(target + "/schedule?n=" + n).complains("n")
		}
	})
}

// TestShownSchedulesCanBeSentBack sends back what a response shows, also distances longer than the longest interval.
func TestShownSchedulesCanBeSentBack(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := c.nightly()
		c.patch(target, map[string]any{"interval": 90_000, "schedule": nightly}).is(200).has(map[string]any{
			"schedule": nightly,
		})
		c.patch(target, map[string]any{"schedule": yearly}).is(200).has(map[string]any{
			"interval": 31_622_400.0, "schedule": yearly,
		})
		c.put("/api/v1/monitors/put", map[string]any{
			"name": "x", "interval": 31_622_400, "schedule": yearly,
		}).is(201).has(map[string]any{"grace": 300.0})
	})
}

func TestCalendarsAsSchedules(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := c.nightly()
		c.put("/api/v1/monitors/put", map[string]any{"name": "x", "interval": 60}).is(201)
		// A zone at the end of a calendar is shown as time_zone.
		workdays := map[string]any{"kind": "calendar", "expression": "Mon..Fri 08..18:00", "time_zone": "Europe/Berlin"}
		c.patch(target,
			`{"schedule":{"kind":"calendar","expression":"Mon..Fri 08..18:00 Europe/Berlin"}}`).is(200).
			has(map[string]any{
				"interval": 226_800.0, "schedule": workdays, "grace": 300.0})
		c.patch(target, map[string]any{"interval": 226_800, "schedule": workdays}).is(200).has(map[string]any{
			"schedule": workdays,
		})
		c.put("/api/v1/monitors/put", map[string]any{
			"name": "x", "schedule": workdays, "grace": 0,
		}).is(200).has(map[string]any{"grace": 0.0})
		if times := c.get("/api/v1/monitors/put/schedule?n=100").is(200).data()["due_at"].([]any); len(times) != 100 {
			t.Errorf("the next 100 due times: %v", times)
		}
		c.get(target + "/explain").is(200).has(map[string]any{"schedule": workdays})
		c.patch(target, map[string]any{"schedule": nightly}).is(200).has(map[string]any{
			"schedule": nightly, "grace": 300.0,
		})
	})
}

func TestSchedulesOfKubernetes(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := c.nightly()
		c.put("/api/v1/monitors/put", map[string]any{"name": "x", "interval": 60}).is(201)
		// Kubernetes skips 2:30 on 28 March 2027.
		asKubernetes := map[string]any{
			"kind": "cron", "expression": "30 2 28 3 *", "time_zone": "Europe/Berlin", "kubernetes": true,
		}
		c.patch(target, map[string]any{"schedule": asKubernetes}).is(200).has(map[string]any{"schedule": asKubernetes})
		for _, due := range c.get(target + "/schedule?n=2").is(200).data()["due_at"].([]any) {
			if strings.HasPrefix(due.(string), "2027") {
				t.Errorf("a job of Kubernetes is due at %v", due)
			}
		}
		c.get(target + "/explain").is(200).has(map[string]any{"schedule": asKubernetes})
		c.put("/api/v1/monitors/put", map[string]any{"name": "x", "schedule": asKubernetes}).is(200).has(map[string]any{
			"schedule": asKubernetes,
		})
		for _, off := range []string{"false", "null"} {
			c.patch(target, `{"schedule":{"kind":"calendar","expression":"daily","kubernetes":`+off+`}}`).is(200)
			c.patch(target,
				`{"schedule":{"kind":"cron","expression":"0 2 * * *","time_zone":"Europe/Berlin","kubernetes":`+off+
					`}}`).is(200).has(map[string]any{"schedule": nightly})
		}
	})
}

func TestSchedulesOfSeveralLines(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := c.nightly()
		// A timer can have several lines.
		c.patch(target,
			`{"schedule":{"kind":"calendar","expression":" Mon..Fri 06:30 Europe/Berlin\r\n\nSat 08:00 `+
				`Europe/Berlin\n"}}`).is(200).has(map[string]any{
			"interval": 171_000.0,
			"schedule": map[string]any{
				"kind": "calendar", "expression": "Mon..Fri 06:30\nSat 08:00", "time_zone": "Europe/Berlin",
			}})
		days := map[string]bool{}
		for _, due := range c.get(target + "/schedule?n=6").is(200).data()["due_at"].([]any) {
			at, err := time.Parse(time.RFC3339, due.(string))
			days[at.Weekday().String()] = err == nil
		}
		if len(days) != 6 || days["Sunday"] {
			t.Errorf("the days of due times: %v", days)
		}
		c.patch(target, map[string]any{
			"schedule": map[string]any{"kind": "cron", "expression": strings.Repeat("@daily\n", 10)},
		}).is(200)
		c.patch(target, map[string]any{
			"schedule": map[string]any{"kind": "cron", "expression": strings.Repeat("@daily\n", 11)},
		}).complains("schedule.expression")
	})
}

// TestKindOfScheduleBringsItsGrace: a change to the other kind of schedule sets the grace, unless it is given.
func TestKindOfScheduleBringsItsGrace(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := c.nightly()
		each5 := map[string]any{"kind": "interval", "interval": 300.0}
		c.patch(target, `{"interval":300}`).is(200).has(map[string]any{
			"interval": 300.0, "schedule": each5, "grace": 0.0,
		})
		c.patch(target, map[string]any{"schedule": yearly, "grace": 60}).is(200).has(map[string]any{"grace": 60.0})
		c.patch(target, map[string]any{"schedule": each5}).is(200).has(map[string]any{
			"interval": 300.0, "schedule": each5, "grace": 0.0,
		})
		c.patch(target, `{"grace":7}`).is(200).has(map[string]any{"schedule": each5, "grace": 7.0})
	})
}

// invalidSchedules are schedules, some with a field after them, and the fields that are wrong.
var invalidSchedules = map[string][]string{
	`5`:                   {"schedule"},
	`[]`:                  {"schedule"},
	`"0 2 * * *"`:         {"schedule"},
	`{}`:                  {"schedule.kind"},
	`{"kind":"weekly"}`:   {"schedule.kind"},
	`{"kind":"calendar"}`: {"schedule.expression"},
	`{"kind":"calendar","expression":"30 2 * * *"}`:                            {"schedule.expression"},
	`{"kind":"calendar","expression":"Sun *-03~7/1 02:30 Europe/Berlin"}`:      {"schedule.expression"},
	`{"kind":"calendar","expression":"02:30 Europe/Berlin","time_zone":"UTC"}`: {"schedule.expression"},
	`{"kind":"calendar","expression":"02:30","time_zone":""}`:                  {"schedule.time_zone"},
	`{"kind":"cron","expression":"30 2 * * *","time_zone":""}`:                 {"schedule.time_zone"},
	`{"kind":"calendar","expression":"daily","interval":5}`:                    {"schedule.interval"},
	`{"kind":"cron"}`: {"schedule.expression"},
	`{"kind":"cron","expression":"0 2 30 2 *"}`: {"schedule.expression"},
	`{"kind":"cron","expression":"0 25 * * *","time_zone":"Mars"}`: {
		"schedule.expression", "schedule.time_zone",
	},
	`{"kind":"cron","expression":"0 2 * * *","interval":5}`:       {"schedule.interval"},
	`{"kind":"cron","expression":"0 2 * * *","timezone":"UTC"}`:   {"schedule.timezone"},
	`{"kind":"cron","expression":"0 0 * * 7","kubernetes":true}`:  {"schedule.expression"},
	`{"kind":"cron","expression":"0 0 L * *","kubernetes":true}`:  {"schedule.expression"},
	`{"kind":"cron","expression":"0 0 ? * *","kubernetes":false}`: {"schedule.expression"},
	`{"kind":"cron","expression":"@daily","kubernetes":"yes"}`:    {"schedule.kubernetes"},
	`{"kind":"cron","kubernetes":true}`:                           {"schedule.expression"},
	`{"kind":"calendar","expression":"daily","kubernetes":true}`:  {"schedule.kubernetes"},
	`{"kind":"interval","interval":60,"kubernetes":true}`:         {"schedule.kubernetes"},
	`{"kind":"interval"}`:                                     {"schedule.interval"},
	`{"kind":"interval","interval":0}`:                        {"schedule.interval"},
	`{"kind":"interval","interval":60,"expression":"@daily"}`: {"schedule.expression"},
	`{"kind":"interval","interval":60},"interval":61`:         {"interval"},
	`{"kind":"cron","expression":"@daily"},"interval":61`:     {"interval"},
	`{"kind":"cron","expression":"@daily"},"grace":-1`:        {"grace"},
}

func TestInvalidSchedulesAreRefused(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := c.nightly()
		for schedule, fields := range invalidSchedules {
			c.unchanged(func() {
				c.patch(target, fmt.Sprintf(`{"schedule":%s}`, schedule)).complains(fields...)
				c.post("/api/v1/monitors", fmt.Sprintf(`{"name":"x","schedule":%s}`, schedule)).complains(fields...)
			})
		}
		c.post("/api/v1/monitors", `{"name":"x"}`).complains("interval")
		c.post("/api/v1/monitors", `{"name":"x","schedule":null,"interval":null}`).complains("interval")
	})
}
