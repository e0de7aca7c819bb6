package allswell

import "time"

// NewComponent is the input for creating a component.
type NewComponent struct {
	Slug        string // "": made from the name
	Name        string
	Description *string
	Status      Status // "": StatusOperational
	Order       *int   // nil: after all others
	GroupID     string // id or slug; "": no group
}

// MaxOrder is the largest absolute value of an order.
const MaxOrder = 1_000_000

// Validate returns a *ValidationError with every invalid field. The store checks that the group
// exists.
func (n NewComponent) Validate() error {
	var bad ValidationError
	checkOptionalSlug(&bad, n.Slug)
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

// Replacement returns the change that gives an existing component the fields of n, except the
// status. The component keeps its order if n has none.
func (n NewComponent) Replacement() ComponentEdit {
	return ComponentEdit{Name: &n.Name, Description: n.Description, HasDescription: true, Order: n.Order, GroupID: &n.GroupID}
}

// ComponentEdit is the input for changing a component's fields other than its status. Nil fields
// keep their values.
type ComponentEdit struct {
	Name           *string
	Description    *string // nil with HasDescription removes it
	HasDescription bool
	Order          *int
	GroupID        *string // id or slug; "": no group
}

// Validate returns a *ValidationError with every invalid field.
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

// Edit changes c. UpdatedAt changes if a field does.
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

// NewGroup is the input for creating a group.
type NewGroup struct {
	Slug  string // "": made from the name
	Name  string
	Order *int // nil: after all others
}

// Validate returns a *ValidationError with every invalid field.
func (n NewGroup) Validate() error {
	var bad ValidationError
	checkOptionalSlug(&bad, n.Slug)
	CheckText(&bad, "name", n.Name, MaxNameLength)
	checkOrder(&bad, n.Order)
	return bad.Err()
}

// GroupChange is the input for changing a group. Nil fields keep their values.
type GroupChange struct {
	Name  *string
	Order *int
}

// Validate returns a *ValidationError with every invalid field.
func (ch GroupChange) Validate() error {
	var bad ValidationError
	if ch.Name != nil {
		CheckText(&bad, "name", *ch.Name, MaxNameLength)
	}
	checkOrder(&bad, ch.Order)
	return bad.Err()
}

// Apply changes g. UpdatedAt changes if a field does.
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
