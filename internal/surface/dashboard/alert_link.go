package dashboard

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
)

// alertLinkScreen is the data of the template alert_link: the alerts of a message's thread, to everybody who has its
// link.
type alertLinkScreen struct {
	*form
	store.AlertThread
	Key  string
	Open int   // alerts that can be acknowledged
	More int   // alerts that are not listed
	Name field // of the person; unless one is signed in
}

// showAlertLink shows the alerts of a link. Opening it changes nothing, because programs that check links open it, too.
func (v *visit) showAlertLink() error {
	return v.showAlertLinkForm(http.StatusOK, newForm(v.r.URL.Query()), v.r.URL.Query().Get("key"))
}

func (v *visit) showAlertLinkForm(status int, f *form, key string) error {
	s := &alertLinkScreen{form: f, Key: key}
	var err error
	if s.AlertThread, err = v.store.AlertThread(v.r.Context(), key); err != nil {
		return v.alertLinkError(err)
	}
	for _, a := range s.Alerts {
		if a.State() == alert.Open {
			s.Open++
		}
	}
	s.More = s.Total - len(s.Alerts)
	if v.in.ID == "" {
		s.Name = s.draw(field{
			Name: "name", Label: "Your name", Hint: "Others see who acknowledged it.", Optional: true,
			Autocomplete: "name",
		})
	}
	return v.show(status, "alert_link", "Alert", s)
}

// acknowledgeAlertLink acknowledges the alerts of a link.
func (v *visit) acknowledgeAlertLink() error {
	f, key := newForm(v.r.PostForm), v.r.PostForm.Get("key")
	actor := v.actor()
	if v.in.ID == "" {
		actor.Kind, actor.Name = kernel.ActorLink, kernel.OneLine(v.r.PostForm.Get("name"))
		var bad kernel.ValidationError
		kernel.CheckLength(&bad, "name", actor.Name, kernel.MaxNameLength)
		if f.refused(bad.Err()) {
			return v.showAlertLinkForm(http.StatusUnprocessableEntity, f, key)
		}
	}
	if _, err := v.store.AcknowledgeThread(v.r.Context(), key, actor); err != nil {
		return v.alertLinkError(err)
	}
	return v.redirect(alert.LinkPath + "?" + url.Values{"key": {key}}.Encode())
}

// alertLinkError counts a link that is not valid as an attempt to guess one.
func (v *visit) alertLinkError(err error) error {
	if !errors.Is(err, kernel.ErrNotFound) {
		return err
	}
	if err := v.attempt(attempter{}); err != nil {
		return err
	}
	return errOldAlert
}

// errOldAlert means that the link of an alert is not valid, or its alerts were deleted.
var errOldAlert = errors.New("the link of the alert is not valid")
