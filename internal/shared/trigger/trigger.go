// Package trigger notifies a goroutine that there may be work for it.
package trigger

// Trigger is a channel from which the one goroutine that does the work receives. It holds one notification at most, so
// the goroutine must look for work, and not count notifications.
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
