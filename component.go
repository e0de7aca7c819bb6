package allswell

import "time"

// Cause is a reason why a component differs from its baseline: an outage of a monitor, an
// incident, or a running maintenance. Setting a component's status by hand acknowledges its
// causes, and an acknowledged cause has no effect.
type Cause struct {
	Source       string // id of the outage, incident or maintenance
	Status       Status
	Acknowledged bool
	StartedAt    time.Time
}

// Component is a part of the service that a page reports on.
type Component struct {
	ID          string
	PageID      string
	GroupID     string // "": no group
	Slug        string // unique on the page
	Name        string
	Description *string
	Baseline    Status // the status set by people
	Causes      []Cause
	Order       int
	Hidden      bool // visitors and subscribers do not see it
	CreatedAt   time.Time
	UpdatedAt   time.Time // changes with every visible field, including the effective status
}

// Status returns the effective status: the most severe of the baseline and the unacknowledged
// causes. If they are equally severe, it is the baseline.
func (c Component) Status() Status {
	status := c.Baseline
	for _, cause := range c.Causes {
		if !cause.Acknowledged && cause.Status.Worse(status) {
			status = cause.Status
		}
	}
	return status
}

// ComponentChange is the input for changing a component's status through the API. Status is
// required.
type ComponentChange struct {
	Status         Status
	Description    *string // nil with HasDescription removes it
	HasDescription bool
}

// Validate returns a *ValidationError with every invalid field.
func (ch ComponentChange) Validate() error {
	var bad ValidationError
	if !ch.Status.Valid() {
		bad.Add("status", "must be one of: %s", JoinValues(Statuses))
	}
	if ch.Description != nil {
		CheckLength(&bad, "description", *ch.Description, MaxDescriptionLength)
	}
	return bad.Err()
}

// Apply sets the baseline and acknowledges all present causes, so that the given status takes
// effect immediately and lasts until the next change or the next cause. UpdatedAt changes if a
// visible field does.
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
		c.UpdatedAt = Later(now, c.UpdatedAt)
	}
}

// AddCause adds a cause. UpdatedAt changes if the effective status does.
func (c *Component) AddCause(cause Cause, now time.Time) {
	before := c.Status()
	c.Causes = append(c.Causes, cause)
	if c.Status() != before {
		c.UpdatedAt = Later(now, c.UpdatedAt)
	}
}

// RemoveCause removes the cause with this source. UpdatedAt changes if the effective status does.
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
		c.UpdatedAt = Later(now, c.UpdatedAt)
	}
}

// ChangeCause changes the status of the cause with this source and keeps its acknowledgement.
// UpdatedAt changes if the effective status does.
func (c *Component) ChangeCause(source string, status Status, now time.Time) {
	before := c.Status()
	for i := range c.Causes {
		if c.Causes[i].Source == source {
			c.Causes[i].Status = status
		}
	}
	if c.Status() != before {
		c.UpdatedAt = Later(now, c.UpdatedAt)
	}
}

// Rollup returns the status of a page: the most severe of its components, with aliases resolved.
// It is StatusUnknown only if every component is, and StatusOperational without components. Hidden
// components do not count: a page must not have a status that nothing on it explains.
func Rollup(components []Component) Status {
	shown := 0
	worst := StatusUnknown
	for _, c := range components {
		if c.Hidden {
			continue
		}
		shown++
		if s := c.Status(); s.Worse(worst) {
			worst = s
		}
	}
	if shown == 0 {
		return StatusOperational
	}
	return worst.Canonical()
}

func equalText(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// NewComponent is the input for creating a component.
type NewComponent struct {
	Slug        string // "": made from the name
	Name        string
	Description *string
	Status      Status // "": StatusOperational
	Order       *int   // nil: after all others
	GroupID     string // id or slug; "": no group
	KeepGroup   bool   // a component that is replaced keeps its group
	Hidden      *bool  // nil: a new component is shown, and one that is replaced keeps its value
	UniqueName  bool   // refuse a name that another component of the page has
}

// MaxOrder is the largest absolute value of an order.
const MaxOrder = 1_000_000

// Validate returns a *ValidationError with every invalid field. The store checks that the group
// exists.
func (n NewComponent) Validate() error {
	var bad ValidationError
	CheckOptionalSlug(&bad, n.Slug)
	CheckLine(&bad, "name", n.Name, MaxNameLength)
	if n.Description != nil {
		CheckLength(&bad, "description", *n.Description, MaxDescriptionLength)
	}
	if n.Status != "" && !n.Status.Valid() {
		bad.Add("status", "must be one of: %s", JoinValues(Statuses))
	}
	checkOrder(&bad, n.Order)
	return bad.Err()
}

// Replacement returns the change that gives an existing component the fields of n, except the
// status. The component keeps its order if n has none, and stays hidden or shown if n does not say which.
func (n NewComponent) Replacement() ComponentEdit {
	e := ComponentEdit{Name: &n.Name, Description: n.Description, HasDescription: true, Order: n.Order, Hidden: n.Hidden}
	if !n.KeepGroup {
		e.GroupID = &n.GroupID
	}
	return e
}

// ComponentEdit is the input for changing a component's fields other than its status. Nil fields
// keep their values.
type ComponentEdit struct {
	Name           *string
	Description    *string // nil with HasDescription removes it
	HasDescription bool
	Order          *int
	GroupID        *string // id or slug; "": no group
	Hidden         *bool
}

// Validate returns a *ValidationError with every invalid field.
func (e ComponentEdit) Validate() error {
	var bad ValidationError
	if e.Name != nil {
		CheckLine(&bad, "name", *e.Name, MaxNameLength)
	}
	if e.Description != nil {
		CheckLength(&bad, "description", *e.Description, MaxDescriptionLength)
	}
	checkOrder(&bad, e.Order)
	return bad.Err()
}

// Edit changes c. UpdatedAt changes if a field does.
func (c *Component) Edit(e ComponentEdit, now time.Time) {
	before := *c
	if e.Name != nil {
		c.Name = *e.Name
	}
	if e.HasDescription {
		c.Description = e.Description
	}
	if e.Order != nil {
		c.Order = *e.Order
	}
	if e.GroupID != nil {
		c.GroupID = *e.GroupID
	}
	if e.Hidden != nil {
		c.Hidden = *e.Hidden
	}
	if c.Name != before.Name || !equalText(c.Description, before.Description) || c.Order != before.Order ||
		c.GroupID != before.GroupID || c.Hidden != before.Hidden {
		c.UpdatedAt = Later(now, c.UpdatedAt)
	}
}

func checkOrder(bad *ValidationError, order *int) {
	if order != nil && (*order < -MaxOrder || *order > MaxOrder) {
		bad.Add("order", "must be from %d to %d", -MaxOrder, MaxOrder)
	}
}

// AuditObject returns the form of a component in the audit log.
func (c Component) AuditObject() AuditObject {
	return AuditObject{Kind: ObjectComponent, ID: c.ID, Name: c.Name, Fields: map[string]any{
		"slug": c.Slug, "name": c.Name, "description": orNil(c.Description), "status": c.Status(), "order": c.Order, "group": c.GroupID, "hidden": c.Hidden,
	}}
}
