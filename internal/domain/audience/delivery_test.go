package audience_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/domaintest"
	"pgregory.net/rapid"
)

func TestNotificationTime(t *testing.T) {
	minutes := func(m ...int) (out []time.Time) {
		for _, n := range m {
			out = append(out, domaintest.At(time.Duration(n)*time.Minute))
		}
		return out
	}
	for _, c := range []struct {
		name           string
		earlier        []int
		happened, want int
	}{
		{"the first", nil, 0, 0},
		{"the fourth within an hour", []int{0, 5, 10}, 15, 15},
		{"the fifth waits for an hour after the fourth", []int{0, 5, 10, 15}, 20, 75},
		{"later ones are merged into it", []int{0, 5, 10, 15, 75}, 30, 75},
		{"then one per hour", []int{0, 5, 10, 15, 75}, 80, 135},
		{"few, but after the first hour", []int{0, 50}, 70, 110},
		{"exactly an hour of silence does not reset", []int{0, 5, 10, 15}, 75, 75},
		{"more than an hour resets", []int{0, 5, 10, 15}, 76, 76},
		{"four again after a reset", []int{0, 5, 10, 15, 76, 77, 78}, 79, 79},
		{"a clock that was a day ahead", []int{0, 1440}, 10, 10},
		{"an hour that ends with the series", []int{0, 60}, 61, 120},
	} {
		got := audience.NotificationTime(minutes(c.earlier...), domaintest.At(time.Duration(c.happened)*time.Minute))
		if !got.Equal(domaintest.At(time.Duration(c.want) * time.Minute)) {
			t.Errorf("%s: NotificationTime is at %v, want %d min", c.name, got.Sub(domaintest.Epoch), c.want)
		}
	}
}

// TestFlappingIsBounded checks the notification times of monitors that flap. A notification is sent at
// most an hour after its event and never before it. Without an hour of silence, at most four are sent
// in the first hour, and then one per hour.
func TestFlappingIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var times []time.Time
		now := domaintest.Epoch
		for range rapid.IntRange(1, 200).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.OneOf(rapid.Int64Range(0, 120), rapid.Int64Range(0, 9000)).Draw(t,
				"s later")) * time.Second)
			next := audience.NotificationTime(times, now)
			if next.Before(now) || next.Sub(now) > time.Hour {
				t.Fatalf("the event at %v is notified at %v", now.Sub(domaintest.Epoch), next.Sub(domaintest.Epoch))
			}
			if n := len(times); n == 0 || !next.Equal(times[n-1]) {
				times = append(times, next)
			}
		}
		run := 0 // index of the first notification of the series
		for i := 1; i < len(times); i++ {
			gap := times[i].Sub(times[i-1])
			switch {
			case gap <= 0:
				t.Fatalf("notification %d is not after the previous one", i)
			case gap > time.Hour:
				run = i
			case gap < time.Hour && (i-run >= 4 || times[i].Sub(times[run]) >= time.Hour):
				t.Fatalf("notification %d of a series that began %v before comes %v after the previous one", i-run+1,
					times[i].Sub(times[run]), gap)
			}
		}
	})
}

// deliveries returns deliveries with one ordering key, in the order of their positions. Each is due,
// except for its change.
func deliveries(channel audience.Channel, changes ...func(*audience.Delivery)) (open []audience.Delivery) {
	for i, change := range changes {
		d := audience.Delivery{
			ID: fmt.Sprint("dlv_", i), Channel: channel, Position: int64(i), CollapseKey: "t",
			State:      audience.DeliveryPending,
			HappenedAt: domaintest.Epoch, NextAttemptAt: domaintest.Epoch,
		}
		change(&d)
		open = append(open, d)
	}
	return open
}

type change = func(*audience.Delivery)

func due(*audience.Delivery) {}

func of(collapseKey string, more ...change) change {
	return func(d *audience.Delivery) {
		d.CollapseKey = collapseKey
		for _, f := range more {
			f(d)
		}
	}
}

func in(digestKey string) change { return func(d *audience.Delivery) { d.DigestKey = digestKey } }

func later(s int) change {
	return func(d *audience.Delivery) { d.NextAttemptAt = domaintest.At(time.Duration(s) * time.Second) }
}

func held(s int) change {
	return func(d *audience.Delivery) {
		d.HeldUntil = domaintest.At(time.Duration(s) * time.Second)
		d.NextAttemptAt = d.HeldUntil
	}
}

