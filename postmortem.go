package allswell

import "time"

// Postmortem is the report on an incident: what caused it, and what was learned. Visitors see it while it is
// published and its incident is resolved.
type Postmortem struct {
	IncidentID  string
	Body        string    // Markdown
	PublishedAt time.Time // of the latest publication; zero: a draft
	EditedAt    time.Time // last change of Body after PublishedAt; zero: none
	Notified    bool      // subscribers were notified of it
	CreatedAt   time.Time
	UpdatedAt   time.Time

	Omitted bool // Body was not loaded, to limit memory
}

// Published reports whether it is not a draft.
func (p Postmortem) Published() bool { return !p.PublishedAt.IsZero() }

// PostmortemInput is the input for writing the post-mortem of an incident.
type PostmortemInput struct {
	Body      string
	Published *bool // nil: as it is; a new one is a draft
	Silent    bool  // nobody is notified of the publication
}

// Validate returns a *ValidationError if the text is blank or too long. The store checks the incident: see CheckIncident.
func (n PostmortemInput) Validate() error {
	var bad ValidationError
	CheckText(&bad, "body", n.Body, MaxMessageLength)
	return bad.Err()
}

// CheckIncident returns a *ValidationError if the post-mortem cannot be published for its incident.
func (n PostmortemInput) CheckIncident(i Incident) error {
	var bad ValidationError
	switch {
	case n.Published == nil || !*n.Published:
	case i.Draft:
		bad.Add("published", "The incident is a draft: publish it first.")
	case !i.Resolved:
		bad.Add("published", "The incident is not resolved. Until then, the post-mortem is a draft.")
	}
	return bad.Err()
}

// Apply changes the post-mortem. The same body and state change nothing.
func (p *Postmortem) Apply(n PostmortemInput, now time.Time) {
	before := *p
	now = Later(now, p.UpdatedAt)
	publish := p.Published()
	if n.Published != nil {
		publish = *n.Published
	}
	switch {
	case !publish:
		p.PublishedAt, p.EditedAt = time.Time{}, time.Time{}
	case !before.Published():
		p.PublishedAt = now
	case p.Body != n.Body:
		p.EditedAt = now
	}
	if p.Body != n.Body || publish != before.Published() {
		p.Body, p.UpdatedAt = n.Body, now
	}
}

// AuditObject returns the form of a post-mortem in the audit log. It has the id of its incident.
func (p Postmortem) AuditObject() AuditObject {
	return AuditObject{
		Kind: ObjectPostmortem, ID: p.IncidentID, Fields: map[string]any{"body": p.Body, "published": p.Published()},
	}
}

// NewPostmortemEvent returns the event of the publication of the post-mortem of an incident.
func NewPostmortemEvent(i Incident, p Postmortem) Event {
	e := NewIncidentEvent(EventIncidentPostmortem, i, nil)
	e.Data.Message = p.Body
	return e
}
