package run_test

import (
	"testing"

	"github.com/allswell/allswell/client"
)

// TestWarningsOfRuns reads with the client the warnings of runs that violate conditions, and their deliveries.
func TestWarningsOfRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	api, err := client.New(w.server.URL, apiToken, client.Options{})
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(err)
	_, err = api.CreatePage(ctx, client.NewPage{Name: "Acme", Slug: "acme"})
	ok(err)
	hook, err := api.CreateSubscriber(ctx, "acme", client.NewSubscriber{
		Channel: client.ChannelWebhook, Target: "https://hooks.example.com/", Warnings: new(true),
	})
	ok(err)
	_, err = api.ChangeMonitor(ctx, w.id, client.MonitorChange{
		Page: client.Set("acme"), MaxRuntime: client.Set(client.Seconds(7200)),
		MinRuntime: client.Set(client.Seconds(3600)), NoOverlap: new(true)})
	ok(err)
	// a run within another one
	nested := []string{"--monitor", w.ping, "--", w.exe, "run", "--monitor", w.ping, "--", "true"}
	if status, _, errs := w.run(nil, nested...); status != 0 {
		t.Fatalf("run %q: status %d, %s", nested, status, errs)
	}
	warnings := func(condition client.Condition) (all []*client.Warning) {
		t.Helper()
		for warning, err := range api.ListWarnings(ctx, w.id, condition) {
			ok(err)
			all = append(all, warning)
		}
		return all
	}
	all, short := warnings(""), warnings(client.ConditionMinRuntime)
	if len(all) != 2 || all[0].Condition != client.ConditionMinRuntime ||
		all[1].Condition != client.ConditionNoOverlap || len(short) != 1 || short[0].ID != all[0].ID {
		t.Fatalf("the warnings: %+v", all)
	}
	for _, warning := range all {
		if warning.Message == "" || warning.RunID == nil || warning.WarnedAt.IsZero() || warning.EndedAt != nil {
			t.Errorf("a warning: %+v", warning)
		}
	}
	changed, err := api.ChangeSubscriber(ctx, "acme", hook.ID, client.SubscriberChange{Warnings: new(false)})
	if err != nil || changed.Warnings {
		t.Errorf("the subscriber without warnings: %+v, %v", changed, err)
	}
	until(t, "the warnings are in the log of deliveries", func() bool {
		deliveries, total, err := api.ListDeliveries("acme", client.DeliveryFilter{Subscriber: hook.ID}).First(ctx, 10)
		ok(err)
		for _, d := range deliveries {
			if *d.Event != client.EventMonitorWarning || *d.MonitorID != w.id || d.IncidentID != nil {
				t.Fatalf("a delivery: %+v", d)
			}
		}
		return total == 2
	})
}