func sending(s int) change {
	return func(d *audience.Delivery) {
		d.State, d.LeaseUntil = audience.DeliverySending, domaintest.At(time.Duration(s)*time.Second)
	}
}

func old(d *audience.Delivery) { d.HappenedAt = domaintest.Epoch.Add(-audience.DeliveryLifetime) }

const none = -1

// deliveryPlans are the open deliveries for a subscriber, and what is done next.
var deliveryPlans = []struct {
	name    string
	channel audience.Channel
	open    []change
	claim   int
	merged  []int
	expire  []int
	wait    int // seconds; 0: only when something changes
}{
	{"nothing", audience.ChannelEmail, nil, none, nil, nil, 0},
	{"one", audience.ChannelEmail, []change{due}, 0, nil, nil, 0},
	{"the newest of a collapse key includes the others", audience.ChannelEmail, []change{due, due, due}, 2,
		[]int{0, 1}, nil, 0},
	{"another collapse key waits", audience.ChannelEmail, []change{due, of("u"), due}, 2, []int{0}, nil, 0},
	{"a webhook receives each", audience.ChannelWebhook, []change{due, due, due}, 0, nil, nil, 0},
	{"one is being sent", audience.ChannelEmail, []change{sending(5), due}, none, nil, nil, 5},
	{"a later one is being sent", audience.ChannelWebhook, []change{due, sending(5)}, none, nil, nil, 5},
	{"the lease has ended", audience.ChannelWebhook, []change{sending(0), due}, 0, nil, nil, 0},
	{"one waits for a retry", audience.ChannelEmail, []change{later(20)}, none, nil, nil, 20},
	{"a new mail waits", audience.ChannelEmail, []change{later(20), due}, none, nil, nil, 20},
	{"a new mail with another collapse key waits", audience.ChannelEmail, []change{later(20), of("u")}, none, nil,
		nil, 20},
	{"a new webhook delivery waits", audience.ChannelWebhook, []change{later(20), due}, none, nil, nil, 20},
	{"held", audience.ChannelEmail, []change{held(60)}, none, nil, nil, 60},
	{"a held one does not delay others", audience.ChannelEmail, []change{held(60), of("u")}, 1, nil, nil, 0},
	{"a held one is merged into a later one", audience.ChannelEmail, []change{held(60), due}, 1, []int{0}, nil, 0},
	{"a later held one stays", audience.ChannelEmail, []change{due, held(60)}, 0, nil, nil, 0},
	{"the earliest of several waits", audience.ChannelEmail, []change{held(60), held(40), later(50)}, none, nil,
		nil, 40},
	{"one has expired", audience.ChannelWebhook, []change{old, due}, 1, nil, []int{0}, 0},
	{"all have expired", audience.ChannelEmail, []change{old, old}, none, nil, []int{0, 1}, 0},
	{"an expired one is not merged", audience.ChannelEmail, []change{old, due, due}, 2, []int{1}, []int{0}, 0},
	{"deliveries with a digest key are sent as one", audience.ChannelEmail,
		[]change{of("a", in("b")), of("c"), of("d", in("b")), of("e", in("f"))}, 2, []int{0}, nil, 0},
	{"a digest includes older deliveries of each collapse key", audience.ChannelEmail,
		[]change{of("a", in("b")), of("c"), of("d"), of("c", in("b"))}, 3, []int{0, 1}, nil, 0},
}

func TestPlanDeliveries(t *testing.T) {
	for _, c := range deliveryPlans {
		plan := audience.PlanDeliveries(deliveries(c.channel, c.open...), domaintest.Epoch)
		wait := time.Time{}
		if c.wait > 0 {
			wait = domaintest.At(time.Duration(c.wait) * time.Second)
		}
		if plan.Claim != c.claim || !slices.Equal(plan.Merge, c.merged) || !slices.Equal(plan.Expire, c.expire) ||
			!plan.Defer.Equal(wait) {
			t.Errorf("%s: %+v, want claim %d, merged %v, expired %v, again after %d s", c.name, plan, c.claim, c.merged,
				c.expire, c.wait)
		}
	}
}

