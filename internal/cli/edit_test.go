package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/console"
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
		{cron, "--cron=@daily|--time-zone=UTC", `{"expression":"@daily","kind":"cron","kubernetes":true,"time_zone":"UTC"}`},
		{cron, "--time-zone=Asia/Tokyo", `{"expression":"0 2 * * *","kind":"cron","kubernetes":true,"time_zone":"Asia/Tokyo"}`},
		{cron, "--no-kubernetes", `{"expression":"0 2 * * *","kind":"cron",` + zone + `}`},
		{cron, "--calendar=Mon,Tue 06:00|--calendar=Wed 07:00",
			`{"expression":"Mon,Tue 06:00\nWed 07:00","kind":"calendar",` + zone + `}`},
		{calendar, "--calendar=weekly", `{"expression":"weekly","kind":"calendar",` + zone + `}`},
		{calendar, "--calendar=weekly Asia/Tokyo", `{"expression":"weekly Asia/Tokyo","kind":"calendar"}`},
		{calendar, "--calendar=weekly UTC", `{"expression":"weekly UTC","kind":"calendar"}`},
		{calendar, "--cron=@daily", `{"expression":"@daily","kind":"cron",` + zone + `}`},
		{calendar, "--cron=@daily|--kubernetes", `{"expression":"@daily","kind":"cron","kubernetes":true,` + zone + `}`},
		{interval, "--cron=@daily", `{"expression":"@daily","kind":"cron"}`},
		{interval, "--calendar=daily|--time-zone=Asia/Tokyo", `{"expression":"daily","kind":"calendar","time_zone":"Asia/Tokyo"}`},
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
		{quiet, "--quiet-zone=UTC", `{"channel_ids":["chn_1"],"days":["fri"],"from":"22:00","until":"07:00","zone":"UTC"}`},
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
