package faults

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/test/binary"
)

// Responses of the API.
type (
	monitorState struct {
		State      string     `json:"state"`
		LastPingAt *time.Time `json:"last_ping_at"`
	}
	incidentState struct {
		ID         string     `json:"id"`
		Title      string     `json:"title"`
		Resolved   bool       `json:"resolved"`
		ResolvedAt *time.Time `json:"resolved_at"`
	}
	updateState struct {
		ID      string `json:"id"`
		Message string `json:"message"`
	}
)

// checkRound checks that everything the server acknowledged in the round is stored, and then
// resolves the incidents of the round.
func (w *environment) checkRound(l *load) {
	w.t.Helper()
	for _, j := range w.jobs {
		w.checkPings(j)
		w.checkHistory(j)
		w.checkOutage(j)
	}
	for _, r := range w.reporters {
		w.checkReports(r)
	}
	w.checkConditions()
	for _, inc := range l.incidents {
		if inc.id == "" {
			continue // whether it was opened is unknown
		}
		w.sendAgain(inc)
		w.kept += w.checkUpdates(inc)
		w.api.Must(w.t, "PATCH", "/api/v1/incidents/"+inc.id, params{"state": "resolved", "resolved": true}, nil)
	}
}

// checkPings checks that the last recorded ping is not older than the last acknowledged one,
// and that the monitor of a job that pings is up.
func (w *environment) checkPings(j *job) {
	w.t.Helper()
	var m binary.Data[monitorState]
	w.api.Must(w.t, "GET", "/api/v1/monitors/"+j.id, nil, &m)
	if m.Data.State != "up" && j.alive() {
		w.t.Errorf("%s pings continuously and is %s", j.name, m.Data.State)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	// The API returns milliseconds.
	acked := j.acked.Truncate(time.Millisecond)
	if !j.acked.IsZero() && (m.Data.LastPingAt == nil || m.Data.LastPingAt.Before(acked)) {
		w.t.Errorf("%s: a ping sent at %v was acknowledged; the last recorded ping is from %v", j.name, acked.UTC(),
			m.Data.LastPingAt)
	}
}

// checkOutage checks that an outage is complete: the monitor is down, its component has a
// major outage and one incident is open, or none of the three.
func (w *environment) checkOutage(j *job) {
	w.t.Helper()
	// A tick between two requests changes the state. Then both are repeated.
	for before, tries := w.state(j), 0; ; tries++ {
		var component binary.Data[struct{ Status string }]
		w.api.Must(w.t, "GET", "/api/v1/pages/acme/components/"+j.component, nil, &component)
		var active binary.List[incidentState]
		w.api.Must(w.t, "GET", "/api/v1/pages/acme/incidents?resolved=false&per_page=100", nil, &active)
		open := 0
		for _, inc := range active.Data {
			if inc.Title == j.autoTitle() {
				open++
			}
		}
		if after := w.state(j); after != before && tries < 5 {
			before = after
			continue
		}
		status, incidents := "operational", 0
		if before == "down" {
			status, incidents = "major_outage", 1
		}
		if component.Data.Status != status || open != incidents {
			w.t.Errorf("%s is %s, its component %s, and %d incidents of it are open", j.name, before,
				component.Data.Status, open)
		}
		return
	}
}

// sendAgain repeats the updates that have a key and got no response. They succeed now,
// whether they were saved before the kill or not.
func (w *environment) sendAgain(inc *incident) {
	w.t.Helper()
	for _, e := range inc.entries {
		if e.id != "" || e.key == "" {
			continue
		}
		var answer binary.Data[updateState]
		status, err := w.api.Do(w.t.Context(), "POST", "/api/v1/incidents/"+inc.id+"/updates",
			params{"message": e.message}, &answer, "Idempotency-Key", e.key)
		if err != nil || status != http.StatusCreated {
			w.t.Errorf("%q sent again with its key: status %d, %v", e.message, status, err)
			continue
		}
		e.id = answer.Data.ID
	}
}

// checkUpdates checks that acknowledged updates are stored once, with the id of the response and
// in the order in which they were written, that others are stored at most once, and that there
// are no other updates. It returns the number of stored updates that were not acknowledged.
func (w *environment) checkUpdates(inc *incident) (unacknowledged int) {
	w.t.Helper()
	stored := map[string][]string{}
	var order []string
	for _, u := range binary.All[updateState](w.t, w.api, "/api/v1/incidents/"+inc.id+"/updates") {
		stored[u.Message] = append(stored[u.Message], u.ID)
		order = append(order, u.Message)
	}
	var sent []string
	for _, e := range inc.entries {
		ids := stored[e.message]
		delete(stored, e.message)
		switch {
		case e.id != "" && !slices.Equal(ids, []string{e.id}):
			w.t.Errorf("%q was acknowledged as %s, and is stored as %v", e.message, e.id, ids)
		case len(ids) > 1:
			w.t.Errorf("%q was sent once and is stored %d times", e.message, len(ids))
		}
		if e.id == "" && len(ids) == 1 {
			unacknowledged++
		}
		if len(ids) > 0 {
			sent = append(sent, e.message)
		}
	}
	for message := range stored {
		w.t.Errorf("%q is stored, and was not sent", message)
	}
	if !slices.Equal(order, sent) {
		w.t.Errorf("%s: the updates are not in the order in which they were sent:\n%s", inc.title,
			strings.Join(order, "\n"))
	}
	return unacknowledged
}

// checkEnd stops and resumes each flapping job once more, and then checks the incidents of all
// rounds.
func (w *environment) checkEnd() {
	w.t.Helper()
	var silent []*job
	for _, j := range w.jobs {
		if j.flaps {
			w.mustPing(j)
			silent = append(silent, j)
		}
	}
	w.awaitDown(slices.Clone(silent))
	for _, j := range silent {
		w.checkOutage(j)
		w.mustPing(j)
		// It must not be down again before the checks end.
		w.api.Must(w.t, "PATCH", "/api/v1/monitors/"+j.id, params{"interval": 3600}, nil)
		w.checkOutage(j)
	}
	w.checkAllIncidents()
	for _, secret := range []string{apiToken, w.jobs[0].token} {
		if strings.Contains(w.server.Log(), secret) {
			w.t.Error("the log contains a token")
		}
	}
	if log := w.server.Log(); strings.Contains(log, "panic") || strings.Contains(log, "DATA RACE") {
		w.t.Errorf("the server panicked:\n%s", log)
	}
	if err := w.server.Stop(); err != nil {
		w.t.Errorf("stopping the server: %v", err)
	}
}

// awaitDown returns when the monitors of all silent jobs are down. The other jobs ping.
func (w *environment) awaitDown(silent []*job) {
	w.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); len(silent) > 0; <-tick.C {
		for _, j := range w.jobs {
			if !j.flaps {
				w.mustPing(j)
			}
		}
		silent = slices.DeleteFunc(silent, func(j *job) bool { return w.state(j) == "down" })
		if len(silent) > 0 && time.Now().After(deadline) {
			w.t.Fatalf("%s has been silent for 30 s with an interval of 1 s, and is up", silent[0].name)
		}
	}
}