func TestDeliveryAhead(t *testing.T) {
	type change = func(*audience.Delivery)
	due := func(*audience.Delivery) {}
	other := func(d *audience.Delivery) { d.CollapseKey = "u" }
	digest := func(d *audience.Delivery) { d.CollapseKey, d.DigestKey = d.ID, "x" }
	held := func(d *audience.Delivery) { d.CollapseKey, d.HeldUntil = "h", domaintest.At(time.Minute) }
	old := func(d *audience.Delivery) {
		d.CollapseKey, d.HappenedAt = "o", domaintest.Epoch.Add(-audience.DeliveryLifetime)
	}
	sending := func(d *audience.Delivery) {
		d.State, d.LeaseUntil = audience.DeliverySending, domaintest.At(time.Second)
	}
	for _, c := range []struct {
		name     string
		channel  audience.Channel
		open     []change
		of, want string
	}{
		{"the only one", audience.ChannelEmail, []change{due}, "dlv_0", ""},
		{"unknown", audience.ChannelEmail, []change{due}, "dlv_9", ""},
		{"the oldest", audience.ChannelEmail, []change{due, other}, "dlv_0", ""},
		{"another incident", audience.ChannelEmail, []change{due, other}, "dlv_1", "dlv_0"},
		{"the same incident", audience.ChannelEmail, []change{due, due}, "dlv_1", ""},
		{"the same digest", audience.ChannelEmail, []change{digest, digest}, "dlv_1", ""},
		{"the same incident of a webhook", audience.ChannelWebhook, []change{due, due}, "dlv_1", "dlv_0"},
		{"one is being sent", audience.ChannelEmail, []change{due, sending}, "dlv_0", "dlv_1"},
		{"it is being sent", audience.ChannelEmail, []change{due, sending}, "dlv_1", ""},
		{"held ones do not count", audience.ChannelEmail, []change{held, other, due}, "dlv_2", "dlv_1"},
		{"it is held", audience.ChannelEmail, []change{due, held}, "dlv_1", ""},
		{"expired ones do not count", audience.ChannelEmail, []change{old, due}, "dlv_1", ""},
	} {
		if got := audience.DeliveryAhead(deliveries(c.channel, c.open...), c.of, domaintest.Epoch); got != c.want {
			t.Errorf("%s: DeliveryAhead = %q, want %q", c.name, got, c.want)
		}
	}
}

// TestPlanContinuesTheBackOff checks that a mail counts the attempts of the mails that are
// merged into it, and no others.
func TestPlanContinuesTheBackOff(t *testing.T) {
	tried := func(attempts int, collapseKey string) func(*audience.Delivery) {
		return func(d *audience.Delivery) { d.Attempts, d.CollapseKey = attempts, collapseKey }
	}
	for _, c := range []struct {
		name    string
		channel audience.Channel
		open    []func(*audience.Delivery)
		want    int
	}{
		{"alone", audience.ChannelEmail, []func(*audience.Delivery){tried(3, "a")}, 3},
		{"a newer one", audience.ChannelEmail, []func(*audience.Delivery){tried(3, "a"), tried(0, "a")}, 3},
		{"the newest was tried", audience.ChannelEmail, []func(*audience.Delivery){tried(1, "a"), tried(4, "a")}, 4},
		{"another collapse key", audience.ChannelEmail, []func(*audience.Delivery){tried(1, "a"), tried(4, "b")}, 1},
		{"a webhook", audience.ChannelWebhook, []func(*audience.Delivery){tried(1, "a"), tried(4, "a")}, 1},
	} {
		plan := audience.PlanDeliveries(deliveries(c.channel, c.open...), domaintest.Epoch)
		if plan.Attempts != c.want {
			t.Errorf("%s: %d attempts, want %d", c.name, plan.Attempts, c.want)
		}
	}
}

func drawDeliveries(t *rapid.T) []audience.Delivery {
	channel := rapid.SampledFrom(audience.Channels).Draw(t, "channel")
	moment := func(name string, lo, hi int64) time.Time {
		return domaintest.At(time.Duration(rapid.Int64Range(lo, hi).Draw(t, name)) * time.Second)
	}
	var changes []func(*audience.Delivery)
	for range rapid.IntRange(0, 12).Draw(t, "deliveries") {
		changes = append(changes, func(d *audience.Delivery) {
			d.NextAttemptAt = moment("next", -60, 30)
			if rapid.IntRange(0, 7).Draw(t, "age") == 0 {
				d.HappenedAt = moment("happened", -86_401, -86_399)
			}
			if rapid.IntRange(0, 15).Draw(t, "state") == 0 {
				d.State, d.LeaseUntil = audience.DeliverySending, moment("lease", -1, 1)
			}
			if channel == audience.ChannelWebhook {
				return
			}
			d.CollapseKey = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "collapse key")
			d.DigestKey = rapid.SampledFrom([]string{"", "", "x", "y"}).Draw(t, "digest key")
			if rapid.IntRange(0, 3).Draw(t, "hold") == 0 {
				d.HeldUntil = moment("held", -1, 30)
			}
		})
	}
	return deliveries(channel, changes...)
}

func TestPlanDeliveriesInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		open := drawDeliveries(t)
		plan := audience.PlanDeliveries(open, domaintest.Epoch)
		busy := slices.ContainsFunc(open, func(d audience.Delivery) bool {
			return d.State == audience.DeliverySending && d.LeaseUntil.After(domaintest.Epoch)
		})
		if busy && (plan.Claim >= 0 || len(plan.Expire) > 0 || plan.Defer.IsZero()) {
			t.Fatalf("one is being sent, and the plan is %+v", plan)
		}
		oldest := slices.IndexFunc(open, func(d audience.Delivery) bool { return !hasExpired(d) && !isHeld(d) })
		due := !busy && oldest >= 0 && !open[oldest].NextAttemptAt.After(domaintest.Epoch)
		if due != (plan.Claim >= 0) {
			t.Fatalf("the oldest is %d, due: %t, and the plan is %+v", oldest, due, plan)
		}
		if plan.Claim < 0 {
			if len(plan.Merge) > 0 {
				t.Fatalf("merged into nothing: %+v", plan)
			}
			for i := range open {
				if !busy && !hasExpired(open[i]) && plan.Defer.IsZero() {
					t.Fatalf("%d is never planned again: %+v", i, plan)
				}
			}
			return
		}
		if !plan.Defer.IsZero() || hasExpired(open[plan.Claim]) || isHeld(open[plan.Claim]) {
			t.Fatalf("claimed %d: %+v", plan.Claim, plan)
		}
		checkClaim(t, open, plan)
	})
}

// checkClaim checks that what is sent as one has not expired, is not held, and skips nothing.
func checkClaim(t *rapid.T, open []audience.Delivery, plan audience.DeliveryPlan) {
	sent := append([]int{plan.Claim}, plan.Merge...)
	newest := make(map[string]int)
	for _, i := range sent {
		if slices.Contains(plan.Expire, i) || hasExpired(open[i]) {
			t.Fatalf("%d has expired and is sent: %+v", i, plan)
		}
		newest[open[i].CollapseKey] = max(newest[open[i].CollapseKey], i)
	}
	if len(slices.Compact(slices.Sorted(slices.Values(sent)))) != len(sent) {
		t.Fatalf("one is sent twice: %+v", plan)
	}
	for i := range open {
		last, found := newest[open[i].CollapseKey]
		switch {
		case hasExpired(open[i]) || slices.Contains(sent, i):
		case open[i].Channel == audience.ChannelWebhook && i < plan.Claim:
			t.Fatalf("%d is skipped: %+v", i, plan)
		case open[i].Channel == audience.ChannelEmail && found && i < last:
			t.Fatalf("a later delivery is sent before %d: %+v", i, plan)
		}
	}
	for key, i := range newest {
		if isHeld(open[i]) {
			t.Fatalf("the newest of %s is held, and is sent: %+v", key, plan)
		}
		if i > plan.Claim {
			t.Fatalf("%d is merged into an earlier one: %+v", i, plan)
		}
	}
}

func hasExpired(d audience.Delivery) bool {
	return !domaintest.Epoch.Before(d.HappenedAt.Add(audience.DeliveryLifetime))
}

func isHeld(d audience.Delivery) bool { return d.HeldUntil.After(domaintest.Epoch) }

var sentAt = domaintest.At(time.Minute)

func TestApplyOutcome(t *testing.T) {
	for result, want := range map[audience.SendResult]audience.DeliveryState{
		audience.SendAccepted: audience.DeliverySent, audience.SendRejected: audience.DeliveryDead,
		audience.SendUndeliverable: audience.DeliveryDead,
		audience.SendGone:          audience.DeliveryCancelled, audience.SendFailed: audience.DeliveryPending,
		audience.SendServerUnavailable: audience.DeliveryPending,
	} {
		d := claimed(1)
		d.ApplyOutcome(audience.SendOutcome{Result: result, Reason: "why"}, sentAt, 0.5)
		if d.State != want || d.Reason != "why" || !d.LeaseUntil.IsZero() || !d.UpdatedAt.Equal(sentAt) {
			t.Errorf("ApplyOutcome with %v: %+v", result, d)
		}
	}
}

