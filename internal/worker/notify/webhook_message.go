package notify

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/optional"
)

// webhookConfirmation is the type of the message that asks the receiver to confirm a subscription.
const webhookConfirmation = "subscription.confirm"

// confirmationAttempts is the maximum number of attempts to send a request for confirmation. Nobody has
// confirmed yet that messages are wanted, so there are few.
const confirmationAttempts = 3

// webhookMessage is the JSON in docs/webhooks.md. All types of messages have the same members; members that do not
// apply are null.
type webhookMessage struct {
	Type      statuspage.EventKind `json:"type"`      // or webhookConfirmation
	Timestamp string               `json:"timestamp"` // of the event
	Data      webhookData          `json:"data"`
}

// webhookTest is the type of test messages.
const webhookTest statuspage.EventKind = "test"

type webhookData struct {
	Page        webhookPage         `json:"page"`
	Incident    *webhookIncident    `json:"incident"`
	Maintenance *webhookMaintenance `json:"maintenance"`
	Update      *webhookUpdate      `json:"update"`
	Postmortem  *webhookPostmortem  `json:"postmortem"`
	Component   *webhookComponent   `json:"component"`
	MonitorID   *string             `json:"monitor_id"`
	Monitor     *webhookMonitor     `json:"monitor"` // of a warning
	Warning     *webhookWarning     `json:"warning"`

	Subscription *webhookSubscription `json:"subscription"` // null: an operator added the webhook
}

// webhookSubscription has the links of a subscription that a visitor added.
type webhookSubscription struct {
	ConfirmURL     *string `json:"confirm_url"` // null: it is confirmed
	URL            string  `json:"url"`         // to change the subscription
	UnsubscribeURL string  `json:"unsubscribe_url"`
}

type webhookPage struct {
	Slug string  `json:"slug"`
	Name string  `json:"name"`
	URL  *string `json:"url"`
}

type webhookIncident struct {
	ID         string                   `json:"id"`
	Title      string                   `json:"title"`
	Impact     kernel.Impact            `json:"impact"`
	State      statuspage.IncidentState `json:"state"`
	Resolved   bool                     `json:"resolved"`
	URL        *string                  `json:"url"`
	Components []webhookAffected        `json:"components"`
}

type webhookAffected struct {
	ID     string        `json:"id"`
	Name   string        `json:"name"`
	Status kernel.Status `json:"status"`
}

type webhookMaintenance struct {
	ID             string                      `json:"id"`
	Title          string                      `json:"title"`
	State          statuspage.MaintenanceState `json:"state"`
	ScheduledFor   string                      `json:"scheduled_for"`
	ScheduledUntil string                      `json:"scheduled_until"`
	URL            *string                     `json:"url"`
	Components     []webhookNamed              `json:"components"`
}

type webhookNamed struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type webhookUpdate struct {
	ID      string `json:"id"`
	Message string `json:"message"` // Markdown source
}

type webhookPostmortem struct {
	Body string `json:"body"` // Markdown source
}

type webhookComponent struct {
	ID        string        `json:"id"`
	Name      string        `json:"name"`
	OldStatus kernel.Status `json:"old_status"`
	Status    kernel.Status `json:"status"`
}

type webhookMonitor struct {
	ID   string  `json:"id"`
	Name string  `json:"name"`
	Slug string  `json:"slug"`
	URL  *string `json:"url"` // in the dashboard
}

type webhookWarning struct {
	ID        string            `json:"id"`
	Condition monitor.Condition `json:"condition"`
	Message   string            `json:"message"` // in English
	RunID     *string           `json:"run_id"`
	WarnedAt  string            `json:"warned_at"`
	EndedAt   *string           `json:"ended_at"`
}