func (w *environment) mustPing(j *job) {
	w.t.Helper()
	sent, number := time.Now(), j.nextNumber()
	if status, err := w.sendPing(w.t.Context(), j, number); err != nil || status != http.StatusOK {
		w.t.Fatalf("a ping without a fault: status %d, %v", status, err)
	}
	j.acknowledge(number, sent)
}

func (w *environment) state(j *job) string {
	w.t.Helper()
	var m binary.Data[monitorState]
	w.api.Must(w.t, "GET", "/api/v1/monitors/"+j.id, nil, &m)
	return m.Data.State
}

// checkAllIncidents checks that all incidents are resolved, and that incidents of outages belong to jobs that were
// silent and have two updates.
func (w *environment) checkAllIncidents() {
	w.t.Helper()
	acknowledged := map[string]*incident{}
	for _, inc := range w.incidents {
		if inc.id != "" {
			acknowledged[inc.id] = inc
		}
	}
	alive := map[string]bool{} // by the title of the incident that must not exist
	for _, j := range w.jobs {
		alive[j.autoTitle()] = j.alive()
	}
	for _, inc := range binary.All[incidentState](w.t, w.api, "/api/v1/pages/acme/incidents") {
		if !isAutoTitle(inc.Title) {
			if ours := acknowledged[inc.ID]; ours != nil {
				delete(acknowledged, inc.ID)
				w.checkUpdates(ours)
				if !inc.Resolved {
					w.t.Errorf("%q was resolved, and is open again", inc.Title)
				}
			}
			continue
		}
		w.outages++
		if alive[inc.Title] {
			w.t.Errorf("%q: this job was never silent", inc.Title)
		}
		if !inc.Resolved || inc.ResolvedAt == nil {
			w.t.Errorf("%q of a job that is up again is not resolved", inc.Title)
		}
		if n := len(binary.All[updateState](w.t, w.api, "/api/v1/incidents/"+inc.ID+"/updates")); n != 2 {
			w.t.Errorf("%q has %d updates, want 2: silent since, recovered", inc.Title, n)
		}
	}
	for id, inc := range acknowledged {
		w.t.Errorf("%q was acknowledged as %s, and is missing", inc.title, id)
	}
}
