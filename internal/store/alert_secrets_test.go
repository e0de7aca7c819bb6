package store_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/shared/secret"
	"github.com/allswell/allswell/internal/store"
)

// TestDamagedSecretsStopNothingElse damages the secrets of a channel and of a check: other channels are still sent
// their messages, and callers that need the secrets get the object without them.
func TestDamagedSecretsStopNothingElse(t *testing.T) {
	keys := func(w *world) *secret.Keys { return must(secret.New(strings.Repeat("k", secret.MinLength)))(w) }
	for name, damaged := range map[string]func(w *world, owner string) []byte{
		"another owner": func(w *world, owner string) []byte {
			return keys(w).Seal([]byte(`{"token": "t"}`), owner+"x")
		},
		"no JSON": func(w *world, owner string) []byte { return keys(w).Seal([]byte(`{"token"`), owner) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorlds(t, func(w *world) {
				w.SetSecretKeys(keys(w))
				secrets := map[string]json.RawMessage{"token": json.RawMessage(`"t"`)}
				bad := w.channel("bad", func(c *alert.Channel) { c.Secrets, c.TestWeekly = secrets, true })
				good := w.channel("good", func(c *alert.Channel) { c.Secrets, c.TestWeekly = secrets, true })
				check := w.newCheck("shop", withSecrets(secrets))
				w.run(`UPDATE alert_channels SET secrets = $1 WHERE id = $2`, damaged(w, bad.ID), bad.ID)
				w.run(`UPDATE checks SET secrets = $1 WHERE monitor_id = $2`, damaged(w, check.ID), check.ID)

				var tests []string
				for _, c := range must(w.TakeChannelTests(w.ctx, 10))(w) {
					tests = append(tests, secretsMark(c, c.Health.SecretsUnreadable))
				}
				w.expect("weekly tests", tests, "bad: missing", "good: t")
				w.rule(to(bad, good))
				w.goDown(w.quick("Nightly backup", w.component, ""))
				var sent []string
				var key string
				w.passAlerts(10*time.Second, func(m store.ClaimedMessage) {
					sent = append(sent, secretsMark(m.Channel, m.Channel.Health.SecretsUnreadable))
					if m.Channel.ID == bad.ID {
						key = m.Thread.Key
					}
					w.ok(w.SaveMessageResult(w.ctx, store.MessageResult{ClaimedMessage: m, Outcome: taken}))
				})
				w.expect("messages", sent, "bad: missing", "good: t")
				c := must(w.AlertChannels().Get(w.ctx, w.ws, "", bad.ID))(w)
				if c.HasSecrets() == nil || !c.Health.SecretsUnreadable {
					w.Errorf("the channel: %+v", c)
				}
				if c := must(w.ThreadChannel(w.ctx, key))(w); c.HasSecrets() == nil {
					w.Errorf("the channel of the thread: %+v", c)
				}
				m := must(w.MonitorCheck(w.ctx, w.ws, check.ID))(w)
				if m.Check.HasSecrets() == nil || !slices.Equal(m.Check.SecretFields, []string{"token"}) {
					w.Errorf("the check: %+v", m.Check)
				}
				if c := w.claimChecks("a", ""); len(c) != 1 || !c[0].SecretsMissing || len(c[0].Spec.Secrets) != 0 {
					w.Errorf("the claimed check: %+v", c)
				}
			})
		})
	}
}

// secretsMark is a channel's name and its token.
func secretsMark(c alert.Channel, missing bool) string {
	if missing {
		return c.Name + ": missing"
	}
	return c.Name + ": " + strings.Trim(string(c.Secrets["token"]), `"`)
}
