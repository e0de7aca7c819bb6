package allswell

import "time"

// NewComponent is what a caller gives to make a component.
type NewComponent struct {
	Name        string
	Description *string
	Status      Status // "": operational
	Order       *int   // nil: behind all others
	GroupID     string // "": in no group
}

// MaxOrder bounds an order in both directions.
const MaxOrder = 1_000_000

// Validate names every bad field of n. That the group exists is for the store
// to say.
func (n NewComponent) Validate() error {
	var bad ValidationError
	CheckText(&bad, "name", n.Name, MaxNameLength)
	if n.Description != nil {
		CheckLength(&bad, "description", *n.Description, MaxDescriptionLength)
	}
	if n.Status != "" && !n.Status.Valid() {
		bad.Add("status", "The status must be one of: %s.", joinValues(Statuses))
	}
	checkOrder(&bad, n.Order)
	return bad.Err()
}

// ComponentEdit changes what is not a component's status; nil fields stay.
type ComponentEdit struct {
	Name           *string
	Description    *string // nil with HasDescription clears
	HasDescription bool
	Order          *int
	GroupID        *string // "": in no group
}

// Validate names every bad field of e.
func (e ComponentEdit) Validate() error {
	var bad ValidationError
	if e.Name != nil {
		CheckText(&bad, "name", *e.Name, MaxNameLength)
	}
	if e.Description != nil {
		CheckLength(&bad, "description", *e.Description, MaxDescriptionLength)
	}
	checkOrder(&bad, e.Order)
	return bad.Err()
}

// Edit changes c and moves UpdatedAt if a field changed.
func (c *Component) Edit(e ComponentEdit, now time.Time) {
	name, description, order, group := c.Name, c.Description, c.Order, c.GroupID
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
	if c.Name != name || !equalText(c.Description, description) || c.Order != order || c.GroupID != group {
		c.UpdatedAt = now
	}
}

// NewGroup is what a caller gives to make a group.
type NewGroup struct {
	Name  string
	Order *int // nil: behind all others
}

// Validate names every bad field of n.
func (n NewGroup) Validate() error {
	var bad ValidationError
	CheckText(&bad, "name", n.Name, MaxNameLength)
	checkOrder(&bad, n.Order)
	return bad.Err()
}

// GroupChange changes a group; nil fields stay.
type GroupChange struct {
	Name  *string
	Order *int
}

// Validate names every bad field of ch.
func (ch GroupChange) Validate() error {
	var bad ValidationError
	if ch.Name != nil {
		CheckText(&bad, "name", *ch.Name, MaxNameLength)
	}
	checkOrder(&bad, ch.Order)
	return bad.Err()
}

// Apply changes g and moves UpdatedAt if a field changed.
func (g *Group) Apply(ch GroupChange, now time.Time) {
	name, order := g.Name, g.Order
	if ch.Name != nil {
		g.Name = *ch.Name
	}
	if ch.Order != nil {
		g.Order = *ch.Order
	}
	if g.Name != name || g.Order != order {
		g.UpdatedAt = now
	}
}

func checkOrder(bad *ValidationError, order *int) {
	if order != nil && (*order < -MaxOrder || *order > MaxOrder) {
		bad.Add("order", "The order must be from %d to %d.", -MaxOrder, MaxOrder)
	}
}
