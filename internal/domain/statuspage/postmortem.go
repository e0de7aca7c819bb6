package statuspage

import (
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Postmortem is the report on an incident: what caused it, and what was learned. Visitors see it while it is
// published and its incident is resolved.
type Postmortem struct {
	IncidentID  string
	Body        string    // Markdown
	Published   bool      // it is not a draft
	PublishedAt time.Time // of the latest publication; zero: a draft
	EditedAt    time.Time // last change of Body after PublishedAt; zero: none
	Notified    bool      // subscribers were notified of it
	CreatedAt   time.Time
	UpdatedAt   time.Time

	Omitted bool // Body was not loaded, to limit memory
}

// PostmortemChange changes the body of a post-mortem, and whether it is published. The error is a *ValidationError with
// the fields that could not be read; the change sets all others. It is applied within the transaction to the stored
// post-mortem.
type PostmortemChange func(*Postmortem) error

// CheckPostmortem returns a *ValidationError if the body of a post-mortem is blank or too long.
func CheckPostmortem(body string) error {
	var bad kernel.ValidationError
	kernel.CheckText(&bad, "body", body, kernel.MaxMessageLength)
	return bad.Err()
}

// Change changes the post-mortem of an incident. The same body and state change nothing. The error is a
// *ValidationError; the post-mortem must not be used then.
func (p *Postmortem) Change(change PostmortemChange, i Incident, now time.Time) error {
	before := *p
	err := change(p)
	var bad kernel.ValidationError
	switch {
	case !p.Published || before.Published:
	case i.Draft:
		bad.Add("published", "The incident is a draft: publish it first.")
	case !i.Resolved:
		bad.Add("published", "The incident is not resolved. Until then, the post-mortem is a draft.")
	}
	if err = kernel.JoinUnread(err, kernel.JoinInvalid(CheckPostmortem(p.Body), bad.Err())); err != nil {
		return err
	}
	now = kernel.Later(now, before.UpdatedAt)
	switch {
	case !p.Published:
		p.PublishedAt, p.EditedAt = time.Time{}, time.Time{}
	case !before.Published:
		p.PublishedAt = now
	case p.Body != before.Body:
		p.EditedAt = now
	}
	if p.Body != before.Body || p.Published != before.Published {
		p.UpdatedAt = now
	}
	return nil
}

// AuditObject returns the form of a post-mortem in the audit log. It has the id of its incident.
func (p Postmortem) AuditObject() kernel.AuditObject {
	return kernel.AuditObject{
		Kind: kernel.ObjectPostmortem, ID: p.IncidentID,
		Fields: map[string]any{"body": p.Body, "published": p.Published},
	}
}
