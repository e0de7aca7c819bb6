package alerter

import (
	"context"
	"net/url"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/store"
)

// confirmations is the maximum number of confirmation mails that are sent at a time.
const confirmations = 4

// confirmAddresses sends the mails that ask for the confirmation of addresses, until ctx ends.
func (a *Alerter) confirmAddresses(ctx, sending context.Context) {
	b := batches[store.AddressConfirmation]{
		size: confirmations, interval: pollInterval, take: a.Store.TakeConfirmations,
		what: "looking for addresses to confirm",
		send: func(c store.AddressConfirmation) { a.askForConfirmation(sending, c) },
	}
	b.run(ctx, a.Logger)
}

// askForConfirmation makes one attempt to send a confirmation mail. A later batch repeats an attempt that failed
// temporarily.
func (a *Alerter) askForConfirmation(ctx context.Context, c store.AddressConfirmation) {
	link := a.BaseURL + alert.ConfirmPath + "?" + url.Values{"code": {c.Code}}.Encode()
	o := a.Sender.Confirmation(ctx, c.Address, a.BaseURL, link)
	if o.Result != audience.SendAccepted {
		a.Logger.Warn("the mail that asks for the confirmation of an address was not sent", "workspace", c.WorkspaceID,
			"reason", o.Reason, "error", o.Detail)
	}
	if o.Result == audience.SendFailed || o.Result == audience.SendNotAttempted ||
		o.Result == audience.SendServerUnavailable {
		return
	}
	if err := a.Store.ConfirmationSent(context.WithoutCancel(ctx), c); err != nil {
		a.Logger.Warn("saving that a confirmation was asked for failed; it may be asked for again", "error", err)
	}
}
