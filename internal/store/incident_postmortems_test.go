package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// postmortemWorld is a world with an incident for which there may be a post-mortem.
type postmortemWorld struct {
	*world
	i statuspage.Incident
}

// TestPostmortem writes, publishes, edits, unpublishes and deletes the post-mortem of an incident, and checks when
// visitors see it and who is notified.
func TestPostmortem(t *testing.T) {
	inWorlds(t, func(w *world) {
		p := &postmortemWorld{w, w.about("Slow", "We look.", w.at(kernel.StatusDegraded))}
		draft := p.writeDraft()
		p.publish(draft)
		p.withdraw()
		p.publishAnother()
		if audited := strings.Join(w.audited(), "\n"); strings.Count(audited, "postmortem") != 7 {
			w.Errorf("audited:\n%s", audited)
		}
	})
}

// put changes the post-mortem a minute later.
func (p *postmortemWorld) put(change statuspage.PostmortemChange) (statuspage.Postmortem, error) {
	p.clock.move(time.Minute)
	m, _, err := p.PutPostmortem(p.ctx, p.ws, p.i.ID, change, false, kernel.Precondition{})
	return m, err
}

// shown returns the body that visitors see, which feeds have as well, or "".
func (p *postmortemWorld) shown() string {
	c := must(p.LoadIncident(p.ctx, "acme", p.i.ID, 0))(p)
	newest := must(p.LoadNewest(p.ctx, "acme", ""))(p)
	if m := c.Incidents[0].Postmortem; m != nil {
		if n := newest.Incidents[0].Postmortem; n == nil || n.Body != m.Body {
			p.Errorf("in feeds: %+v", n)
		}
		return m.Body
	}
	return ""
}

// writeDraft writes a post-mortem, resolves the incident, and checks that visitors do not see it.
func (p *postmortemWorld) writeDraft() statuspage.Postmortem {
	p.Helper()
	_, err := p.put(func(p *statuspage.Postmortem) error {
		p.Body = "A full disk."
		p.Published = true
		return nil
	})
	p.refused(err, "published")
	draft := must(p.put(func(p *statuspage.Postmortem) error { p.Body = "A full disk."; return nil }))(p)
	p.change(p.i, func(i *statuspage.Incident) error { i.State = statuspage.IncidentResolved; return nil })
	p.newEvents()
	if draft.Published || p.shown() != "" {
		p.Errorf("a draft is shown: %+v", draft)
	}
	return draft
}

// publish publishes the draft, which notifies subscribers, and edits it, which changes the text that is not sent yet.
func (p *postmortemWorld) publish(draft statuspage.Postmortem) {
	p.Helper()
	stale := kernel.Precondition{Tags: []string{kernel.EntityTag(draft)}}
	first := must(p.put(func(p *statuspage.Postmortem) error {
		p.Body = "A *full* disk."
		p.Published = true
		return nil
	}))(p)
	if !first.Notified || !first.EditedAt.IsZero() || p.shown() != "A *full* disk." {
		p.Errorf("published: %+v", first)
	}
	p.expect("events", p.incidentEvents(), "postmortem: Slow, minor, resolved: A *full* disk.")
	_, _, err := p.PutPostmortem(p.ctx, p.ws, p.i.ID, func(p *statuspage.Postmortem) error {
		p.Body = "Mine."
		return nil
	}, false, stale)
	if !errors.Is(err, kernel.ErrPreconditionFailed) {
		p.Errorf("someone else has changed it: %v", err)
	}
	edited := must(p.put(func(p *statuspage.Postmortem) error {
		p.Body = "A full disk!"
		return nil
	}))(p)
	if edited.EditedAt.IsZero() || !edited.PublishedAt.Equal(first.PublishedAt) {
		p.Errorf("edited: %+v", edited)
	}
	if text := p.unsent(); !strings.Contains(text, "A full disk!") {
		p.Errorf("what is not sent yet: %s", text)
	}
}

// withdraw opens the incident again, and makes the post-mortem a draft. Both hide it.
func (p *postmortemWorld) withdraw() {
	p.Helper()
	p.change(p.i, func(i *statuspage.Incident) error { i.SetResolved(false); return nil })
	if p.shown() != "" {
		p.Error("shown although the incident is open again")
	}
	p.change(p.i, func(i *statuspage.Incident) error { i.SetResolved(true); return nil })
	p.newEvents()
	must(p.put(func(p *statuspage.Postmortem) error {
		p.Body = "A full disk!"
		p.Published = false
		return nil
	}))(p)
	if p.shown() != "" {
		p.Error("shown although it is a draft again")
	}
	if text := p.unsent(); strings.Contains(text, "disk") {
		p.Errorf("what is not sent yet after the withdrawal: %s", text)
	}
}

// publishAnother deletes the post-mortem, publishes another one, which notifies nobody, and deletes that.
func (p *postmortemWorld) publishAnother() {
	p.Helper()
	p.ok(p.DeletePostmortem(p.ctx, p.ws, p.i.ID, kernel.Precondition{}))
	again := must(p.put(func(p *statuspage.Postmortem) error {
		p.Body = "Once more."
		p.Published = true
		return nil
	}))(p)
	if again.Notified {
		p.Errorf("notified twice: %+v", again)
	}
	if got := p.incidentEvents(); len(got) != 0 {
		p.Errorf("events of a second publication: %q", got)
	}
	version := must(p.Page(p.ctx, p.ws, "acme"))(p).Version
	p.ok(p.DeletePostmortem(p.ctx, p.ws, p.i.ID, kernel.Precondition{}))
	if text := p.unsent(); strings.Contains(text, "Once more") {
		p.Errorf("what is not sent yet after the deletion: %s", text)
	}
	if page := must(p.Page(p.ctx, p.ws, "acme"))(p); p.shown() != "" || page.Version == version {
		p.Errorf("after the deletion: %q, version %d", p.shown(), page.Version)
	}
}

// unsent returns the data of the event about the post-mortem, or "".
func (p *postmortemWorld) unsent() string {
	p.Helper()
	return p.value(`SELECT data FROM events WHERE kind = 'incident.postmortem'`)
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
				w.Errorf("change %d: %+v, %v", n, p, err)
			}
		}
		if got := w.newEvents(); len(got) != 0 {
			w.Errorf("events: %q", got)
		}
	})
}
