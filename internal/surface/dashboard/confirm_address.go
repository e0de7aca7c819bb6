package dashboard

import (
	"errors"
	"net/http"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
)

// confirmAddressScreen is the data of the template confirm_address: what the mail to the address of a channel asks.
type confirmAddressScreen struct {
	*form
	store.AddressConfirmation
	Done bool
}

// showConfirmAddress asks whether an address may be sent alerts. Opening the link changes nothing, because programs
// that check mail open it, too.
func (v *visit) showConfirmAddress() error {
	f := newForm(v.r.URL.Query())
	a, err := v.store.FindConfirmation(v.r.Context(), f.Value("code"))
	if err != nil {
		return v.confirmAddressError(err)
	}
	return v.show(http.StatusOK, "confirm_address", "Confirm your address", &confirmAddressScreen{f, a, false})
}

// confirmAddress confirms the address of a mail.
func (v *visit) confirmAddress() error {
	f := newForm(v.r.PostForm)
	a, err := v.store.ConfirmAddress(v.r.Context(), f.Value("code"), v.browser().Address)
	if err != nil {
		return v.confirmAddressError(err)
	}
	return v.show(http.StatusOK, "confirm_address", "Your address is confirmed", &confirmAddressScreen{f, a, true})
}

// confirmAddressError counts a link that is not valid as an attempt to guess one.
func (v *visit) confirmAddressError(err error) error {
	if !errors.Is(err, kernel.ErrNotFound) {
		return err
	}
	if err := v.attempt(attempter{}); err != nil {
		return err
	}
	return errBadCode
}