func TestBackOffOfDeliveries(t *testing.T) {
	for _, c := range []struct {
		attempts int
		wait     time.Duration
	}{
		{0, 5 * time.Second}, {1, 5 * time.Second}, {2, 20 * time.Second}, {3, time.Minute}, {4, 3 * time.Minute},
		{5, 10 * time.Minute}, {6, 30 * time.Minute}, {7, time.Hour}, {8, time.Hour}, {1000, time.Hour},
	} {
		for jitter, share := range map[float64]float64{0: 0.8, 0.5: 1, 1: 1.2} {
			d := claimed(c.attempts)
			d.ApplyOutcome(audience.SendOutcome{}, sentAt, jitter)
			got, want := d.NextAttemptAt.Sub(sentAt), time.Duration(float64(c.wait)*share)
			if got.Round(time.Millisecond) != want.Round(time.Millisecond) {
				t.Errorf("after attempt %d with jitter %v: %v, want %v", c.attempts, jitter, got, want)
			}
		}
	}
	for _, attempts := range []int{1, 2, 100} {
		d := claimed(attempts)
		d.ApplyOutcome(audience.SendOutcome{Result: audience.SendServerUnavailable}, sentAt, 0.5)
		if got := d.NextAttemptAt.Sub(sentAt); got != 5*time.Second || d.Attempts != attempts-1 {
			t.Errorf("the server failed at attempt %d: again after %v, %d attempts", attempts, got, d.Attempts)
		}
	}
}

func TestRetryAfterOfDeliveries(t *testing.T) {
	for _, c := range []struct {
		name        string
		after, late time.Duration // late: age of the event
		want        time.Duration // from now
	}{
		{"sooner than the back-off", time.Second, 0, 5 * time.Second},
		{"later than the back-off", time.Minute, 0, time.Minute},
		{"after the expiry", 48 * time.Hour, time.Hour, 23 * time.Hour},
		{"just before the expiry", 0, audience.DeliveryLifetime - time.Second, time.Second},
		{"in the past", -time.Hour, 0, 5 * time.Second},
	} {
		d := claimed(1)
		d.HappenedAt = sentAt.Add(-c.late)
		d.ApplyOutcome(audience.SendOutcome{RetryAfter: c.after}, sentAt, 0.5)
		if got := d.NextAttemptAt.Sub(sentAt); got != c.want {
			t.Errorf("%s: the next attempt is after %v, want %v", c.name, got, c.want)
		}
	}
}

// claimed is a delivery that is being sent a minute after its event, for the last of these attempts.
func claimed(attempts int) audience.Delivery {
	return audience.Delivery{
		State: audience.DeliverySending, HappenedAt: domaintest.Epoch, Attempts: attempts,
		LeaseUntil: sentAt.Add(time.Second),
	}
}

// TestApplyOutcomeInvariants checks the retries of a failing delivery: the second attempt
// comes within ten seconds, waits never shrink except by the jitter, and no attempt comes
// after the delivery's lifetime.
func TestApplyOutcomeInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := audience.Delivery{HappenedAt: domaintest.Epoch}
		now := domaintest.Epoch
		for now.Before(domaintest.Epoch.Add(audience.DeliveryLifetime)) {
			d.Attempts++
			if d.Attempts > 100 {
				t.Fatal("more than 100 attempts")
			}
			d.ApplyOutcome(audience.SendOutcome{}, now, rapid.Float64Range(0, 1).Draw(t, "jitter"))
			wait := d.NextAttemptAt.Sub(now)
			if d.State != audience.DeliveryPending || wait <= 0 || d.Attempts == 1 && wait > 10*time.Second ||
				wait > 72*time.Minute {
				t.Fatalf("attempt %d: %s, again after %v", d.Attempts, d.State, wait)
			}
			now = d.NextAttemptAt
		}
		if !now.Equal(domaintest.Epoch.Add(audience.DeliveryLifetime)) {
			t.Fatalf("the last attempt is %v after the event", now.Sub(domaintest.Epoch))
		}
		if plan := audience.PlanDeliveries([]audience.Delivery{d}, now); plan.Claim >= 0 || len(plan.Expire) != 1 {
			t.Fatalf("at the end: %+v", plan)
		}
	})
}
