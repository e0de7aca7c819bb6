package alert

import (
	"encoding/json"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// EmailType is the type of channels that send mail through the mail server of this service.
const EmailType = "email"

// Limits of mails that ask for the confirmation of an address: see Channel.UnconfirmedAddress.
const (
	MaxConfirmationsPerDay = 20             // of a workspace
	ConfirmationInterval   = time.Hour      // between two mails to an address
	ConfirmationLifetime   = 48 * time.Hour // of the link in a mail
	ConfirmationAttempts   = 3              // to send a mail
	ConfirmationRetry      = 5 * time.Minute
)

// ConfirmPath is the path of the screen that confirms an address. Its query has the code of the mail.
const ConfirmPath = "/admin/confirm-address"

// Address returns the email address to which the channel sends through the mail server of this service, in the form in
// which addresses are compared; "": it does not.
func (c Channel) Address() string {
	var config struct {
		To string `json:"to"`
	}
	if c.Type != EmailType || json.Unmarshal(c.Config, &config) != nil {
		return ""
	}
	return kernel.NormalizeEmail(config.To)
}

// UnconfirmedAddress returns the address of the channel if nobody has confirmed that it may be sent alerts of the
// workspace; otherwise "". Until then nothing else is sent to the channel.
func (c Channel) UnconfirmedAddress() string {
	if c.AddressConfirmed {
		return ""
	}
	return c.Address()
}
