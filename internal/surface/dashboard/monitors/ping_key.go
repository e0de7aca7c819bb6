package monitors

import (
	"net/http"
	"net/url"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// pingKeyScreen is the data of the template page_ping_key.
type pingKeyScreen struct {
	*frame.Form
	frame.PageHead
	Key     monitor.PingKey
	Command string // of a job, with SLUG for the slug of its monitor
	Given   frame.Field
}

// showPingKey shows the key with which jobs ping the monitors of a page.
func (r *request) showPingKey() error {
	h, err := r.PageHead()
	if err != nil {
		return err
	}
	return r.showPingKeyForm(http.StatusOK, &pingKeyScreen{Form: frame.NewForm(url.Values{}), PageHead: h})
}

// showPingKeyForm shows the screen. s has the form and the head.
func (r *request) showPingKeyForm(status int, s *pingKeyScreen) (err error) {
	if s.Key, err = r.Store.PingKey(r.Context(), r.Actor(), s.Page.Slug); err != nil {
		return err
	}
	address := r.Base + "/api/v1/heartbeat/" + monitor.SlugAddress(s.Key.Key, "SLUG")
	if s.Key.Access == monitor.PingAccessReadWrite {
		address = "'" + address + "?create=1&interval=25h'"
	}
	s.Command = monitor.PingCommand(address)
	s.Given = s.Draw(frame.Field{
		Name: "key", Label: "Key of another service", Optional: true, Autocomplete: "off",
		Hint: "To keep the URLs of its jobs: 22 letters, digits, hyphens and underscores. Otherwise a random key is " +
			"made.",
	})
	return r.Show(status, "page_ping_key", s.Page.Name+": ping key", s)
}

// changePingKey creates, changes, rotates or removes the ping key of a page, depending on the button.
func (r *request) changePingKey() error {
	h, err := r.PageHead()
	if err != nil {
		return err
	}
	s := &pingKeyScreen{Form: frame.NewForm(r.PostForm), PageHead: h}
	switch access := monitor.PingAccess(s.Value("change")); access {
	case "rotate":
		_, err = r.Store.RotatePingKey(r.Context(), r.Actor(), h.Page.Slug)
	case monitor.PingAccessOff, monitor.PingAccessPingOnly, monitor.PingAccessReadWrite:
		ch := monitor.PingKeyChange{Access: &access}
		if key := s.Value("key"); key != "" {
			ch.Key = &key
		}
		_, err = r.Store.ChangePingKey(r.Context(), r.Actor(), h.Page.Slug, ch)
	default:
		return kernel.ErrNotFound
	}
	switch {
	case s.Refused(err):
		return r.showPingKeyForm(http.StatusUnprocessableEntity, s)
	case err != nil:
		return err
	}
	return r.Redirect(frame.PagePath(h.Page) + "/ping-key?saved")
}
