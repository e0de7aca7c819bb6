package dashboard

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
)

// maxPageChoices is the maximum number of pages that a filter offers. With more, the slug is typed.
const maxPageChoices = 200

// deliveryFilters are the states by which the list can be filtered.
var deliveryFilters = []struct {
	value, label string
	states       []audience.DeliveryState
}{
	{"", "All", nil},
	{"waiting", "Waiting", []audience.DeliveryState{audience.DeliveryPending, audience.DeliverySending}},
	{"failed", "Failed", []audience.DeliveryState{audience.DeliveryDead, audience.DeliveryExpired}},
	{"sent", "Sent", []audience.DeliveryState{audience.DeliverySent}},
	{"merged", "Merged", []audience.DeliveryState{audience.DeliverySuperseded}},
	{"cancelled", "Cancelled", []audience.DeliveryState{audience.DeliveryCancelled}},
}

// deliveriesScreen is the data of the template deliveries.
type deliveriesScreen struct {
	*form
	NoPages        bool
	Page, State    field
	Rows           []deliveryRow
	Pager          pager
	CanRetry, Seen bool   // Seen: the recipients may be seen
	Back           string // the list as it is shown
	Recipient      string // the only one whose deliveries are listed, if it may be seen; "": unknown
}

// deliveryRow is a delivery as the list shows it.
type deliveryRow struct {
	audience.DeliveryLogEntry
	Label, Tone string // of the state
	About       string
	AboutPath   string // of the incident; "": none
	Note        string
	Next        time.Time // when it is sent; zero: not
	CanRetry    bool
}

// showDeliveries lists the messages to the subscribers of a page.
func (v *visit) showDeliveries() error {
	return v.listDeliveries(http.StatusOK, newForm(v.r.URL.Query()))
}

func (v *visit) listDeliveries(status int, f *form) error {
	pages, total, err := v.store.Pages(v.r.Context(), v.actor(), store.Filter{}, store.Pagination{
		Page: 1, PerPage: maxPageChoices,
	})
	if err != nil {
		return err
	}
	s := deliveriesScreen{form: f, CanRetry: v.may(rights.DeliveryRetry), Seen: v.may(rights.DeliveryRecipients)}
	if total == 0 {
		s.NoPages = true
		return v.showLive("deliveries", "Deliveries", s)
	}
	if f.Value("page") == "" {
		f.values.Set("page", pages[0].Slug)
	}
	page := field{Name: "page", Label: "Page"}
	if total <= maxPageChoices {
		page.Type = "select"
		for _, p := range pages {
			page.Options = append(page.Options, option{Value: p.Slug, Label: p.Name})
		}
	}
	state := field{Name: "state", Label: "State", Type: "select"}
	filter := store.DeliveryFilter{Subscriber: f.Value("subscriber")}
	for _, c := range deliveryFilters {
		state.Options = append(state.Options, option{Value: c.value, Label: c.label})
		if c.value == f.Value("state") {
			filter.States = c.states
		}
	}
	s.Page, s.State = f.draw(page), f.draw(state)
	query := url.Values{"page": {f.Value("page")}, "state": {f.Value("state")}}
	if filter.Subscriber != "" {
		query.Set("subscriber", filter.Subscriber)
	}
	r := pagination(f.values)
	entries, total, err := v.store.Deliveries(v.r.Context(), v.actor(), f.Value("page"), filter, r)
	if err != nil {
		return err
	}
	for _, e := range entries {
		row := v.newDeliveryRow(f.Value("page"), e)
		s.Rows = append(s.Rows, row)
		if filter.Subscriber != "" {
			s.Recipient = row.Target
		}
	}
	const path = Path + "/deliveries"
	s.Pager = newPager(path, query, r, len(entries), total)
	query.Set("p", f.Value("p"))
	s.Back = path + "?" + query.Encode()
	if status != http.StatusOK {
		return v.show(status, "deliveries", "Deliveries", s)
	}
	return v.showLive("deliveries", "Deliveries", s)
}

