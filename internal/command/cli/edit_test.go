package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/command/console"
)

// edit runs a command that changes an object, and returns what it sends to change it, with the entity tag that it
// requires; "": nothing.
func edit(t *testing.T, object, args string) (status int, sent, stderr string) {
	t.Helper()
	status, _, stderr = against(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			sent = strings.TrimSpace(canonical(body) + " " + r.Header.Get("If-Match"))
		}
		w.Header().Set("ETag", `"1"`)
		data := object
		if r.Method == http.MethodGet && !strings.HasSuffix(r.URL.Path, "_1") {
			data = `[` + object + `], "meta": {"total": 1}`
		}
		io.WriteString(w, `{"data": `+data+`}`)
	}, strings.Split(args, "|")...)
	return status, sent, stderr
}

// TestMonitorEditKeepsTheSchedule checks that what a change of a schedule does not name stays as it was.
func TestMonitorEditKeepsTheSchedule(t *testing.T) {
	const (
		cron     = `{"kind":"cron","expression":"0 2 * * *","time_zone":"Europe/Berlin","kubernetes":true}`
		calendar = `{"kind":"calendar","expression":"daily","time_zone":"Europe/Berlin"}`
		interval = `{"kind":"interval","interval":60}`
	)
	const zone = `"time_zone":"Europe/Berlin"`
	for _, c := range []struct{ schedule, flags, want string }{
		{cron, "--cron=@daily", `{"expression":"@daily","kind":"cron","kubernetes":true,` + zone + `}`},
		{cron, "--cron=0 6 * * 1|--cron=@weekly|--no-kubernetes",
			`{"expression":"0 6 * * 1\n@weekly","kind":"cron",` + zone + `}`},
		{cron, "--cron=@daily|--time-zone=UTC",
			`{"expression":"@daily","kind":"cron","kubernetes":true,"time_zone":"UTC"}`},
		{cron, "--time-zone=Asia/Tokyo",
			`{"expression":"0 2 * * *","kind":"cron","kubernetes":true,"time_zone":"Asia/Tokyo"}`},
		{cron, "--no-kubernetes", `{"expression":"0 2 * * *","kind":"cron",` + zone + `}`},
		{cron, "--calendar=Mon,Tue 06:00|--calendar=Wed 07:00",
			`{"expression":"Mon,Tue 06:00\nWed 07:00","kind":"calendar",` + zone + `}`},
		{calendar, "--calendar=weekly", `{"expression":"weekly","kind":"calendar",` + zone + `}`},
		{calendar, "--calendar=weekly Asia/Tokyo", `{"expression":"weekly Asia/Tokyo","kind":"calendar"}`},
		{calendar, "--calendar=weekly UTC", `{"expression":"weekly UTC","kind":"calendar"}`},
		{calendar, "--cron=@daily", `{"expression":"@daily","kind":"cron",` + zone + `}`},
		{calendar, "--cron=@daily|--kubernetes",
			`{"expression":"@daily","kind":"cron","kubernetes":true,` + zone + `}`},
		{interval, "--cron=@daily", `{"expression":"@daily","kind":"cron"}`},
		{interval, "--calendar=daily|--time-zone=Asia/Tokyo",
			`{"expression":"daily","kind":"calendar","time_zone":"Asia/Tokyo"}`},
		{calendar, "--kubernetes", "--kubernetes needs --cron"},
		{cron, "--calendar=daily|--kubernetes", "--kubernetes needs --cron"},
		{interval, "--time-zone=Asia/Tokyo", "the monitor has an interval"},
		{interval, "--no-kubernetes", "the monitor has an interval"},
		{cron, "--interval=5m|--time-zone=Asia/Tokyo", "the monitor has an interval"},
		{"null", "--time-zone=Asia/Tokyo", "the monitor has an interval"},
	} {
		monitor := `{"id":"mon_1","name":"x","schedule":` + c.schedule + `}`
		status, sent, stderr := edit(t, monitor, "monitor|edit|mon_1|"+c.flags)
		want := `{"schedule":` + c.want + `} "1"`
		switch {
		case !strings.HasPrefix(c.want, "{"):
			if status != console.ExitUsage || sent != "" || !strings.Contains(stderr, c.want) {
				t.Errorf("%s of %s: status %d, %s, sent %s", c.flags, c.schedule, status, stderr, sent)
			}
		case status != console.ExitDone || sent != want:
			t.Errorf("%s of %s: status %d %s\ngot  %s\nwant %s", c.flags, c.schedule, status, stderr, sent, want)
		}
	}
}

