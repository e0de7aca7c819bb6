package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/secret"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// lateSecret is what tests look for in everything that is stored.
const lateSecret = "x7Hq2-late-secret"

// lateChannels are the types whose secrets were in the clear, with configurations as they were.
var lateChannels = map[string]string{
	"ntfy":    `{"server_url":"https://ntfy.sh","topic":"` + lateSecret + `"}`,
	"sms":     `{"body":"{\"url\":1}","to":"+4915112345678","url":"https://Sms.example.com:8443/` + lateSecret + `"}`,
	"webhook": `{"url":"https://ops.example.com/` + lateSecret + `"}`,
}

// lateChannel creates a channel as an earlier version saved it.
func (w *world) lateChannel(kind, name string, secrets map[string]json.RawMessage) alert.Channel {
	w.Helper()
	c := w.channel(name, func(c *alert.Channel) { c.Type, c.Secrets = kind, secrets })
	w.run(`UPDATE alert_channels SET config = $1 WHERE id = $2`, lateChannels[kind], c.ID)
	return c
}

// lateWorld is a world with channels of earlier versions, their secrets in the clear.
type lateWorld struct {
	*world
	all   []alert.Channel // without zulip
	zulip alert.Channel
}

// TestLateSecretsAreSealed has channels of earlier versions, of more than one transaction. Their secrets are shown
// neither before they are sealed nor afterwards, and are used in both cases. A stop in the middle and two replicas do
// no harm.
func TestLateSecretsAreSealed(t *testing.T) {
	inWorlds(t, func(w *world) {
		l := newLateWorld(w)
		l.usesWithoutShowing("before")
		changed := must(w.AlertChannels().Change(w.ctx, w.ws, "", l.all[0].ID, func(c *alert.Channel) error {
			c.Enabled = false
			return nil
		}, kernel.Precondition{}))(w)
		if want := must(w.AlertChannels().Get(w.ctx, w.ws, "", changed.ID))(w).URLHost; changed.URLHost != want {
			t.Errorf("the changed channel has the host %q, want %q", changed.URLHost, want)
		}
		log := w.rows(`SELECT old_fields, new_fields FROM audit_entries`)
		if strings.Contains(strings.Join(log, "\n"), lateSecret) {
			t.Error("the audit log has a secret")
		}
		l.usesWithoutShowing("after a change")
		l.stopAtSecondCommit()
		l.usesWithoutShowing("after a stop")
		seal := func(s *store.Store) error {
			left, err := s.SealChannels(w.ctx)
			if left != (store.ChannelsLeft{}) {
				t.Errorf("%+v are left", left)
			}
			return err
		}
		w.ok(w.overlap(seal, seal))
		l.usesWithoutShowing("afterwards")
		sealed := w.dump()
		if strings.Contains(sealed, lateSecret) {
			t.Error("a secret is stored in the clear")
		}
		if left := must(w.SealChannels(w.ctx))(w); left != (store.ChannelsLeft{}) || w.dump() != sealed {
			t.Errorf("again, something is changed, or %+v are left", left)
		}
		if c := must(w.AlertChannels().Get(w.ctx, w.ws, "", l.zulip.ID))(w); string(c.Config) != `{"topic":"ops"}` {
			t.Errorf("the topic of Zulip: %s", c.Config)
		}
	})
}

// newLateWorld creates channels of every type that has late secrets, one of Zulip, and 200 of another type.
func newLateWorld(w *world) *lateWorld {
	w.Helper()
	l := &lateWorld{world: w}
	w.SetSecretKeys(must(secret.New(strings.Repeat("k", secret.MinLength)))(w))
	token := map[string]json.RawMessage{"access_token": json.RawMessage(`"tk_1"`)}
	for kind := range lateChannels {
		l.all = append(l.all, w.lateChannel(kind, kind, nil), w.lateChannel(kind, kind+" with a token", token))
	}
	l.zulip = w.channel("zulip", func(c *alert.Channel) {
		c.Type, c.Config = "zulip", json.RawMessage(`{"topic":"ops"}`)
	})
	var rows []string
	for i := range 200 {
		c := alert.Channel{ID: fmt.Sprintf("chn_%03d", i), Type: "ntfy", Name: fmt.Sprint("phone ", i)}
		l.all = append(l.all, c)
		rows = append(rows,
			fmt.Sprintf("('%s', '%s', 'ntfy', '%s', TRUE, '%s', '[]', 1, FALSE, 0, 0)", c.ID, w.ws.WorkspaceID,
				c.Name, lateChannels["ntfy"]))
	}
	w.run(`INSERT INTO alert_channels (id, workspace_id, type, name, enabled, config, secret_fields, max_per_minute,
			test_weekly, created_at, updated_at)
			VALUES ` + strings.Join(rows, ", "))
	return l
}

