package subscribers

import (
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// exportSubscribers answers with all subscribers of a page as CSV, in the format of `allswell subscriber export`.
func (r *request) exportSubscribers() error {
	slug := r.PathValue("page")
	return frame.SendCSV(r.Request, frame.CSVExport[audience.Subscriber]{
		Name: "subscribers", File: "subscribers-" + slug + ".csv",
		Header: audience.SubscriberCSVHeader,
		Row: func(s audience.Subscriber) []string {
			return []string{s.Target, string(s.Channel), string(s.State()), strings.Join(s.Components, " "),
				timeCell(s.CreatedAt), timeCell(s.ConfirmedAt), timeCell(s.SuspendedAt), s.SuspendedFor,
				s.Consent, s.ConsentBy, strconv.FormatBool(s.Warnings)}
		},
		ID: func(s audience.Subscriber) string { return s.ID },
		Read: func(before string) ([]audience.Subscriber, bool, error) {
			return r.Store.SubscribersBefore(r.Context(), r.Actor(), slug, before, frame.ExportStep)
		},
		Begin: func() error { return r.Store.AuditSubscriberExport(r.Context(), r.Actor(), slug) },
	})
}

// timeCell returns a time for a cell of CSV, or "" for the zero time.
func timeCell(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return kernel.FormatTime(t)
}
