package store_test

import (
	"strings"
	"testing"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
)

// TestTargetOfQuietHours checks that whom quiet hours notify is checked, kept and shown like the other targets of a rule.
func TestTargetOfQuietHours(t *testing.T) {
	inWorlds(t, func(w *world) {
		phone, night := w.channel("phone"), w.channel("night")
		foreign := must(w.CreateAlertChannel(w.ctx, w.otherWorkspace(), night))(w)
		r := alert.Rule{Name: "rule", Enabled: true, Filter: alert.Filter{Events: alert.DefaultEvents}, Target: to(phone)}
		r.QuietHours = &alert.QuietHours{Zone: "UTC", From: 22 * 60, Until: 7 * 60}
		for _, target := range []alert.Target{{ChannelIDs: []string{"chn_x"}}, to(night, foreign), {OnCallIDs: []string{"onc_x"}}} {
			r.QuietHours.Target = target
			_, err := w.CreateAlertRule(w.ctx, w.ws, r)
			w.refused(err, "quiet_hours")
		}
		r.QuietHours.Target = to(night)
		made := must(w.CreateAlertRule(w.ctx, w.ws, r))(w)
		if !strings.HasSuffix(made.Summary, "from 22:00 to 07:00 (UTC), notify night instead.") {
			t.Error(made.Summary)
		}
		w.refused(w.DeleteAlertChannel(w.ctx, w.ws, night.ID, allswell.Precondition{}), "id")
		must(w.AlertChannel(w.ctx, w.ws, night.ID))(w)
		must(w.ChangeAlertRule(w.ctx, w.ws, made.ID, allswell.Precondition{}, func(r *alert.Rule) error { r.QuietHours.Target = alert.Target{}; return nil }))(w)
		w.ok(w.DeleteAlertChannel(w.ctx, w.ws, night.ID, allswell.Precondition{}))
	})
}
