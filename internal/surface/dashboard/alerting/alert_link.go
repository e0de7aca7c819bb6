package alerting

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// alertLinkScreen is the data of the template alert_link, which shows the alerts of a message's thread to everybody who
// has its link.
type alertLinkScreen struct {
	*frame.Form
	store.AlertThread
	Key  string
	Open int         // alerts that can be acknowledged
	More int         // alerts that are not listed
	Name frame.Field // of the person; not drawn if a user is signed in
}

// showAlertLink shows the alerts of a link. A GET changes nothing, because programs that check links request it, too.
func (r *request) showAlertLink() error {
	return r.showAlertLinkForm(http.StatusOK, frame.NewForm(r.URL.Query()), r.URL.Query().Get("key"))
}

func (r *request) showAlertLinkForm(status int, f *frame.Form, key string) error {
	s := &alertLinkScreen{Form: f, Key: key}
	var err error
	if s.AlertThread, err = r.Store.AlertThread(r.Context(), key); err != nil {
		return r.alertLinkError(err)
	}
	for _, a := range s.Alerts {
		if a.State() == alert.Open {
			s.Open++
		}
	}
	s.More = s.Total - len(s.Alerts)
	if r.SignedIn.ID == "" {
		s.Name = s.Draw(frame.Field{
			Name: "name", Label: "Your name", Hint: "Shown to your team.", Optional: true,
			Autocomplete: "name",
		})
	}
	return r.Show(status, "alert_link", "Alert", s)
}

// acknowledgeAlertLink acknowledges the alerts of a link.
func (r *request) acknowledgeAlertLink() error {
	f, key := frame.NewForm(r.PostForm), r.PostForm.Get("key")
	actor := r.Actor()
	if r.SignedIn.ID == "" {
		actor.Kind, actor.Name = kernel.ActorLink, kernel.OneLine(r.PostForm.Get("name"))
		var bad kernel.ValidationError
		kernel.CheckLength(&bad, "name", actor.Name, kernel.MaxNameLength)
		if f.Refused(bad.Err()) {
			return r.showAlertLinkForm(http.StatusUnprocessableEntity, f, key)
		}
	}
	if _, err := r.Store.AcknowledgeThread(r.Context(), key, actor); err != nil {
		return r.alertLinkError(err)
	}
	return r.Redirect(alert.LinkPath + "?" + url.Values{"key": {key}}.Encode())
}

// alertLinkError counts an invalid link as an attempt to guess one.
func (r *request) alertLinkError(err error) error {
	if !errors.Is(err, kernel.ErrNotFound) {
		return err
	}
	if err := r.Attempt(frame.Attempter{}); err != nil {
		return err
	}
	return errOldAlert
}

// errOldAlert means that the link of an alert is invalid, or that its alerts were deleted.
var errOldAlert = errors.New("the link of the alert is not valid")