// usesWithoutShowing checks that every secret is there to be used, and that no list shows one.
func (l *lateWorld) usesWithoutShowing(when string) {
	l.Helper()
	for _, c := range l.all {
		got := must(l.AlertChannels().Get(l.ctx, l.ws, "", c.ID))(l)
		field := alert.LateSecrets[c.Type]
		var config map[string]string
		if json.Unmarshal([]byte(lateChannels[c.Type]), &config) != nil ||
			string(got.Secrets[field]) != `"`+config[field]+`"` || !slices.Contains(got.SecretFields, field) {
			l.Fatalf("%s, %s has the secrets %s of %q", when, c.Name, got.Secrets, got.SecretFields)
		}
		if strings.HasSuffix(c.Name, "token") &&
			(string(got.Secrets["access_token"]) != `"tk_1"` ||
				!slices.Contains(got.SecretFields, "access_token")) {
			l.Fatalf("%s, %s lost its token: %s", when, c.Name, got.Secrets)
		}
		hosts := map[string]string{"sms": "sms.example.com:8443", "webhook": "ops.example.com"}
		if host := hosts[c.Type]; got.URLHost != host {
			l.Fatalf("%s, the host of %s is %q", when, c.Name, got.URLHost)
		}
	}
	listed, _, err := l.AlertChannels().List(l.ctx, l.ws, "", store.Filter{}, store.Pagination{Page: 1, PerPage: 1000})
	l.ok(err)
	for _, c := range listed {
		if strings.Contains(string(c.Config), lateSecret) || len(listed) != len(l.all)+1 {
			l.Fatalf("%s, %s is shown, of %d channels", when, c.Config, len(listed))
		}
	}
}

// stopAtSecondCommit seals channels until the database fails.
func (l *lateWorld) stopAtSecondCommit() {
	l.Helper()
	commits := 0
	l.SetFault(func(at, text string) error {
		if at == "before" && text == "COMMIT" {
			if commits++; commits == 2 {
				return errFault
			}
		}
		return nil
	})
	if _, err := l.SealChannels(l.ctx); !errors.Is(err, errFault) {
		l.Fatalf("it did not stop in the middle: %v", err)
	}
	l.SetFault(nil)
}

// TestLateSecretsWithoutAKey has no key, as PostgreSQL may have none: the channels are used and can be disabled, and
// nothing shows their secrets. With other secrets that cannot be opened, a channel is left, too.
func TestLateSecretsWithoutAKey(t *testing.T) {
	inWorlds(t, func(w *world) {
		if isSQLite(w.Store) {
			return // makes a key
		}
		c := w.lateChannel("ntfy", "phone", nil)
		if left := must(w.SealChannels(w.ctx))(w); left != (store.ChannelsLeft{NoKey: 1}) {
			t.Errorf("%+v are left, want 1 without a key", left)
		}
		disabled := must(w.AlertChannels().Change(w.ctx, w.ws, "", c.ID, func(c *alert.Channel) error {
			c.Enabled = false
			return nil
		}, kernel.Precondition{}))(w)
		used := must(w.AlertChannels().Get(w.ctx, w.ws, "", c.ID))(w)
		if disabled.Enabled || strings.Contains(string(used.Config), lateSecret) ||
			string(used.Secrets["topic"]) != `"`+lateSecret+`"` {
			t.Errorf("the channel: %+v", used)
		}
		w.SetSecretKeys(must(secret.New(strings.Repeat("l", secret.MinLength)))(w))
		lost := w.lateChannel("ntfy", "lost", map[string]json.RawMessage{"access_token": json.RawMessage(`"t"`)})
		w.SetSecretKeys(must(secret.New(strings.Repeat("k", secret.MinLength)))(w))
		if left := must(w.SealChannels(w.ctx))(w); left != (store.ChannelsLeft{Unreadable: 1}) {
			t.Errorf("with a key, %+v are left, want the one whose token cannot be opened", left)
		}
		topic := func() string {
			return string(must(w.AlertChannels().Get(w.ctx, w.ws, "", lost.ID))(w).Secrets["topic"])
		}
		before := topic()
		given := map[string]json.RawMessage{"access_token": json.RawMessage(`"new"`)}
		must(w.AlertChannels().Change(w.ctx, w.ws, "", lost.ID, resource.ConfigureChannel(given, false),
			kernel.Precondition{}))(w)
		c = must(w.AlertChannels().Get(w.ctx, w.ws, "", lost.ID))(w)
		if string(c.Secrets["access_token"]) != `"new"` || c.Health.SecretsUnreadable {
			t.Errorf("after the token was given again: %+v", c)
		}
		if want := `"` + lateSecret + `"`; before != want || topic() != want {
			t.Errorf("the topic was %s, and is %s after the token was given again", before, topic())
		}
	})
}

