package subscribers

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
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// maxPageChoices is the maximum number of pages that a filter offers. With more, the slug is typed.
const maxPageChoices = 200

// deliveryFilters are the states by which the list can be filtered.
var deliveryFilters = []struct {
	value, label string
	states       []audience.DeliveryState
}{
	{"", "All", nil},
	{"waiting", "Pending", []audience.DeliveryState{audience.DeliveryPending, audience.DeliverySending}},
	{"failed", "Dead or expired", []audience.DeliveryState{audience.DeliveryDead, audience.DeliveryExpired}},
	{"sent", "Sent", []audience.DeliveryState{audience.DeliverySent}},
	{"merged", "Superseded", []audience.DeliveryState{audience.DeliverySuperseded}},
	{"cancelled", "Cancelled", []audience.DeliveryState{audience.DeliveryCancelled}},
}

// deliveriesScreen is the data of the template deliveries.
type deliveriesScreen struct {
	*frame.Form
	NoPages        bool
	Page, State    frame.Field
	Rows           []deliveryRow
	Pager          frame.Pager
	CanRetry, Seen bool   // Seen: the visitor may see the recipients
	Back           string // URL of the current list
	Recipient      string // the only recipient in the list; "": there are others, or it must not be seen
}

// deliveryRow is a delivery as the list shows it.
type deliveryRow struct {
	audience.DeliveryLogEntry
	Label, Tone string // of the state
	About       string
	AboutPath   string // of the incident; "": none
	Note        string
	Next        time.Time // when it will be sent; zero: it will not
	CanRetry    bool
}

// showDeliveries lists the messages to the subscribers of a page.
func (r *request) showDeliveries() error {
	return r.listDeliveries(http.StatusOK, frame.NewForm(r.URL.Query()))
}

func (r *request) listDeliveries(status int, f *frame.Form) error {
	pages, total, err := r.Store.Pages(r.Context(), r.Actor(), store.Filter{}, store.Pagination{
		Page: 1, PerPage: maxPageChoices,
	})
	if err != nil {
		return err
	}
	s := deliveriesScreen{Form: f, CanRetry: r.May(rights.DeliveryRetry), Seen: r.May(rights.DeliveryRecipients)}
	if total == 0 {
		s.NoPages = true
		return r.Show(http.StatusOK, "deliveries", "Deliveries", s)
	}
	if f.Value("page") == "" {
		f.Values.Set("page", pages[0].Slug)
	}
	page := frame.Field{Name: "page", Label: "Page"}
	if total <= maxPageChoices {
		page.Type = "select"
		for _, p := range pages {
			page.Options = append(page.Options, frame.Option{Value: p.Slug, Label: p.Name})
		}
	}
	state := frame.Field{Name: "state", Label: "State", Type: "select"}
	filter := store.DeliveryFilter{Subscriber: f.Value("subscriber")}
	for _, c := range deliveryFilters {
		state.Options = append(state.Options, frame.Option{Value: c.value, Label: c.label})
		if c.value == f.Value("state") {
			filter.States = c.states
		}
	}
	s.Page, s.State = f.Draw(page), f.Draw(state)
	query := url.Values{"page": {f.Value("page")}, "state": {f.Value("state")}}
	if filter.Subscriber != "" {
		query.Set("subscriber", filter.Subscriber)
	}
	rows := frame.Pagination(f.Values)
	entries, total, err := r.Store.Deliveries(r.Context(), r.Actor(), f.Value("page"), filter, rows)
	if err != nil {
		return err
	}
	for _, e := range entries {
		row := r.newDeliveryRow(f.Value("page"), e)
		s.Rows = append(s.Rows, row)
		if filter.Subscriber != "" {
			s.Recipient = row.Target
		}
	}
	const path = frame.Path + "/deliveries"
	s.Pager = frame.NewPager(path, query, rows, len(entries), total)
	query.Set("p", f.Value("p"))
	s.Back = path + "?" + query.Encode()
	return r.Show(status, "deliveries", "Deliveries", s)
}

