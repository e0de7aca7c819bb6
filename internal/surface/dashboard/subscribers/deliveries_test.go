package subscribers_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
)

func TestDeliveries(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		owner.Wants(owner.Get("/admin/deliveries"), http.StatusOK, "No pages yet")
		owner.Page(dashboardtest.Hostile, "acme")
		owner.Page("Other", "other")
		owner.Wants(owner.Get("/admin/deliveries?page=acme"), http.StatusOK, "No such deliveries", "&lt;script&gt;")
		owner.Subscribe("acme", "grace@example.com")
		waiting := owner.Wants(owner.Get("/admin/deliveries?page=acme"), http.StatusOK, "Confirmation",
			"grace@example.com", ">Pending<", "Send again")
		s.Reject("550 5.1.1 <grace@example.com>: no such mailbox")
		owner.Wants(owner.Get("/admin"), http.StatusOK,
			`/admin/deliveries?page=acme&amp;state=failed">1 notification was not delivered`)

		const failed = "/admin/deliveries?page=acme&state=failed"
		list := owner.Wants(owner.Get(failed), http.StatusOK, ">Dead<", "no such mailbox", "1 attempt")
		if list.Header.Get("ETag") == waiting.Header.Get("ETag") {
			s.Error("the tag of the screen does not change with a delivery")
		}
		owner.Wants(owner.Get("/admin/deliveries?page=acme&state=waiting"), http.StatusOK, "No such deliveries")
		owner.Wants(owner.Get("/admin/deliveries?page=other"), http.StatusOK, "No such deliveries")
		owner.Wants(owner.Get("/admin/deliveries?page=nowhere"), http.StatusNotFound)
		owner.Wants(owner.Get("/admin/deliveries?page=acme&p=99999999999999999999"), http.StatusOK)

		_, after, _ := strings.Cut(list.Text, `action="/admin/deliveries/`)
		id, _, _ := strings.Cut(after, "/retry")
		retry := "/admin/deliveries/" + id + "/retry"
		owner.Wants(owner.Post(retry, "back", failed), http.StatusSeeOther, failed)
		owner.Wants(owner.Get(failed), http.StatusOK, "No such deliveries")
		owner.Wants(owner.Post(retry, "back", "https://evil.example"), http.StatusSeeOther, "/admin")

		subscribers, _, err := s.Store.Subscribers(s.Context(), owner.Actor(), "acme", store.SubscriberFilter{},
			store.Pagination{Page: 1, PerPage: 10})
		if err != nil || len(subscribers) != 1 {
			s.Fatalf("the subscribers: %v, %v", subscribers, err)
		}
		err = s.Store.DeleteSubscriber(s.Context(), owner.Actor(), "acme", subscribers[0].ID, kernel.Precondition{})
		if err != nil {
			s.Fatal(err)
		}
		owner.Wants(owner.Post(retry, "back", "/admin/deliveries?page=acme"), http.StatusUnprocessableEntity,
			"cannot be tried again", "a recipient who has left")
	})
}
