package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestDeleteOverride deletes an override whose id is listed, and refuses what has no meaning.
func TestDeleteOverride(t *testing.T) {
	const schedule = `{"id":"onc_1","slug":"ops","name":"Ops","zone":"Asia/Tokyo","participants":[],"next":[],"overrides":[
		{"id":"ovr_1","participant":"Bob","starts_at":"2026-11-21T08:00:00.000Z","ends_at":"2026-11-21T09:00:00.000Z"},
		{"id":"ovr_2","participant":"Ann","starts_at":"2026-11-22T08:00:00.000Z","ends_at":"2026-11-22T09:00:00.000Z"}]}`
	changed := ""
	server := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		body := `{"data":` + schedule + `}`
		switch {
		case r.Method == http.MethodPatch:
			text, _ := io.ReadAll(r.Body)
			changed += string(text)
		case strings.HasSuffix(r.URL.Path, "/on-call"):
			body = `{"data":[` + schedule + `],"meta":{"page":1,"per_page":100,"total":1}}`
		}
		_, _ = io.WriteString(w, body)
	}
	status, out, errs := against(t, server, "oncall", "show", "ops")
	if status != 0 || !strings.Contains(out, "Bob (override ovr_1)") {
		t.Errorf("oncall show: status %d %s%s", status, out, errs)
	}
	for _, args := range []string{"--delete=ovr_3", "--delete=ovr_1 --for=1h", "--participant=Bob"} {
		status, _, errs := against(t, server, append([]string{"oncall", "override", "ops"}, strings.Fields(args)...)...)
		if status == 0 || errs == "" || changed != "" {
			t.Errorf("%s: %d %s%s", args, status, errs, changed)
		}
	}
	status, out, errs = against(t, server, "oncall", "override", "ops", "--delete=ovr_1")
	if status != 0 || !strings.Contains(out, "Deleted the override ovr_1.") || strings.Contains(changed, "ovr_1") ||
		!strings.Contains(changed, "ovr_2") {
		t.Errorf("deleting an override: status %d %s%s %s", status, out, errs, changed)
	}
	changed = ""
	_, _, errs = against(t, server, "oncall", "override", "ops", "--participant=Ann", "--from=2026-12-24 18:00",
		"--until=2026-12-24 20:00")
	if !strings.Contains(changed, `"2026-12-24T18:00:00+09:00"`) ||
		!strings.Contains(changed, `"2026-12-24T20:00:00+09:00"`) {
		t.Errorf("times of the schedule's zone: %s%s", changed, errs)
	}
	_, out, errs = against(t, server, "oncall", "override", "ops", "--participant=Ann", "--from=2026-11-21T08:30:00Z",
		"--for=1h")
	if !strings.Contains(out, "It takes precedence over the override of Bob") ||
		strings.Contains(out, "override of Ann") {
		t.Errorf("an override that replaces another one: %s%s", out, errs)
	}
}
