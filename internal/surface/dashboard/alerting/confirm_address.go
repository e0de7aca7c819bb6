package alerting

import (
	"errors"
	"net/http"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// confirmAddressScreen is the data of the template confirm_address, to which the mail to a channel's address links.
type confirmAddressScreen struct {
	*frame.Form
	store.AddressConfirmation
	Done bool
}

// showConfirmAddress asks whether alerts may be sent to an address. A GET changes nothing, because programs that check
// mail request links, too.
func (r *request) showConfirmAddress() error {
	f := frame.NewForm(r.URL.Query())
	a, err := r.Store.FindConfirmation(r.Context(), f.Value("code"))
	if err != nil {
		return r.confirmAddressError(err)
	}
	return r.Show(http.StatusOK, "confirm_address", "Confirm your address", &confirmAddressScreen{f, a, false})
}

// confirmAddress confirms the address of a mail.
func (r *request) confirmAddress() error {
	f := frame.NewForm(r.PostForm)
	a, err := r.Store.ConfirmAddress(r.Context(), f.Value("code"), r.Browser().Address)
	if err != nil {
		return r.confirmAddressError(err)
	}
	return r.Show(http.StatusOK, "confirm_address", "Your address is confirmed", &confirmAddressScreen{f, a, true})
}

// confirmAddressError counts an invalid link as an attempt to guess one.
func (r *request) confirmAddressError(err error) error {
	if !errors.Is(err, kernel.ErrNotFound) {
		return err
	}
	if err := r.Attempt(frame.Attempter{}); err != nil {
		return err
	}
	return errBadConfirmation
}