// retryDelivery makes a delivery due now, and redirects to the list.
func (r *request) retryDelivery() error {
	back := frame.LocalPath(r.PostForm.Get("back"))
	_, err := r.Store.RetryDelivery(r.Context(), r.Actor(), r.PathValue("delivery"))
	f := frame.NewForm(url.Values{})
	if f.Refused(err) {
		if u, err := url.Parse(back); err == nil {
			f.Values = u.Query()
		}
		return r.listDeliveries(http.StatusUnprocessableEntity, f)
	}
	if err != nil {
		return err
	}
	return r.Redirect(back)
}

// deliveryLooks are the labels and the tones of the states.
var deliveryLooks = map[audience.DeliveryState]struct{ label, tone string }{
	audience.DeliveryPending:    {"Pending", "degraded"},
	audience.DeliverySending:    {"Sending", "maintenance"},
	audience.DeliverySent:       {"Sent", "ok"},
	audience.DeliverySuperseded: {"Superseded", "none"},
	audience.DeliveryCancelled:  {"Cancelled", "none"},
	audience.DeliveryExpired:    {"Expired", "major"},
	audience.DeliveryDead:       {"Dead", "major"},
}

// eventWords are labels for the events that subscribers are notified about.
var eventWords = map[statuspage.EventKind]string{
	statuspage.EventIncidentCreated:        "Incident opened",
	statuspage.EventIncidentUpdated:        "Incident updated",
	statuspage.EventIncidentResolved:       "Incident resolved",
	statuspage.EventIncidentPostmortem:     "Post-mortem published",
	statuspage.EventComponentStatusChanged: "Component status changed",
	statuspage.EventMaintenanceScheduled:   "Maintenance scheduled",
	statuspage.EventMaintenanceReminder:    "Maintenance reminder",
	statuspage.EventMaintenanceBegun:       "Maintenance started",
	statuspage.EventMaintenanceUpdated:     "Maintenance updated",
	statuspage.EventMaintenanceEnded:       "Maintenance completed",
	statuspage.EventMaintenanceCancelled:   "Maintenance cancelled",
	statuspage.EventMonitorWarning:         "Monitor warning",
	statuspage.EventMonitorWarningEnded:    "Monitor warning ended",
}

func (r *request) newDeliveryRow(slug string, e audience.DeliveryLogEntry) deliveryRow {
	look := deliveryLooks[e.State]
	row := deliveryRow{DeliveryLogEntry: e, Label: look.label, Tone: look.tone, Note: e.Reason}
	switch e.Purpose {
	case audience.PurposeConfirmation:
		row.About = "Confirmation"
	case audience.PurposeTest:
		row.About = "Test message"
	case audience.PurposeLink:
		row.About = "Subscription link"
	default:
		row.About = eventWords[e.Kind]
	}
	switch {
	case e.Title == "":
	case e.IncidentID != "":
		row.AboutPath = frame.Path + "/incidents/" + e.IncidentID
	case e.MonitorID != "":
		row.AboutPath = frame.Path + "/monitors/" + e.MonitorID
	case e.ComponentID != "":
		row.AboutPath = frame.Path + "/pages/" + url.PathEscape(slug) + "/components/" + e.ComponentID
	default:
		row.AboutPath = frame.Path + "/maintenances/" + e.MaintenanceID
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
	row.CanRetry = row.CanRetry && r.May(rights.DeliveryRetry)
	if !r.May(rights.DeliveryRecipients) {
		row.Target, row.Note = "", withoutAddresses(e.Reason, e.Target)
	}
	return row
}

var mailAddress = regexp.MustCompile(`[^\s<>()"',;:]+@[^\s<>()"',;:]+`)

// withoutAddresses returns a receiver's reply with all addresses in it replaced by an ellipsis.
func withoutAddresses(text, target string) string {
	if target != "" {
		text = strings.ReplaceAll(text, target, "…")
	}
	return mailAddress.ReplaceAllString(text, "…")
}
