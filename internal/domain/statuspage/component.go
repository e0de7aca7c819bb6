package statuspage

import (
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Cause is a reason why a component differs from its baseline: an outage of a monitor, an incident, or a running
// maintenance. Setting a component's status by hand acknowledges its causes, and an acknowledged cause has no effect.
type Cause struct {
	Source       string // id of the outage, incident or maintenance
	Status       kernel.Status
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
	Baseline    kernel.Status // the status set by people
	Causes      []Cause
	Order       int
	Hidden      bool // visitors and subscribers do not see it
	CreatedAt   time.Time
	UpdatedAt   time.Time // changes with every visible field, including the effective status
}

// Status returns the effective status: the most severe of the baseline and the unacknowledged
// causes. If they are equally severe, it is the baseline.
func (c Component) Status() kernel.Status {
	status := c.Baseline
	for _, cause := range c.Causes {
		if !cause.Acknowledged && cause.Status.Worse(status) {
			status = cause.Status
		}
	}
	return status
}

// SetStatus sets the status by hand: it sets the baseline and acknowledges all present causes, so that the given status
// takes effect immediately and lasts until the next change or the next cause.
func (c *Component) SetStatus(status kernel.Status) {
	c.Baseline = status
	c.Causes = slices.Clone(c.Causes) // copies of the component keep their causes
	for i := range c.Causes {
		c.Causes[i].Acknowledged = true
	}
}

// AddCause adds a cause. UpdatedAt changes if the effective status does.
func (c *Component) AddCause(cause Cause, now time.Time) {
	before := c.Status()
	c.Causes = append(c.Causes, cause)
	if c.Status() != before {
		c.UpdatedAt = kernel.Later(now, c.UpdatedAt)
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
		c.UpdatedAt = kernel.Later(now, c.UpdatedAt)
	}
}

// ChangeCause changes the status of the cause with this source and keeps its acknowledgement.
// UpdatedAt changes if the effective status does.
func (c *Component) ChangeCause(source string, status kernel.Status, now time.Time) {
	before := c.Status()
	for i := range c.Causes {
		if c.Causes[i].Source == source {
			c.Causes[i].Status = status
		}
	}
	if c.Status() != before {
		c.UpdatedAt = kernel.Later(now, c.UpdatedAt)
	}
}

// Rollup returns the status of a page: the most severe of its components, with aliases resolved.
// It is StatusUnknown only if every component is, and StatusOperational without components. Hidden
// components do not count: a page must not have a status that nothing on it explains.
func Rollup(components []Component) kernel.Status {
	shown := 0
	worst := kernel.StatusUnknown
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
		return kernel.StatusOperational
	}
	return worst.Canonical()
}

// MaxOrder is the largest absolute value of an order.
const MaxOrder = 1_000_000
