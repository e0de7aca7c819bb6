package ping

import (
	"testing"
	"time"
)

// TestRepeatedStarts checks that every start that was not acknowledged is known for repeatTime, also if there are more than are kept.
func TestRepeatedStarts(t *testing.T) {
	var u unacknowledgedStarts
	now := time.Unix(1_800_000_000, 0)
	if u.take(1, now) {
		t.Error("a start without another one before is a repetition")
	}
	u.add(1, now)
	if !u.take(1, now.Add(repeatTime)) || u.take(1, now.Add(repeatTime)) {
		t.Error("the next start is a repetition, and the one after it is not")
	}
	u.add(1, now)
	if later := now.Add(repeatTime + 1); u.take(1, later) || u.take(2, later) {
		t.Error("a start is a repetition for longer than repeatTime")
	}
	for i := range uint64(2*maxUnacknowledged + 1) {
		u.add(i, now)
	}
	for i := range uint64(2*maxUnacknowledged + 1) {
		if !u.take(i, now.Add(repeatTime)) {
			t.Fatalf("start %d is not known", i)
		}
	}
	if len(u.at) > maxUnacknowledged || u.take(1, now.Add(repeatTime+1)) {
		t.Error("too many starts are kept, or all are repetitions for too long")
	}
}
