package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/store"
)

// messages gives a workspace due messages to one host, for which no subscribers are needed: copies of a test message.
func (w *world) messages(ws kernel.Actor, page, host string, n int) {
	w.Helper()
	url := fmt.Sprintf("https://%s/%d", host, w.clock.now().Unix())
	sub := must(w.CreateSubscriber(w.ctx, ws, page,
		audience.NewSubscriber{Channel: audience.ChannelWebhook, Target: url}, nil))(w)
	d := must(w.SendTestMessage(w.ctx, ws, page, sub.ID))(w)
	writer, _ := w.Pools()
	_, err := writer.ExecContext(w.ctx,
		`WITH RECURSIVE numbers (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n < `+fmt.Sprint(n)+`)
		INSERT INTO deliveries (id, page_id, workspace_id, subscriber_id, purpose, channel, host, ordering_key,
		position, collapse_key, state,
			happened_at, next_attempt_at, attempts, fencing_token, created_at, updated_at)
		SELECT id || '.' || n, page_id, workspace_id, subscriber_id, purpose, channel, host, ordering_key || '.' || n,
		position,
			collapse_key || '.' || n, state, happened_at, next_attempt_at + n % 1000, attempts, fencing_token,
			created_at, updated_at
		FROM deliveries, numbers WHERE deliveries.id = '`+d.ID+`' AND n > 1 AND n <= `+fmt.Sprint(n))
	w.ok(err)
	w.clock.move(time.Second)
}

// TestAnotherWorkspaceIsInTheFirstClaim checks that 10,000 due deliveries of one workspace hide no delivery of
// another, which is due later than half of them and before the others, and that a full host hides no other of its
// workspace.
func TestAnotherWorkspaceIsInTheFirstClaim(t *testing.T) {
	inWorlds(t, func(w *world) {
		const many = 10_000
		other := w.otherWorkspace()
		must(w.CreatePage(w.ctx, other, resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"})))(w)
		w.messages(w.ws, "acme", "many.example.com", many/2)
		w.messages(other, "other", "one.example.com", 1)
		w.messages(w.ws, "acme", "many.example.com", many/2)
		gate := fair.NewGate(fair.GateConfig{Places: 128, PerHost: 4, MinPause: time.Minute, MaxPause: time.Minute})
		claims := store.ClaimOptions{
			Channel: audience.ChannelWebhook, Limit: 128, Plan: func() *fair.Plan { return gate.Plan(time.Now()) },
		}
		claim := func() (hosts map[string]int) {
			claimed, next, _, err := w.ClaimDeliveries(w.ctx, claims)
			w.ok(err)
			claims.After = next
			hosts = make(map[string]int)
			for _, c := range claimed {
				hosts[c.Host]++
				gate.Enter(fair.Target{Workspace: c.WorkspaceID, Host: c.Host})
			}
			return hosts
		}
		if got := fmt.Sprint(claim()); got != "map[many.example.com:4 one.example.com:1]" {
			t.Errorf("the first claim: %s", got)
		}
		w.messages(w.ws, "acme", "quick.example.com", 2)
		w.messages(w.ws, "acme", "many.example.com", 1000)
		if got := fmt.Sprint(claim()); got != "map[quick.example.com:2]" {
			t.Errorf("the second claim, when one host is full: %s", got)
		}
	})
}

// TestWorkspacesTakeTurns checks that claims of few deliveries begin with the workspace after the last one.
func TestWorkspacesTakeTurns(t *testing.T) {
	inWorlds(t, func(w *world) {
		other := w.otherWorkspace()
		must(w.CreatePage(w.ctx, other, resource.Page.From(statuspage.Page{Name: "Other", Slug: "other"})))(w)
		w.messages(w.ws, "acme", "a.example.com", 10)
		w.messages(other, "other", "b.example.com", 10)
		var turns []string
		after := ""
		for range 6 {
			claimed, next, _, err := w.ClaimDeliveries(w.ctx, store.ClaimOptions{
				Channel: audience.ChannelWebhook, Limit: 1, After: after,
			})
			w.ok(err)
			after = next
			turns = append(turns, claimed[0].Host[:1])
		}
		if got := strings.Join(turns, ""); got != "ababab" && got != "bababa" {
			t.Errorf("the turns: %s", got)
		}
		claimed, _, _, err := w.ClaimDeliveries(w.ctx, store.ClaimOptions{
			Channel: audience.ChannelWebhook, Limit: 9, After: after,
		})
		w.ok(err)
		if n := len(slices.DeleteFunc(claimed, func(c store.ClaimedDelivery) bool {
			return c.Host[0] == 'a'
		})); n != 4 && n != 5 {
			t.Errorf("%d of 9 claimed are of the second workspace", n)
		}
	})
}

// TestWorkspacesThatCannotSend checks that claims pass over workspaces whose hosts all fail, however many these are,
// and end.
func TestWorkspacesThatCannotSend(t *testing.T) {
	inWorlds(t, func(w *world) {
		const workspaces = 40
		gate := fair.NewGate(fair.GateConfig{Places: 128, PerHost: 4, MinPause: time.Hour, MaxPause: time.Hour})
		w.messages(w.ws, "acme", "works.example.com", 1)
		writer, _ := w.Pools()
		for i := range workspaces {
			id := fmt.Sprintf("wsp_%03d", i)
			_, err := writer.ExecContext(w.ctx,
				`INSERT INTO deliveries (id, page_id, workspace_id, subscriber_id, purpose, channel, host, ordering_key,
					position, collapse_key, state,
					happened_at, next_attempt_at, attempts, fencing_token, created_at, updated_at)
				SELECT id || '`+id+`', page_id, '`+id+
					`', subscriber_id, purpose, channel, 'fails.example.com', ordering_key || '`+id+
					`', position, collapse_key, state,
					happened_at, next_attempt_at, attempts, fencing_token, created_at, updated_at FROM deliveries
					WHERE workspace_id = '`+w.ws.WorkspaceID+`'`)
			w.ok(err)
			for range fair.BreakAfter {
				gate.Note(fair.Target{Workspace: id, Host: "fails.example.com"}, true, time.Now())
			}
		}
		claimed, _, more, err := w.ClaimDeliveries(w.ctx, store.ClaimOptions{
			Channel: audience.ChannelWebhook, Limit: 128, Plan: func() *fair.Plan { return gate.Plan(time.Now()) },
		})
		if err != nil || len(claimed) != 1 || more {
			w.Errorf("%d are claimed, more: %t, %v", len(claimed), more, err)
		}
	})
}

// TestClaimsUseTheirIndex checks that SQLite finds workspaces and due deliveries by index, and no other is in the way.
func TestClaimsUseTheirIndex(t *testing.T) {
	for _, text := range []string{store.DueWorkspaces, store.DueKeys("")} {
		text = strings.NewReplacer("EACH($4)", "(SELECT value FROM json_each('[]'))", "$1", "'email'", "$2", "1", "$3",
			"1", "$5", "1", "$6", "1").Replace(text)
		plan := planOnSQLite(t, text)
		if !strings.Contains(plan, "deliveries_due (channel=? AND workspace_id=?") ||
			strings.Contains(plan, "SCAN deliveries") {
			t.Errorf("the plan: %s", plan)
		}
	}
}
