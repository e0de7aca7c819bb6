package notify

import (
	"errors"
	"testing"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
)

// TestOneResultThatCannotBeSaved checks that an outcome which the database refuses does not keep others from being
// saved, and is saved with another reason.
func TestOneResultThatCannotBeSaved(t *testing.T) {
	runOnSites(t, func(s *site) {
		for _, name := range []string{"a", "b", "c"} {
			s.subscribe(audience.ChannelWebhook, "https://hooks.example.com/"+name)
		}
		s.openIncident("slow")
		for more := true; more; {
			var err error
			more, err = s.FanOut(s.Context())
			s.ok(err)
		}
		claimed, _, _, err := s.ClaimDeliveries(s.Context(), store.ClaimOptions{
			Channel: audience.ChannelWebhook, Limit: 10,
		})
		if s.ok(err); len(claimed) != 3 {
			s.Fatalf("%d deliveries", len(claimed))
		}
		outcomes := []audience.SendOutcome{
			{Result: audience.SendAccepted},
			{Result: audience.SendUndeliverable, Reason: "a\x00b"},
			{Result: audience.SendAccepted},
		}
		var batch []store.DeliveryResult
		for i, c := range claimed {
			batch = append(batch, store.DeliveryResult{ClaimedDelivery: c, Outcome: outcomes[i]})
		}
		c := Config{Store: s.Store}
		n := New(c)
		q := newQueue(n, webhookChannel, newWebhooks(c))
		q.enter(claimed)
		q.save(batch)
		if got := s.states(); got != "map[dead:1 sent:2]" {
			s.Errorf("states of the deliveries: %s", got)
		}
		for _, d := range s.deliveries() {
			if d.ID == claimed[1].ID && d.Reason != "The receiver's answer could not be saved." &&
				d.Reason != "a\x00b" {
				s.Errorf("the reason is %q", d.Reason)
			}
		}
	})
}

// TestPermanentErrors checks which errors of the store are worth a repetition.
func TestPermanentErrors(t *testing.T) {
	for err, want := range map[error]bool{
		kernel.ErrBusy: false, kernel.ErrUnknownOutcome: false, errors.New("invalid byte sequence"): true,
		kernel.ErrNotFound: true,
	} {
		if got := store.IsPermanent(err); got != want {
			t.Errorf("IsPermanent of %v: %v", err, got)
		}
	}
}