// TestRuleEditKeepsQuietHours checks that what a change of quiet hours does not name stays as it was.
func TestRuleEditKeepsQuietHours(t *testing.T) {
	const quiet = `{"zone":"Europe/Berlin","from":"22:00","until":"07:00","days":["fri"],"channel_ids":["chn_1"]}`
	for _, c := range []struct{ quiet, flags, want string }{
		{quiet, "--quiet-hours=20:00-06:00",
			`{"channel_ids":["chn_1"],"days":["fri"],"from":"20:00","until":"06:00","zone":"Europe/Berlin"}`},
		{quiet, "--quiet-zone=UTC",
			`{"channel_ids":["chn_1"],"days":["fri"],"from":"22:00","until":"07:00","zone":"UTC"}`},
		{quiet, "--quiet-day=sat|--quiet-day=sun",
			`{"channel_ids":["chn_1"],"days":["sat","sun"],"from":"22:00","until":"07:00","zone":"Europe/Berlin"}`},
		{"null", "--quiet-hours=20:00-06:00", `{"from":"20:00","until":"06:00","zone":"UTC"}`},
		{"null", "--quiet-zone=UTC", ""},
	} {
		rule := `{"id":"rul_1","name":"x","quiet_hours":` + c.quiet + `}`
		status, sent, stderr := edit(t, rule, "alert|rule|edit|rul_1|"+c.flags)
		want, done := "", console.ExitUsage
		if c.want != "" {
			want, done = `{"quiet_hours":`+c.want+`} "1"`, console.ExitDone
		}
		if status != done || sent != want {
			t.Errorf("%s: status %d %s\ngot  %s\nwant %s", c.flags, status, stderr, sent, want)
		}
	}
}

// TestTargetOfEscalation checks that the target of a step is a channel or an on-call schedule by its name, or by the
// slug of the schedule, and that nothing is changed if it is both or neither.
func TestTargetOfEscalation(t *testing.T) {
	lists := map[string]string{
		"/api/v1/channels": `{"id":"chn_1","name":"Phone"},{"id":"chn_2","name":"Both"},{"id":"chn_3","name":"slug"}`,
		"/api/v1/on-call": `{"id":"onc_1","slug":"ops","name":"Operations"},{"id":"onc_2","slug":"b","name":"Both"},
			{"id":"onc_3","slug":"slug","name":"x"}`,
		"/api/v1/alert-rules": `{"id":"rul_1","name":"x"}`,
	}
	for target, want := range map[string]string{
		"Phone": `"channel_ids":["chn_1"]`, "Operations": `"on_call_ids":["onc_1"]`, "ops": `"on_call_ids":["onc_1"]`,
		"Both":   `"Both" is a channel and an on-call schedule: give the id of one (chn_2 or onc_2)`,
		"slug":   `"slug" is a channel and an on-call schedule: give the id of one (chn_3 or onc_3)`,
		"nobody": `there is no channel and no on-call schedule "nobody"`,
	} {
		sent := ""
		status, _, stderr := against(t, func(w http.ResponseWriter, r *http.Request) {
			list, listed := lists[r.URL.Path]
			if listed && r.Method == http.MethodGet {
				io.WriteString(w, `{"data": [`+list+`], "meta": {"total": 3}}`)
				return
			}
			id := map[string]string{
				"/api/v1/on-call/ops": "onc_1", "/api/v1/on-call/slug": "onc_3",
			}[r.URL.Path]
			if id != "" {
				io.WriteString(w, `{"data": {"id":"`+id+`"}}`)
				return
			}
			// nothing has this id, slug or name
			if r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/api/v1/alert-rules") {
				http.Error(w, `{"code":"not_found","message":"Not found."}`, http.StatusNotFound)
				return
			}
			if r.Method != http.MethodGet {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				sent = canonical(body)
			}
			io.WriteString(w, `{"data": {"id":"rul_1","name":"x"}}`)
		}, "alert", "rule", "edit", "rul_1", "--escalate=10m:"+target)
		if !strings.HasPrefix(want, `"channel`) && !strings.HasPrefix(want, `"on_call`) {
			if status != console.ExitUsage || sent != "" || !strings.Contains(stderr, want) {
				t.Errorf("%s: status %d %s, sent %s", target, status, stderr, sent)
			}
		} else if status != console.ExitDone || sent != `{"escalation":[{"after":600,`+want+`}]}` {
			t.Errorf("%s: status %d %s, sent %s", target, status, stderr, sent)
		}
	}
}
