package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
)

// hostile is a name that breaks out of HTML, if it is not escaped, in two directions of writing.
const hostile = `"><script>alert(1)</script>{{.}} مرحبا 🦊 '`

// page creates a page as the visitor.
func (v *visitor) page(name, slug string) statuspage.Page {
	v.Helper()
	p, err := v.store.CreatePage(v.Context(), v.actor(), resource.Page.From(statuspage.Page{Name: name, Slug: slug}))
	if err != nil {
		v.Fatal(err)
	}
	return p
}

// subscribe adds a mail subscriber to a page, which queues the mail that asks for a confirmation.
func (v *visitor) subscribe(slug, address string) {
	v.Helper()
	if _, err := v.store.CreateSubscriber(
		v.Context(), v.actor(), slug, audience.NewSubscriber{Channel: audience.ChannelEmail, Target: address}, nil,
	); err != nil {
		v.Fatal(err)
	}
}

// reject claims the deliveries by mail that are due, and rejects them.
func (s *site) reject(reason string) {
	s.Helper()
	claimed, _, _, err := s.store.ClaimDeliveries(s.Context(), store.ClaimOptions{
		Channel: audience.ChannelEmail, Limit: 100,
	})
	if err != nil || len(claimed) == 0 {
		s.Fatalf("claimed %v, %v", claimed, err)
	}
	var results []store.DeliveryResult
	for _, c := range claimed {
		results = append(results, store.DeliveryResult{
			ClaimedDelivery: c, Outcome: audience.SendOutcome{Result: audience.SendRejected, Reason: reason},
		})
	}
	if err := s.store.SaveDeliveryResults(s.Context(), results); err != nil {
		s.Fatal(err)
	}
}

func TestDeliveries(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		owner.wants(owner.get("/admin/deliveries"), http.StatusOK, "no page yet")
		owner.page(hostile, "acme")
		owner.page("Other", "other")
		owner.wants(owner.get("/admin/deliveries?page=acme"), http.StatusOK, "No such deliveries", "&lt;script&gt;")
		owner.subscribe("acme", "grace@example.com")
		waiting := owner.wants(owner.get("/admin/deliveries?page=acme"), http.StatusOK, "confirm the subscription",
			"grace@example.com", ">Waiting<", "Send again")
		s.reject("550 5.1.1 <grace@example.com>: no such mailbox")
		owner.wants(owner.get("/admin"), http.StatusOK,
			`/admin/deliveries?page=acme&amp;state=failed">1 notification was not delivered`)

		const failed = "/admin/deliveries?page=acme&state=failed"
		list := owner.wants(owner.get(failed), http.StatusOK, ">Rejected<", "no such mailbox", "1 attempt")
		if list.Header.Get("ETag") == waiting.Header.Get("ETag") {
			s.Error("the tag of the screen does not change with a delivery")
		}
		owner.wants(owner.get("/admin/deliveries?page=acme&state=waiting"), http.StatusOK, "No such deliveries")
		owner.wants(owner.get("/admin/deliveries?page=other"), http.StatusOK, "No such deliveries")
		owner.wants(owner.get("/admin/deliveries?page=nowhere"), http.StatusNotFound)
		owner.wants(owner.get("/admin/deliveries?page=acme&p=99999999999999999999"), http.StatusOK)

		_, after, _ := strings.Cut(list.body, `action="/admin/deliveries/`)
		id, _, _ := strings.Cut(after, "/retry")
		retry := "/admin/deliveries/" + id + "/retry"
		owner.wants(owner.post(retry, "back", failed), http.StatusSeeOther, failed)
		owner.wants(owner.get(failed), http.StatusOK, "No such deliveries")
		owner.wants(owner.post(retry, "back", "https://evil.example"), http.StatusSeeOther, "/admin")

		subscribers, _, err := s.store.Subscribers(s.Context(), owner.actor(), "acme", store.SubscriberFilter{},
			store.Pagination{Page: 1, PerPage: 10})
		if err != nil || len(subscribers) != 1 {
			s.Fatalf("%v, %v", subscribers, err)
		}
		if err := s.store.DeleteSubscriber(
			s.Context(), owner.actor(), "acme", subscribers[0].ID, kernel.Precondition{},
		); err != nil {
			s.Fatal(err)
		}
		owner.wants(owner.post(retry, "back", "/admin/deliveries?page=acme"), http.StatusUnprocessableEntity,
			"cannot be tried again", "a recipient who has left")
	})
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
		v := &visit{in: account.SignedIn{Role: role}}
		row := v.newDeliveryRow("acme", e)
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
			v := &visit{in: account.SignedIn{Role: role}}
			if row := v.newDeliveryRow("acme", e); row.Note != "no … here" || row.Target != "" {
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

func TestPager(t *testing.T) {
	for _, c := range []struct {
		p              string
		count, total   int
		first, last    int
		previous, next string
	}{
		{"", 0, 0, 1, 0, "", ""},
		{"1", 50, 51, 1, 50, "", "/x?a=b&p=2"},
		{"2", 1, 51, 51, 51, "/x?a=b&p=1", ""},
		{"9", 0, 51, 401, 400, "/x?a=b&p=2", ""},
		{"-3", 50, 50, 1, 50, "", ""},
	} {
		r := pagination(url.Values{"p": {c.p}})
		got := newPager("/x", url.Values{"a": {"b"}}, r, c.count, c.total)
		if want := (pager{c.first, c.last, c.total, c.previous, c.next}); got != want {
			t.Errorf("page %q: %+v, want %+v", c.p, got, want)
		}
	}
}
