// Package trigger notifies a goroutine that there may be work for it.
package trigger

// Trigger is received from by the one goroutine that does the work. It holds one notification at most, so the work
// must be looked for, not counted.
type Trigger chan struct{}

// New returns a trigger that has not been fired.
func New() Trigger { return make(Trigger, 1) }

// Fire notifies the goroutine, unless a notification is pending. It never blocks.
func (t Trigger) Fire() {
	select {
	case t <- struct{}{}:
	default:
	}
}
