package store_test

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// TestSilentChanges checks who is notified of an incident after a change that notifies nobody.
func TestSilentChanges(t *testing.T) {
	t.Parallel()
	resolved, say := statuspage.IncidentUpdate{Message: "Done.", State: statuspage.IncidentResolved},
		statuspage.IncidentUpdate{Message: "More."}
	silently := func(u statuspage.IncidentUpdate) statuspage.IncidentUpdate { u.Silent = true; return u }
	for name, c := range map[string]struct {
		silent, draft bool // of the beginning
		changes       []statuspage.IncidentUpdate
		want          []string // events of the incident after the beginning
	}{
		"all of it": {true, false, []statuspage.IncidentUpdate{silently(say), silently(resolved)},
			nil},
		"the end of nothing": {true, false, []statuspage.IncidentUpdate{resolved}, nil},
		"an update after the beginning": {true, false, []statuspage.IncidentUpdate{say, resolved},
			[]string{"created: Slow, major, investigating: More.", "resolved: Slow, major, resolved: Done."}},
		"an update after the end": {true, false, []statuspage.IncidentUpdate{resolved, say},
			[]string{"created: Slow, major, resolved: More."}},
		"one update":                {false, false, []statuspage.IncidentUpdate{silently(say)}, nil},
		"the end":                   {false, false, []statuspage.IncidentUpdate{silently(resolved)}, nil},
		"a draft published quietly": {true, true, []statuspage.IncidentUpdate{resolved}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inWorlds(t, func(w *world) {
				n := statuspage.Incident{
					Title: "Slow", Draft: c.draft,
					Affected: []statuspage.AffectedComponent{w.at(kernel.StatusPartialOutage)},
				}
				i := must(w.CreateIncident(w.ctx, w.ws, "acme", n,
					statuspage.IncidentUpdate{Message: "We look.", Silent: c.silent}, nil))(w)
				if c.draft {
					i = must(w.PublishIncident(w.ctx, w.ws, i.ID, true))(w)
				}
				w.shows(kernel.StatusPartialOutage)
				if begun := w.incidentEvents(); c.silent != (len(begun) == 0) {
					t.Errorf("events of the beginning: %q", begun)
				}
				for _, u := range c.changes {
					w.clock.move(time.Second)
					w.change(i, func(i *statuspage.Incident) error {
						i.State = cmp.Or(u.State, i.State)
						return nil
					}, u)
				}
				if got := w.incidentEvents(); !slices.Equal(got, c.want) {
					t.Errorf("events %q, want %q", got, c.want)
				}
				updates := must(w.Incident(w.ctx, w.ws, i.ID))(w).Updates
				if updates[0].Silent != c.silent {
					t.Errorf("the first update: %+v", updates[0])
				}
				audited := strings.Join(w.audited(), "\n")
				want := c.silent || c.changes[0].Silent
				if want != (strings.Contains(audited, `"notify":false`) ||
					strings.Contains(audited, `"notified":false`)) {
					t.Errorf("audited:\n%s", audited)
				}
			})
		})
	}
}

// incidentEvents returns the new events of incidents.
func (w *world) incidentEvents() []string {
	return slices.DeleteFunc(w.newEvents(), func(e string) bool { return strings.HasPrefix(e, "Backups: ") })
}

// TestEditAndDeleteUpdates changes the text of an update and deletes another.
func TestEditAndDeleteUpdates(t *testing.T) {
	inWorlds(t, func(w *world) {
		i := w.about("Slow", "We look.", w.at(kernel.StatusPartialOutage))
		for _, text := range []string{"The password is hunter2.", "Fixed."} {
			must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: text}, nil))(w)
		}
		updates := must(w.Incident(w.ctx, w.ws, i.ID))(w).Updates
		tag := kernel.Precondition{Tags: []string{kernel.EntityTag(updates[0])}}
		w.clock.move(time.Minute)
		edited := must(w.EditUpdate(w.ctx, w.ws, i.ID, updates[0].ID, "We *look*.", tag))(w)
		if edited.Message != "We *look*." || edited.EditedAt.IsZero() || edited.State != updates[0].State {
			t.Errorf("edited: %+v", edited)
		}
		again := must(w.EditUpdate(w.ctx, w.ws, i.ID, updates[0].ID, "We *look*.", kernel.Precondition{}))(w)
		if !again.EditedAt.Equal(edited.EditedAt) {
			t.Errorf("edited without a change: %+v", again)
		}
		_, err := w.EditUpdate(w.ctx, w.ws, i.ID, updates[0].ID, "Mine", tag)
		if !errors.Is(err, kernel.ErrPreconditionFailed) {
			t.Errorf("an edit of what somebody else changed: %v", err)
		}
		if err := w.DeleteUpdate(w.ctx, w.ws, i.ID, updates[1].ID, kernel.Precondition{}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Update(w.ctx, w.ws, i.ID, updates[1].ID); !errors.Is(err, kernel.ErrNotFound) {
			t.Errorf("the deleted update: %v", err)
		}
		now := must(w.Incident(w.ctx, w.ws, i.ID))(w)
		if len(now.Updates) != 2 || now.Updates[0].Number != 1 || now.Updates[1].Number != 2 ||
			now.Updates[1].ID != updates[2].ID || !now.UpdatedAt.After(i.UpdatedAt) {
			t.Errorf("the timeline: %+v", now)
		}
		must(w.PostUpdate(w.ctx, w.ws, i.ID, statuspage.IncidentUpdate{Message: "Really."}, nil))(w)
		for _, e := range must(w.Events(w.ctx))(w) {
			if e.UpdateID == updates[1].ID || strings.Contains(e.Data.Message, "hunter2") ||
				e.UpdateID == updates[0].ID && e.Data.Message != "We *look*." {
				t.Errorf("a message would say %+v", e)
			}
		}
		audited := strings.Join(w.audited(), "\n")
		if !strings.Contains(
			audited, `delete incident_update {"incident_id":"`+i.ID+`","message":"The password is hunter2."}`,
		) {
			t.Errorf("audited:\n%s", audited)
		}
		for _, u := range must(w.Incident(w.ctx, w.ws, i.ID))(w).Updates {
			if err := w.DeleteUpdate(w.ctx, w.ws, i.ID, u.ID, kernel.Precondition{}); err != nil {
				t.Fatal(err)
			}
		}
		if left := must(w.Incident(w.ctx, w.ws, i.ID))(w); len(left.Updates) != 0 || len(left.Timeline()) != 1 {
			t.Errorf("without updates: %+v", left)
		}
	})
}
