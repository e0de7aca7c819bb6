package allswell

import "time"

// Cause is a reason a component is not at its baseline: an outage of a monitor,
// an incident that says so, or a planned maintenance. An acknowledged cause no
// longer counts, because a human has spoken since it appeared.
type Cause struct {
	Source       string // the outage's, incident's or maintenance's id
	Status       Status
	Acknowledged bool
	StartedAt    time.Time
}

// Component is one part of what a page reports on.
type Component struct {
	ID          string
	PageID      string
	GroupID     string // "": in no group
	Name        string
	Description *string
	Baseline    Status // what humans say
	Causes      []Cause
	Order       int
	CreatedAt   time.Time
	UpdatedAt   time.Time // moves when a shown field changes, the effective status included
}

// Status returns the effective status: the most severe of the baseline and the
// causes that are not acknowledged. A tie keeps the baseline as it was given.
func (c Component) Status() Status {
	status := c.Baseline
	for _, cause := range c.Causes {
		if !cause.Acknowledged && cause.Status.Worse(status) {
			status = cause.Status
		}
	}
	return status
}

// ComponentChange is what contract section 4.4 may change. Status is required
// there; the caller has checked it to be valid.
type ComponentChange struct {
	Status         Status
	Description    *string // nil with HasDescription clears
	HasDescription bool
}

// Validate names every bad field of ch.
func (ch ComponentChange) Validate() error {
	var bad ValidationError
	if !ch.Status.Valid() {
		bad.Add("status", "The status must be one of: %s.", joinValues(Statuses))
	}
	if ch.Description != nil {
		CheckLength(&bad, "description", *ch.Description, MaxDescriptionLength)
	}
	return bad.Err()
}

// Apply does what a human's PATCH does: the status becomes the baseline and
// every cause of this moment is acknowledged, so that the given status shows
// at once and stands until a human speaks again or a new cause appears.
// UpdatedAt moves if a shown field changed.
func (c *Component) Apply(ch ComponentChange, now time.Time) {
	before := c.Status()
	c.Baseline = ch.Status
	for i := range c.Causes {
		c.Causes[i].Acknowledged = true
	}
	changed := c.Status() != before
	if ch.HasDescription && !equalText(c.Description, ch.Description) {
		c.Description = ch.Description
		changed = true
	}
	if changed {
		c.UpdatedAt = now
	}
}

// AddCause adds a cause; RemoveCause takes away only that of one source. Both
// move UpdatedAt if the effective status changed.
func (c *Component) AddCause(cause Cause, now time.Time) {
	before := c.Status()
	c.Causes = append(c.Causes, cause)
	if c.Status() != before {
		c.UpdatedAt = now
	}
}

// RemoveCause removes the cause of the source, and no other; see AddCause.
func (c *Component) RemoveCause(source string, now time.Time) {
	before := c.Status()
	kept := make([]Cause, 0, len(c.Causes))
	for _, cause := range c.Causes {
		if cause.Source != source {
			kept = append(kept, cause)
		}
	}
	c.Causes = kept
	if c.Status() != before {
		c.UpdatedAt = now
	}
}

// ChangeCause gives the cause of the source another status; a human's word on
// it stands. See AddCause.
func (c *Component) ChangeCause(source string, status Status, now time.Time) {
	before := c.Status()
	for i := range c.Causes {
		if c.Causes[i].Source == source {
			c.Causes[i].Status = status
		}
	}
	if c.Status() != before {
		c.UpdatedAt = now
	}
}

// Rollup returns the page status: the most severe among the components, aliases
// resolved. Unknown counts only if nothing else is there; a page without
// components is operational.
func Rollup(components []Component) Status {
	if len(components) == 0 {
		return StatusOperational
	}
	worst := StatusUnknown
	for _, c := range components {
		if s := c.Status(); s.Worse(worst) {
			worst = s
		}
	}
	return worst.Canonical()
}

func equalText(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
