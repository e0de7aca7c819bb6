package store_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// TestPostmortem writes, publishes, edits, unpublishes and deletes the post-mortem of an incident, and checks when
// visitors see it and who is notified.
func TestPostmortem(t *testing.T) {
	inWorlds(t, func(w *world) {
		put := func(
			i statuspage.Incident, change statuspage.PostmortemChange, silent bool,
		) (statuspage.Postmortem, error) {
			w.clock.move(time.Minute)
			p, _, err := w.PutPostmortem(w.ctx, w.ws, i.ID, change, silent, kernel.Precondition{})
			return p, err
		}
		shown := func(i statuspage.Incident) string {
			c := must(w.LoadIncident(w.ctx, "acme", i.ID, 0))(w)
			newest := must(w.LoadNewest(w.ctx, "acme", ""))(w)
			if p := c.Incidents[0].Postmortem; p != nil {
				if n := newest.Incidents[0].Postmortem; n == nil || n.Body != p.Body {
					w.Errorf("in feeds: %+v", n)
				}
				return p.Body
			}
			return ""
		}
		i := w.about("Slow", "We look.", w.at(kernel.StatusDegraded))
		published := new(true)
		_, err := put(i, func(p *statuspage.Postmortem) error {
			p.Body = "A full disk."
			p.Published = *published
			return nil
		}, false)
		refused(err, "published")
		draft := must(put(i, func(p *statuspage.Postmortem) error { p.Body = "A full disk."; return nil }, false))(w)
		w.change(i, func(i *statuspage.Incident) error { i.State = statuspage.IncidentResolved; return nil })
		w.newEvents()
		if draft.Published || shown(i) != "" {
			w.Errorf("a draft is shown: %+v", draft)
		}
		stale := kernel.Precondition{Tags: []string{kernel.EntityTag(draft)}}
		first := must(put(i, func(p *statuspage.Postmortem) error {
			p.Body = "A *full* disk."
			p.Published = *published
			return nil
		}, false))(w)
		if !first.Notified || !first.EditedAt.IsZero() || shown(i) != "A *full* disk." {
			w.Errorf("published: %+v", first)
		}
		if got, want := w.incidentEvents(),
			[]string{"postmortem: Slow, minor, resolved: A *full* disk."}; !slices.Equal(got, want) {
			w.Errorf("events %q, want %q", got, want)
		}
		if _, _, err := w.PutPostmortem(w.ctx, w.ws, i.ID, func(p *statuspage.Postmortem) error {
			p.Body = "Mine."
			return nil
		}, false, stale); !errors.Is(err, kernel.ErrPreconditionFailed) {
			w.Errorf("somebody else has changed it: %v", err)
		}
		if edited := must(put(i, func(p *statuspage.Postmortem) error {
			p.Body = "A full disk!"
			return nil
		}, false))(w); edited.EditedAt.IsZero() || !edited.PublishedAt.Equal(first.PublishedAt) {
			w.Errorf("edited: %+v", edited)
		}
		if text := w.value(
			`SELECT data FROM events WHERE kind = 'incident.postmortem'`,
		); !strings.Contains(text, "A full disk!") {
			w.Errorf("what is not sent yet: %s", text)
		}
		w.change(i, func(i *statuspage.Incident) error { i.SetResolved(false); return nil })
		if shown(i) != "" {
			w.Error("shown although the incident is open again")
		}
		w.change(i, func(i *statuspage.Incident) error { i.SetResolved(true); return nil })
		w.newEvents()
		must(put(i, func(p *statuspage.Postmortem) error {
			p.Body = "A full disk!"
			p.Published = false
			return nil
		}, false))(w)
		if shown(i) != "" {
			w.Error("shown although it is a draft again")
		}
		if text := w.value(
			`SELECT data FROM events WHERE kind = 'incident.postmortem'`,
		); strings.Contains(text, "disk") {
			w.Errorf("what is not sent yet after the withdrawal: %s", text)
		}
		w.ok(w.DeletePostmortem(w.ctx, w.ws, i.ID, kernel.Precondition{}))
		if again := must(put(i, func(p *statuspage.Postmortem) error {
			p.Body = "Once more."
			p.Published = *published
			return nil
		}, false))(w); again.Notified {
			w.Errorf("notified twice: %+v", again)
		}
		if got := w.incidentEvents(); len(got) != 0 {
			w.Errorf("events of a second publication: %q", got)
		}
		version := must(w.Page(w.ctx, w.ws, "acme"))(w).Version
		w.ok(w.DeletePostmortem(w.ctx, w.ws, i.ID, kernel.Precondition{}))
		if text := w.value(
			`SELECT data FROM events WHERE kind = 'incident.postmortem'`,
		); strings.Contains(text, "Once more") {
			w.Errorf("what is not sent yet after the deletion: %s", text)
		}
		if p := must(w.Page(w.ctx, w.ws, "acme"))(w); shown(i) != "" || p.Version == version {
			w.Errorf("after the deletion: %q, version %d", shown(i), p.Version)
		}
		if audited := strings.Join(w.audited(), "\n"); strings.Count(audited, "postmortem") != 7 {
			w.Errorf("audited:\n%s", audited)
		}
	})
}

// TestSilentPostmortem checks that "notify nobody" at the first publication is for good.
func TestSilentPostmortem(t *testing.T) {
	inWorlds(t, func(w *world) {
		i := w.about("Slow", "We look.")
		w.change(i, func(i *statuspage.Incident) error { i.State = statuspage.IncidentResolved; return nil })
		w.newEvents()
		for n, published := range []bool{true, false, true} {
			w.clock.move(time.Minute)
			if p, _, err := w.PutPostmortem(w.ctx, w.ws, i.ID, func(p *statuspage.Postmortem) error {
				p.Body, p.Published = "x", published
				return nil
			}, n == 0, kernel.Precondition{}); err != nil || p.Notified {
				w.Errorf("%d: %+v, %v", n, p, err)
			}
		}
		if got := w.newEvents(); len(got) != 0 {
			w.Errorf("events: %q", got)
		}
	})
}
