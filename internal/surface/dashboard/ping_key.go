package dashboard

import (
	"net/http"
	"net/url"

	"github.com/allswell/allswell/internal/domain/monitor"
)

// pingKeyScreen is the data of the template page_ping_key.
type pingKeyScreen struct {
	*form
	pageHead
	Key     monitor.PingKey
	Command string // of a job, with SLUG for the slug of its monitor
	Given   field
}

// showPingKey shows the key with which jobs ping the monitors of a page.
func (v *visit) showPingKey() error {
	h, err := v.pageHead()
	if err != nil {
		return err
	}
	return v.showPingKeyForm(http.StatusOK, &pingKeyScreen{form: newForm(url.Values{}), pageHead: h})
}

// showPingKeyForm shows the screen. s has the form and the head.
func (v *visit) showPingKeyForm(status int, s *pingKeyScreen) (err error) {
	if s.Key, err = v.store.PingKey(v.r.Context(), v.actor(), s.Page.Slug); err != nil {
		return err
	}
	address := v.base + "/api/v1/heartbeat/" + monitor.SlugAddress(s.Key.Key, "SLUG")
	if s.Key.Access == monitor.PingAccessReadWrite {
		address = "'" + address + "?create=1&interval=25h'"
	}
	s.Command = monitor.PingCommand(address)
	s.Given = s.draw(field{
		Name: "key", Label: "Key of another service", Optional: true, Autocomplete: "off",
		Hint: "To keep the URLs of its jobs: 22 letters, digits, hyphens and underscores. Otherwise a random key is " +
			"made.",
	})
	return v.show(status, "page_ping_key", s.Page.Name+": ping key", s)
}

// changePingKey makes, changes, rotates or removes the ping key of a page: the button says which.
func (v *visit) changePingKey() error {
	h, err := v.pageHead()
	if err != nil {
		return err
	}
	s := &pingKeyScreen{form: newForm(v.r.PostForm), pageHead: h}
	switch access := monitor.PingAccess(s.Value("change")); access {
	case "rotate":
		_, err = v.store.RotatePingKey(v.r.Context(), v.actor(), h.Page.Slug)
	case monitor.PingAccessOff, monitor.PingAccessPingOnly, monitor.PingAccessReadWrite:
		ch := monitor.PingKeyChange{Access: &access}
		if key := s.Value("key"); key != "" {
			ch.Key = &key
		}
		_, err = v.store.ChangePingKey(v.r.Context(), v.actor(), h.Page.Slug, ch)
	default:
		return errNotFound
	}
	switch {
	case s.refused(err):
		return v.showPingKeyForm(http.StatusUnprocessableEntity, s)
	case err != nil:
		return err
	}
	return v.redirect(pagePath(h.Page) + "/ping-key?saved")
}
