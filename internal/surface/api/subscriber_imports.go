package api

import (
	"net/http"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/store"
)

var importRoutes = []route{
	{"POST", "/api/v1/pages/{pageSlug}/subscribers/import", rights.SubscriberChange, (*api).importSubscribers,
		operation{
			id:      "importSubscribers",
			summary: "Subscribe the email addresses of a list to a page.",
			text: "All lines that can be added are added in one transaction; the report says what happened to each " +
				"line. An address that is subscribed already stays as it is, and one whose owner has ended the " +
				"subscription is not added again. With `dry_run` nothing is changed, and the report says what would " +
				"happen.",
			returns: one("SubscriberImport", "What happened to each line."),
		}},
}

// importReportJSON is the result of an import, or of a dry run.
type importReportJSON struct {
	DryRun       bool             `json:"dry_run"`
	Added        int              `json:"added"`
	Subscribed   int              `json:"subscribed"`
	Unsubscribed int              `json:"unsubscribed"`
	Invalid      int              `json:"invalid"`
	Lines        []importLineJSON `json:"lines"`
}

type importLineJSON struct {
	Line   int                   `json:"line"`
	Target string                `json:"target"`
	Result audience.ImportResult `json:"result"`
	Reason *string               `json:"reason"`
}

func newImportReportJSON(r audience.SubscriberImportReport) importReportJSON {
	out := importReportJSON{
		DryRun: r.DryRun, Added: r.Count(audience.ImportAdded), Subscribed: r.Count(audience.ImportSubscribed),
		Unsubscribed: r.Count(audience.ImportUnsubscribed), Invalid: r.Count(audience.ImportInvalid),
		Lines: make([]importLineJSON, len(r.Lines)),
	}
	for i, l := range r.Lines {
		out.Lines[i] = importLineJSON{l.Line, l.Target, l.Result, optional.Ptr(l.Reason)}
	}
	return out
}

// importSubscribers subscribes the email addresses of a list. A dry run changes nothing.
func (a *api) importSubscribers(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	o.Require("csv", "consent")
	n := audience.SubscriberImport{
		CSV: optional.Value(o.Text("csv")), Consent: optional.Value(o.Text("consent")),
		Confirmed: optional.Value(o.Flag("confirmed")), DryRun: optional.Value(o.Flag("dry_run")),
	}
	_, invalid := n.Check()
	if err := o.Check(invalid); err != nil {
		return store.Response{}, err
	}
	r := newResponder(c, http.StatusOK, newImportReportJSON)
	return r.respond(a.store.ImportSubscribers(c.Context(), c.actor(), c.PathValue("pageSlug"), n, r.save...))
}
