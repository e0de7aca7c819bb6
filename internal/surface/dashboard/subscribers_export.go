package dashboard

import (
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// exportSubscribers answers with all subscribers of a page as CSV, as `allswell subscriber export` prints them.
func (v *visit) exportSubscribers() error {
	slug := v.r.PathValue("page")
	return sendCSV(v, csvExport[audience.Subscriber]{
		name: "subscribers", file: "subscribers-" + slug + ".csv",
		header: audience.SubscriberCSVHeader,
		row: func(s audience.Subscriber) []string {
			return []string{s.Target, string(s.Channel), string(s.State()), strings.Join(s.Components, " "),
				timeCell(s.CreatedAt), timeCell(s.ConfirmedAt), timeCell(s.SuspendedAt), s.SuspendedFor,
				s.Consent, s.ConsentBy, strconv.FormatBool(s.Warnings)}
		},
		id: func(s audience.Subscriber) string { return s.ID },
		read: func(before string) ([]audience.Subscriber, bool, error) {
			return v.store.SubscribersBefore(v.r.Context(), v.actor(), slug, before, exportStep)
		},
		begin: func() error { return v.store.AuditSubscriberExport(v.r.Context(), v.actor(), slug) },
	})
}

// timeCell returns a time for a cell of CSV, or "" for the zero time.
func timeCell(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return kernel.FormatTime(t)
}
