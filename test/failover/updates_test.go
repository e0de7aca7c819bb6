package failover

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/allswell/allswell/test/binary"
)

const (
	// updatesPerIncident keeps an incident well below the limit of updates.
	updatesPerIncident = 60
	// writePause is the time between two updates, and between two tries.
	writePause = 250 * time.Millisecond
)

// An incident with what a writer sent to it.
type incident struct {
	id      string
	title   string // the last one that was acknowledged
	updates []*update
}

// An update that a writer sent. id is from the acknowledgement, "" without one.
type update struct{ id, message string }

// A writer opens incidents and adds updates. Every request is sent again, with
// the same key, until it is acknowledged.
type writer struct {
	w    *environment
	name string

	mu        sync.Mutex
	incidents []*incident
	acked     int
}

// run writes until ctx ends.
func (r *writer) run(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		inc := &incident{title: fmt.Sprintf("%s, incident %d", r.name, n)}
		var opened binary.Data[struct{ ID string }]
		if !r.send(ctx, "POST", "/api/v1/pages/acme/incidents", params{"title": inc.title}, &opened) {
			return
		}
		inc.id = opened.Data.ID
		r.mu.Lock()
		r.incidents = append(r.incidents, inc)
		r.mu.Unlock()
		for i := range updatesPerIncident {
			if !r.update(ctx, inc, i) {
				return
			}
		}
		r.send(ctx, "PATCH", "/api/v1/incidents/"+inc.id, params{"resolved": true, "state": "resolved"}, nil)
	}
}

// update adds one update, and sometimes changes the title, which a retry does
// not change again.
func (r *writer) update(ctx context.Context, inc *incident, i int) bool {
	u := &update{message: fmt.Sprintf("%s, update %d", inc.title, i)}
	r.mu.Lock()
	inc.updates = append(inc.updates, u)
	r.mu.Unlock()
	var answer binary.Data[struct{ ID string }]
	if !r.send(ctx, "POST", "/api/v1/incidents/"+inc.id+"/updates", params{"message": u.message}, &answer) {
		return false
	}
	r.mu.Lock()
	u.id = answer.Data.ID
	r.acked++
	r.mu.Unlock()
	if i%5 == 4 {
		title := fmt.Sprintf("%s, title %d", inc.title, i)
		if !r.send(ctx, "PATCH", "/api/v1/incidents/"+inc.id, params{"title": title[:min(len(title), 200)]}, nil) {
			return false
		}
		r.mu.Lock()
		inc.title = title[:min(len(title), 200)]
		r.mu.Unlock()
	}
	return pause(ctx, writePause)
}

// send reports whether the request was acknowledged before ctx ended.
func (r *writer) send(ctx context.Context, method, path string, body params, into any) bool {
	key := rand.Text()
	for ctx.Err() == nil {
		status, err := r.w.api.Do(ctx, method, path, body, into, "Idempotency-Key", key)
		switch {
		case err == nil && status/100 == 2:
			return true
		case err == nil && status < 500 && status != http.StatusConflict,
			err == nil && status == http.StatusInternalServerError:
			r.w.t.Errorf("%s %s was answered %d", method, path, status)
			return false
		}
		pause(ctx, writePause)
	}
	return false
}

// check returns the number of acknowledged changes that are lost, and the ids of all stored
// updates.
func (r *writer) check(stored map[string]bool) (lost int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, inc := range r.incidents {
		var now binary.Data[struct{ Title string }]
		r.w.api.Must(r.w.t, "GET", "/api/v1/incidents/"+inc.id, nil, &now)
		there := binary.All[struct{ ID, Message string }](r.w.t, r.w.api, "/api/v1/incidents/"+inc.id+"/updates")
		byMessage := map[string][]string{}
		for _, u := range there {
			byMessage[u.Message] = append(byMessage[u.Message], u.ID)
			stored[u.ID] = true
		}
		for _, u := range inc.updates {
			ids := byMessage[u.message]
			switch {
			case u.id != "" && !slices.Contains(ids, u.id):
				lost++
				r.w.t.Errorf("%q was acknowledged as %s, and is not there: %v", u.message, u.id, ids)
			case len(ids) > 1:
				r.w.t.Errorf("%q is there %d times", u.message, len(ids))
			}
		}
		// The last change of the title may be stored without an acknowledgement.
		if acked := inc.title; acked != now.Data.Title && len(now.Data.Title) <= len(acked) {
			lost++
			r.w.t.Errorf("title %q was acknowledged, %q is there", acked, now.Data.Title)
		}
	}
	return lost
}

// acknowledged returns the incidents with the ids of their acknowledged updates.
func (r *writer) acknowledged() map[string][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := map[string][]string{}
	for _, inc := range r.incidents {
		for _, u := range inc.updates {
			if u.id != "" {
				ids[inc.id] = append(ids[inc.id], u.id)
			}
		}
	}
	return ids
}