// TestAuditLogForgetsLateSecrets migrates a log in which there are secrets.
func TestAuditLogForgetsLateSecrets(t *testing.T) {
	t.Parallel()
	storetest.EachEmpty(t, func(t *testing.T, dsn string) {
		if err := store.MigrateTo(t.Context(), dsn, 85); err != nil {
			t.Fatal(err)
		}
		entry := func(id, kind, object, before, after string) string {
			return fmt.Sprintf(`INSERT INTO audit_entries (id, workspace_id, happened_at, actor_kind, actor_name,
				action, object_kind, object_id, object_name, old_fields, new_fields)
				SELECT '%s', id, 1, 'command', 'x', 'update', '%s', '%s', 'x', '%s', '%s' FROM workspaces`, id, kind,
				object, before, after)
		}
		for _, statement := range []string{
			`INSERT INTO workspaces (id, name, created_at) VALUES ('ws_1', 'one', 1)`,
			`INSERT INTO alert_channels (id, workspace_id, type, name, enabled, config, secret_fields, max_per_minute,
				test_weekly, created_at, updated_at)
				SELECT 'chn_zulip', id, 'zulip', 'zulip', TRUE, '{}', '[]', 1, FALSE, 0, 0 FROM workspaces`,
			entry("aud_1", "alert_channel", "chn_gone", `{"topic":"secret","name":"a"}`, `{"topic":"secret2"}`),
			entry("aud_2", "alert_channel", "chn_gone", `{}`, `{"type":"webhook","url":"https://secret"}`),
			entry("aud_3", "alert_channel", "chn_zulip", `{"topic":"a"}`, `{"topic":"b"}`),
			entry("aud_4", "alert_channel", "chn_gone", `{}`, `{"type":"zulip","topic":"b"}`),
			entry("aud_5", "page", "page_1", `{"url":"a"}`, `{"topic":"b"}`),
		} {
			execRaw(t, dsn, statement)
		}
		w := &world{T: t, ctx: t.Context(), clock: newClock(), dsn: dsn}
		w.Store = w.replica()
		w.expect("entries", w.rows(`SELECT id, old_fields, new_fields FROM audit_entries ORDER BY id`),
			`aud_1|{"name":"a","topic":"[secret]"}|{"topic":"[secret]"}`,
			`aud_2|{}|{"type":"webhook","url":"[secret]"}`,
			`aud_3|{"topic":"a"}|{"topic":"b"}`, `aud_4|{}|{"type":"zulip","topic":"b"}`,
			`aud_5|{"url":"a"}|{"topic":"b"}`)

		// A replica of an earlier version writes afterwards.
		w.run(entry("aud_6", "alert_channel", "chn_gone", `{"topic":"secret"}`, `{"url":"https://secret"}`))
		actor := kernel.Actor{WorkspaceID: "ws_1"}
		log, _, err := w.AuditLog(w.ctx, actor, kernel.AuditFilter{}, "", 10)
		w.ok(err)
		one, _, err := w.ObjectLog(w.ctx, actor, []string{"chn_gone"}, 10)
		w.ok(err)
		var shown []string
		for _, e := range append(log, one[0]) {
			shown = append(shown, fmt.Sprintf("%s|%s|%s", e.ID, e.Before, e.After))
		}
		late := `aud_6|{"topic":"[secret]"}|{"url":"[secret]"}`
		w.expect("what is shown", shown, late, `aud_5|{"url":"a"}|{"topic":"b"}`,
			`aud_4|{}|{"type":"zulip","topic":"b"}`, `aud_3|{"topic":"a"}|{"topic":"b"}`,
			`aud_2|{}|{"type":"webhook","url":"[secret]"}`,
			`aud_1|{"name":"a","topic":"[secret]"}|{"topic":"[secret]"}`, late)
	})
}
