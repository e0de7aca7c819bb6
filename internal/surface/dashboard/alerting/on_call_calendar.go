package alerting

import (
	"errors"
	"io"
	"net/url"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// showOnCallCalendar sends the calendar feed of an on-call schedule to programs that know its key.
func (r *request) showOnCallCalendar() error {
	o, err := r.Store.OnCallCalendar(r.Context(), r.URL.Query().Get("key"))
	if errors.Is(err, kernel.ErrNotFound) {
		if err := r.Attempt(frame.Attempter{}); err != nil {
			return err
		}
		return kernel.ErrNotFound
	}
	if err != nil {
		return err
	}
	host := r.Host
	if u, err := url.Parse(r.Base); err == nil && u.Host != "" {
		host = u.Host
	}
	r.W.Header().Set("Content-Type", "text/calendar; charset=utf-8")
	r.W.Header().Set("Cache-Control", "private, max-age=300")
	_, err = io.WriteString(r.W, o.Calendar(host, r.Now()))
	return err
}