// retryDelivery sends a delivery again, and leads back to the list.
func (v *visit) retryDelivery() error {
	back := localPath(v.r.PostForm.Get("back"))
	_, err := v.store.RetryDelivery(v.r.Context(), v.actor(), v.r.PathValue("delivery"))
	f := newForm(url.Values{})
	if f.refused(err) {
		if u, err := url.Parse(back); err == nil {
			f.values = u.Query()
		}
		return v.listDeliveries(http.StatusUnprocessableEntity, f)
	}
	if err != nil {
		return err
	}
	return v.redirect(back)
}

// deliveryLooks are the words and the tones of the states.
var deliveryLooks = map[audience.DeliveryState]struct{ label, tone string }{
	audience.DeliveryPending:    {"Waiting", "degraded"},
	audience.DeliverySending:    {"Being sent", "maintenance"},
	audience.DeliverySent:       {"Sent", "ok"},
	audience.DeliverySuperseded: {"Merged", "none"},
	audience.DeliveryCancelled:  {"Cancelled", "none"},
	audience.DeliveryExpired:    {"Expired", "major"},
	audience.DeliveryDead:       {"Rejected", "major"},
}

// eventWords are the events that subscribers are notified of, in words.
var eventWords = map[statuspage.EventKind]string{
	statuspage.EventIncidentCreated:        "A new incident",
	statuspage.EventIncidentUpdated:        "An update of an incident",
	statuspage.EventIncidentResolved:       "The end of an incident",
	statuspage.EventIncidentPostmortem:     "A post-mortem",
	statuspage.EventComponentStatusChanged: "The status of a component",
	statuspage.EventMaintenanceScheduled:   "A planned maintenance",
	statuspage.EventMaintenanceReminder:    "The reminder of a maintenance",
	statuspage.EventMaintenanceBegun:       "The start of a maintenance",
	statuspage.EventMaintenanceUpdated:     "An update of a maintenance",
	statuspage.EventMaintenanceEnded:       "The end of a maintenance",
	statuspage.EventMaintenanceCancelled:   "The cancellation of a maintenance",
	statuspage.EventMonitorWarning:         "A warning of a monitor",
	statuspage.EventMonitorWarningEnded:    "The end of a monitor's warning",
}

func (v *visit) newDeliveryRow(slug string, e audience.DeliveryLogEntry) deliveryRow {
	look := deliveryLooks[e.State]
	row := deliveryRow{DeliveryLogEntry: e, Label: look.label, Tone: look.tone, Note: e.Reason}
	switch e.Purpose {
	case audience.PurposeConfirmation:
		row.About = "The request to confirm the subscription"
	case audience.PurposeTest:
		row.About = "A test message"
	case audience.PurposeLink:
		row.About = "The link to the subscription"
	default:
		row.About = eventWords[e.Kind]
	}
	switch {
	case e.Title == "":
	case e.IncidentID != "":
		row.AboutPath = Path + "/incidents/" + e.IncidentID
	case e.MonitorID != "":
		row.AboutPath = Path + "/monitors/" + e.MonitorID
	case e.ComponentID != "":
		row.AboutPath = Path + "/pages/" + url.PathEscape(slug) + "/components/" + e.ComponentID
	default:
		row.AboutPath = Path + "/maintenances/" + e.MaintenanceID
	}
	switch e.State {
	case audience.DeliveryPending:
		row.CanRetry, row.Next = true, e.NextAttemptAt
		if e.HeldUntil.After(row.Next) {
			row.Next = e.HeldUntil
		}
	case audience.DeliveryDead, audience.DeliveryExpired:
		row.CanRetry = e.Target != ""
	}
	row.CanRetry = row.CanRetry && v.may(rights.DeliveryRetry)
	if !v.may(rights.DeliveryRecipients) {
		row.Target, row.Note = "", withoutAddresses(e.Reason, e.Target)
	}
	return row
}

var mailAddress = regexp.MustCompile(`[^\s<>()"',;:]+@[^\s<>()"',;:]+`)

// withoutAddresses returns a reply of a receiver without the addresses that it repeats.
func withoutAddresses(text, target string) string {
	if target != "" {
		text = strings.ReplaceAll(text, target, "…")
	}
	return mailAddress.ReplaceAllString(text, "…")
}
