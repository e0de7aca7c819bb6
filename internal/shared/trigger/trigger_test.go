package trigger_test

import (
	"testing"

	"github.com/allswell/allswell/internal/shared/trigger"
)

func TestFireNeverBlocks(t *testing.T) {
	due := trigger.New()
	due.Fire()
	due.Fire()
	<-due
	select {
	case <-due:
		t.Error("a trigger that was fired twice holds two notifications")
	default:
	}
}
