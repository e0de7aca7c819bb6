package dashboard

import (
	"net/http"
	"strings"
	"time"

	"github.com/allswell/allswell"
)

// subscribersStep is the number of subscribers that an export reads at a time.
const subscribersStep = 500

// exportSubscribers answers with all subscribers of a page as CSV, as `allswell subscriber export` prints them.
func (v *visit) exportSubscribers() error {
	slug := v.r.PathValue("page")
	subscribers, more, err := v.store.SubscribersBefore(v.r.Context(), v.actor(), slug, "", subscribersStep)
	if err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	v.w.Header().Set("Content-Disposition", `attachment; filename="subscribers-`+slug+`.csv"`)
	if v.r.Method == http.MethodHead {
		return nil
	}
	if err := v.store.AuditSubscriberExport(v.r.Context(), v.actor(), slug); err != nil {
		return err
	}
	controller := http.NewResponseController(v.w)
	controller.SetReadDeadline(time.Time{}) // net/http cancels the request when it expires; an error means that there is none
	for rows := [][]string{allswell.SubscriberCSVHeader}; ; rows = nil {
		for _, s := range subscribers {
			rows = append(rows, []string{s.Target, string(s.Channel), string(s.State()), strings.Join(s.Components, " "),
				timeCell(s.CreatedAt), timeCell(s.ConfirmedAt), timeCell(s.SuspendedAt), s.SuspendedFor})
		}
		if _, err := v.w.Write(csvOf(rows)); err != nil || !more {
			return nil // a client that has gone away needs no answer
		}
		controller.SetWriteDeadline(time.Now().Add(time.Minute)) // for the next step; an error means that there is none
		if subscribers, more, err = v.store.SubscribersBefore(v.r.Context(), v.actor(), slug, subscribers[len(subscribers)-1].ID, subscribersStep); err != nil {
			v.log.WarnContext(v.r.Context(), "exporting subscribers failed", "error", err)
			panic(http.ErrAbortHandler)
		}
	}
}

// timeCell returns a time for a cell of CSV, or "" for the zero time.
func timeCell(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return allswell.FormatTime(t)
}
