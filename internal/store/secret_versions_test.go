package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/secret"
)

// TestSecretVersions checks that changed secrets are counted, that the same ones are not, and that a change with the tag
// from before is refused.
func TestSecretVersions(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.SetSecretKeys(must(secret.New(strings.Repeat("k", secret.MinLength)))(w))
		token := func(value string) map[string]json.RawMessage {
			return map[string]json.RawMessage{"token": json.RawMessage(value)}
		}
		channel := w.channel("ops", func(c *alert.Channel) { c.Secrets = token(`"a"`) })
		check := w.newCheck("shop", withSecrets(token(`"a"`)))
		seen := map[string]bool{}
		for n, value := range []string{`"b"`, `"b"`, `"a"`, `null`, `null`, `"a"`} {
			name := fmt.Sprintf("%d: %s", n, value)
			want := fmt.Sprintf("map[token:%d]", []int{1, 1, 2, 3, 3, 4}[n])
			set := func(c *alert.Channel) error { c.Secrets = token(value); return nil }
			old := allswell.Precondition{Tags: []string{allswell.EntityTag(must(w.AlertChannel(w.ctx, w.ws, channel.ID))(w))}}
			must(w.ChangeAlertChannel(w.ctx, w.ws, channel.ID, old, set))(w)
			changed := must(w.AlertChannel(w.ctx, w.ws, channel.ID))(w)
			if got := fmt.Sprint(changed.SecretVersions); got != want {
				w.Errorf("%s: the channel has %s, want %s", name, got, want)
			}
			tag := allswell.EntityTag(changed)
			if same := n == 1 || n == 4; seen[tag] != same {
				w.Errorf("%s: the tag %s was seen before: %t", name, tag, seen[tag])
			}
			_, err := w.ChangeAlertChannel(w.ctx, w.ws, channel.ID, old, set)
			if tag != old.Tags[0] && !errors.Is(err, allswell.ErrPreconditionFailed) {
				w.Errorf("%s: a change with the tag from before: %v", name, err)
			}
			seen[tag] = true
			ch := func(c *allswell.MonitorConfig) error { setSecrets(c, token(value)); return nil }
			must(w.ChangeMonitor(w.ctx, w.ws, check.ID, ch))(w)
			if got := fmt.Sprint(w.monitorNow(check).SecretVersions); got != want {
				w.Errorf("%s: the check has %s, want %s", name, got, want)
			}
		}
		job, hook := w.quick("job", w.component, ""), w.subscribe("https://example.com/hook")
		for range 2 {
			must(w.RotateMonitor(w.ctx, w.ws, job.ID))(w)
			hook = must(w.RotateSubscriber(w.ctx, w.ws, "acme", hook.ID))(w)
		}
		must(w.ChangeMonitor(w.ctx, w.ws, job.ID, func(c *allswell.MonitorConfig) error { c.Name = "Job"; return nil }))(w)
		if got := fmt.Sprint(w.monitorNow(job).SecretVersions, hook.SecretVersions); got != "map[token:2] map[secret:2]" {
			w.Errorf("rotated twice: %s", got)
		}
	})
}
