package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/secret"
)

// TestSecretVersions checks that changed secrets are counted, that the same ones are not, and that a change with the
// tag from before is refused.
func TestSecretVersions(t *testing.T) {
	inWorlds(t, func(w *world) {
		w.SetSecretKeys(must(secret.New(strings.Repeat("k", secret.MinLength)))(w))
		token := func(value string) map[string]json.RawMessage {
			return map[string]json.RawMessage{"token": json.RawMessage(value)}
		}
		channel := w.channel("ops", func(c *alert.Channel) {
			c.Type, c.Secrets = "ntfy",
				map[string]json.RawMessage{"topic": json.RawMessage(`"x"`), "access_token": json.RawMessage(`"a"`)}
		})
		check := w.newCheck("shop", withSecrets(token(`"a"`)))
		seen := map[string]bool{}
		for n, value := range []string{`"b"`, `"b"`, `"a"`, `null`, `null`, `"a"`} {
			name := fmt.Sprintf("%d: %s", n, value)
			want := fmt.Sprintf("map[token:%d]", []int{1, 1, 2, 3, 3, 4}[n])
			set := resource.ConfigureChannel(map[string]json.RawMessage{"access_token": json.RawMessage(value)}, false)
			old := kernel.Precondition{
				Tags: []string{
					kernel.EntityTag(resource.Channel.Audited(must(w.AlertChannels().Get(w.ctx, w.ws, "",
						channel.ID))(w))),
				},
			}
			must(w.AlertChannels().Change(w.ctx, w.ws, "", channel.ID, set, old))(w)
			changed := must(w.AlertChannels().Get(w.ctx, w.ws, "", channel.ID))(w)
			if got := strings.Replace(fmt.Sprint(changed.SecretVersions), "access_", "", 1); got != want {
				w.Errorf("%s: the channel has %s, want %s", name, got, want)
			}
			tag := kernel.EntityTag(resource.Channel.Audited(changed))
			if same := n == 1 || n == 4; seen[tag] != same {
				w.Errorf("%s: the tag %s was seen before: %t", name, tag, seen[tag])
			}
			_, err := w.AlertChannels().Change(w.ctx, w.ws, "", channel.ID, set, old)
			if tag != old.Tags[0] && !errors.Is(err, kernel.ErrPreconditionFailed) {
				w.Errorf("%s: a change with the tag from before: %v", name, err)
			}
			seen[tag] = true
			ch := func(c *monitor.MonitorConfig) error { setSecrets(c, token(value)); return nil }
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
		must(w.ChangeMonitor(w.ctx, w.ws, job.ID, func(c *monitor.MonitorConfig) error {
			c.Name = "Job"
			return nil
		}))(w)
		got := fmt.Sprint(w.monitorNow(job).SecretVersions, hook.SecretVersions)
		if got != "map[token:2] map[secret:2]" {
			w.Errorf("rotated twice: %s", got)
		}
	})
}