// webhookBody returns the JSON of the last event of n, of the request for confirmation, or of the test message. base is
// the address of this service without a trailing slash. If it is "", the URLs of a page without a domain are null. It
// returns an error if the type of the event has no documented JSON.
func webhookBody(n audience.Notification, base string) ([]byte, error) {
	page := pageURL(n.Page, base)
	data := webhookData{
		Page:         webhookPage{Slug: n.Page.Slug, Name: n.Page.Name, URL: optional.Ptr(page)},
		Subscription: webhookSubscriptionOf(n, base),
	}
	switch n.Delivery.Purpose {
	case audience.PurposeTest:
		return json.Marshal(webhookMessage{
			Type: webhookTest, Timestamp: kernel.FormatTime(n.Delivery.CreatedAt), Data: data,
		})
	case audience.PurposeConfirmation:
		return json.Marshal(webhookMessage{
			Type: webhookConfirmation, Timestamp: kernel.FormatTime(n.Delivery.HappenedAt), Data: data,
		})
	}
	if len(n.Events) == 0 {
		return nil, errors.New("the notification has no event")
	}
	e := n.Events[len(n.Events)-1]
	data.MonitorID = optional.Ptr(e.MonitorID)
	switch e.Kind {
	case statuspage.EventIncidentCreated, statuspage.EventIncidentUpdated, statuspage.EventIncidentResolved:
		data.Incident = webhookIncidentOf(e, page)
	case statuspage.EventIncidentPostmortem:
		data.Incident = webhookIncidentOf(e, page)
		data.Postmortem = &webhookPostmortem{e.Data.Message}
	case statuspage.EventMaintenanceScheduled, statuspage.EventMaintenanceReminder, statuspage.EventMaintenanceBegun,
		statuspage.EventMaintenanceUpdated, statuspage.EventMaintenanceEnded, statuspage.EventMaintenanceCancelled:
		data.Maintenance = webhookMaintenanceOf(e, page)
	case statuspage.EventComponentStatusChanged:
		data.Component = &webhookComponent{
			ID: e.ComponentID, Name: e.Data.Component, OldStatus: e.Data.OldStatus, Status: e.Data.NewStatus,
		}
	case statuspage.EventMonitorWarning, statuspage.EventMonitorWarningEnded:
		data.Monitor, data.Warning = webhookWarningOf(e, base)
	default:
		return nil, fmt.Errorf("a webhook does not know the event %q", e.Kind)
	}
	if e.UpdateID != "" {
		data.Update = &webhookUpdate{ID: e.UpdateID, Message: e.Data.Message}
	}
	return json.Marshal(webhookMessage{Type: e.Kind, Timestamp: kernel.FormatTime(e.CreatedAt), Data: data})
}

// webhookSubscriptionOf returns the links of a subscription that a visitor added, and nil for one of an operator.
func webhookSubscriptionOf(n audience.Notification, base string) *webhookSubscription {
	if n.Subscriber.AddedByOperator {
		return nil
	}
	s := new(webhookSubscription)
	s.URL, s.UnsubscribeURL = subscriptionLinks(n, base)
	if n.Subscriber.ConfirmedAt.IsZero() {
		s.ConfirmURL = &s.URL
	}
	return s
}

// webhookIncidentOf returns the incident as of the event, below the page's URL. Once it is
// resolved, its components are operational.
func webhookIncidentOf(e audience.Event, page string) *webhookIncident {
	i := &webhookIncident{
		ID: e.IncidentID, Title: e.Data.Title, Impact: e.Data.Impact, State: e.Data.State,
		Resolved: e.Data.Resolved, URL: webhookLink(page, "/incidents/"+e.IncidentID),
		Components: make([]webhookAffected, len(e.Data.Affected)),
	}
	for n, a := range e.Data.Affected {
		i.Components[n] = webhookAffected{a.ComponentID, a.Name, a.New}
		if isResolved(e) {
			i.Components[n].Status = kernel.StatusOperational
		}
	}
	return i
}

// webhookMaintenanceOf returns the maintenance as of the event, below the page's URL. A
// cancelled maintenance has no URL, because it is deleted.
func webhookMaintenanceOf(e audience.Event, page string) *webhookMaintenance {
	d := e.Data.Maintenance
	m := &webhookMaintenance{
		ID: e.MaintenanceID, Title: e.Data.Title, State: d.State,
		ScheduledFor: kernel.FormatTime(d.ScheduledFor), ScheduledUntil: kernel.FormatTime(d.ScheduledUntil),
		Components: make([]webhookNamed, len(d.Components)),
	}
	if e.Kind != statuspage.EventMaintenanceCancelled {
		m.URL = webhookLink(page, "/maintenances/"+e.MaintenanceID)
	}
	for n, c := range d.Components {
		m.Components[n] = webhookNamed(c)
	}
	return m
}

// webhookWarningOf returns the warning as of the event and its monitor, whose URL is below the base.
func webhookWarningOf(e audience.Event, base string) (*webhookMonitor, *webhookWarning) {
	d := e.Data.Warning
	w := &webhookWarning{
		ID: e.WarningID, Condition: d.Condition, Message: d.Message, RunID: optional.Ptr(d.RunID),
		WarnedAt: kernel.FormatTime(d.WarnedAt),
	}
	if !d.EndedAt.IsZero() {
		w.EndedAt = new(kernel.FormatTime(d.EndedAt))
	}
	return &webhookMonitor{
		ID: e.MonitorID, Name: d.MonitorName, Slug: d.MonitorSlug,
		URL: webhookLink(base, "/admin/monitors/"+e.MonitorID),
	}, w
}

// webhookLink returns a URL below the page's, or nil if that is "".
func webhookLink(page, path string) *string {
	if page == "" {
		return nil
	}
	link := page + path
	return &link
}
