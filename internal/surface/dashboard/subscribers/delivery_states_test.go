package subscribers

import (
	"fmt"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// TestRowsOfDeliveries compares what a row of the list has, by state and by what the delivery is about.
func TestRowsOfDeliveries(t *testing.T) {
	at := time.Date(2031, 3, 1, 8, 0, 0, 0, time.UTC)
	r := &request{Request: &frame.Request{SignedIn: account.SignedIn{Role: kernel.RoleAdmin}}}
	entry := func(state audience.DeliveryState, held time.Duration, target string) audience.DeliveryLogEntry {
		return audience.DeliveryLogEntry{
			Target: target, Delivery: audience.Delivery{State: state, NextAttemptAt: at, HeldUntil: at.Add(held)},
		}
	}
	for _, c := range []struct {
		entry audience.DeliveryLogEntry
		want  string
	}{
		{entry(audience.DeliveryPending, -time.Hour, "x"), "Pending degraded true 08:00"},
		{entry(audience.DeliveryPending, time.Hour, ""), "Pending degraded true 09:00"},
		{entry(audience.DeliverySending, time.Hour, "x"), "Sending maintenance false 00:00"},
		{entry(audience.DeliverySent, time.Hour, "x"), "Sent ok false 00:00"},
		{entry(audience.DeliverySuperseded, 0, "x"), "Superseded none false 00:00"},
		{entry(audience.DeliveryCancelled, 0, "x"), "Cancelled none false 00:00"},
		{entry(audience.DeliveryExpired, 0, "x"), "Expired major true 00:00"},
		{entry(audience.DeliveryExpired, 0, ""), "Expired major false 00:00"},
		{entry(audience.DeliveryDead, 0, "x"), "Dead major true 00:00"},
		{entry(audience.DeliveryDead, 0, ""), "Dead major false 00:00"},
	} {
		row := r.newDeliveryRow("acme", c.entry)
		got := fmt.Sprint(row.Label, " ", row.Tone, " ", row.CanRetry, " ", row.Next.Format("15:04"))
		if got != c.want {
			t.Errorf("%s %q: %s, want %s", c.entry.State, c.entry.Target, got, c.want)
		}
	}
	for want, e := range map[string]audience.DeliveryLogEntry{
		"": {}, "/admin/incidents/i": {Title: "x", IncidentID: "i"}, "/admin/monitors/m": {Title: "x", MonitorID: "m"},
		"/admin/pages/acme/components/c": {Title: "x", ComponentID: "c"},
		"/admin/maintenances/n":          {Title: "x", MaintenanceID: "n"},
	} {
		if got := r.newDeliveryRow("acme", e).AboutPath; got != want {
			t.Errorf("the path is %q, want %q", got, want)
		}
	}
}

func TestRecipientsAreForAdmins(t *testing.T) {
	e := audience.DeliveryLogEntry{Target: "grace@example.com", Delivery: audience.Delivery{
		State:  audience.DeliveryDead,
		Reason: "550 <grace@example.com> forwards to <g.hopper@navy.example>, which is full",
	}}
	for role, want := range map[kernel.Role]string{
		kernel.RoleViewer: "550 <…> forwards to <…>, which is full",
		kernel.RoleEditor: "550 <…> forwards to <…>, which is full", kernel.RoleAdmin: e.Reason,
	} {
		r := &request{Request: &frame.Request{SignedIn: account.SignedIn{Role: role}}}
		row := r.newDeliveryRow("acme", e)
		if row.Note != want || (row.Target == "") != (role != kernel.RoleAdmin) ||
			row.CanRetry != (role != kernel.RoleViewer) {
			t.Errorf("as %s: %+v", role, row)
		}
	}
}

// TestReasonsHideTheRecipient checks that nobody but admins reads in a reason who the recipient is, by whatever
// channel.
func TestReasonsHideTheRecipient(t *testing.T) {
	for _, target := range []string{
		"grace@example.com", `"grace hopper"@example.com`, "+4915112345678", "https://hooks.example.com/x?token=y",
		"https://hooks.slack.com/services/…XXXX",
	} {
		e := audience.DeliveryLogEntry{Target: target, Delivery: audience.Delivery{
			State: audience.DeliveryDead, Reason: "no " + target + " here",
		}}
		for _, role := range []kernel.Role{kernel.RoleViewer, kernel.RoleEditor} {
			r := &request{Request: &frame.Request{SignedIn: account.SignedIn{Role: role}}}
			if row := r.newDeliveryRow("acme", e); row.Note != "no … here" || row.Target != "" {
				t.Errorf("as %s: %q, %q", role, row.Target, row.Note)
			}
		}
	}
}

func TestEveryDeliveryHasWords(t *testing.T) {
	for _, state := range audience.DeliveryStates {
		if deliveryLooks[state].label == "" {
			t.Errorf("the state %s has no label", state)
		}
		listed := false
		for _, f := range deliveryFilters {
			for _, s := range f.states {
				listed = listed || s == state
			}
		}
		if !listed {
			t.Errorf("no filter has the state %s", state)
		}
	}
}
