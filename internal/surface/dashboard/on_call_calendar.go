package dashboard

import (
	"errors"
	"io"
	"net/url"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// showOnCallCalendar sends the calendar feed of an on-call schedule to programs that know its key.
func (v *visit) showOnCallCalendar() error {
	o, err := v.store.OnCallCalendar(v.r.Context(), v.r.URL.Query().Get("key"))
	if errors.Is(err, kernel.ErrNotFound) {
		if err := v.attempt(attempter{}); err != nil {
			return err
		}
		return errNotFound
	}
	if err != nil {
		return err
	}
	host := v.r.Host
	if u, err := url.Parse(v.base); err == nil && u.Host != "" {
		host = u.Host
	}
	v.w.Header().Set("Content-Type", "text/calendar; charset=utf-8")
	v.w.Header().Set("Cache-Control", "private, max-age=300")
	_, err = io.WriteString(v.w, o.Calendar(host, v.now()))
	return err
}
