package alertchannel

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// smsGateway is a channel that can send an SMS to any number.
type smsGateway interface {
	// text sends a text to a number, and returns the gateway's answer, or the result of the attempt if there is no
	// answer.
	text(ctx context.Context, s *Sender, to, text string) (answer, *Result)

	// read returns the outcome that the body of an answer states. If ok is false, the HTTP status decides.
	read(a answer) (o audience.SendOutcome, ok bool)
}

// SMS makes one attempt to send an SMS to a subscriber's number, and returns its outcome within 20 seconds. The channel
// has one of the alert.SMSTypes, and its secrets. audience.SendServerUnavailable means that nothing was sent. An error
// of the channel or the gateway is never a rejection by the subscriber. Reasons contain neither the number nor the
// gateway's message, which may quote it.
func (s *Sender) SMS(ctx context.Context, c alert.Channel, to, text string) audience.SendOutcome {
	t, ok := TypeOf(c.Type)
	if !ok {
		return gatewayFails("Channels of the type " + c.Type + " are not supported by this version.")
	}
	channel := t.New()
	gateway, ok := channel.(smsGateway)
	if !ok {
		return gatewayFails("Channels of the type " + c.Type + " cannot send SMS.")
	}
	if err := configfield.Configure(channel, c.Config, c.Secrets); err != nil {
		return gatewayFails("The configuration of the SMS channel is no longer valid.")
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		connected.Store(true)
	}})
	a, bad := gateway.text(ctx, s, to, text)
	switch {
	case bad != nil && bad.Result == audience.SendUndeliverable:
		return gatewayFails("The request to the SMS gateway is not valid.")
	case bad != nil && bad.Result == audience.SendFailed && !connected.Load(): // nothing was sent
		bad.Result = audience.SendServerUnavailable
		fallthrough
	case bad != nil:
		return bad.clean(secretsOf(c, alert.Message{})).SendOutcome
	}
	if o, ok := gateway.read(a); ok {
		return o
	}
	return a.smsOutcome()
}

// smsOutcome returns the outcome that the HTTP status of an answer means.
func (a answer) smsOutcome() audience.SendOutcome {
	reason := fmt.Sprintf("The SMS gateway answered %d.", a.status)
	o := audience.SendOutcome{Result: audience.SendFailed, Reason: reason, Detail: reason}
	switch {
	case a.status >= 200 && a.status <= 299:
		return audience.SendOutcome{Result: audience.SendAccepted}
	case a.status >= 500:
		o.Unreachable = true // the message may have been sent, so this counts as an attempt
	case a.status <= 399, slices.Contains(gatewayStatuses, a.status):
		o = gatewayFails(reason)
	}
	o.RetryAfter = a.retryAfter(time.Now())
	return o
}

// gatewayStatuses are the 4xx statuses that concern the gateway or the account with it, and not the message.
var gatewayStatuses = []int{
	http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusProxyAuthRequired, http.StatusRequestTimeout,
	http.StatusTooEarly, http.StatusTooManyRequests,
}

// gatewayFails returns the outcome of a gateway that cannot send to any number at the moment.
func gatewayFails(reason string) audience.SendOutcome {
	return audience.SendOutcome{
		Result: audience.SendServerUnavailable, Reason: reason, Detail: reason, Unreachable: true,
	}
}

// twilioStopped is Twilio's error code for a number whose owner has replied STOP:
// https://www.twilio.com/docs/api/errors.
const twilioStopped = 21610

// twilioInvalid are Twilio's error codes for numbers that cannot receive SMS.
var twilioInvalid = []int{
	21211, // not a valid number
	21214, // cannot be reached
	21217, // not a phone number
	21614, // not a mobile number
	21635, // a landline
}

// twilioAnswer is the JSON of Twilio's answers: a message, or an error with its code.
type twilioAnswer struct {
	SID    string `json:"sid"`
	Status any    `json:"status"` // a word for a message, the HTTP status for an error
	Code   int    `json:"code"`
}

func (c *twilio) read(a answer) (o audience.SendOutcome, ok bool) {
	var body twilioAnswer
	readable := a.decode(&body)
	switch accepted := body.SID != "" && body.Status != "failed" && body.Status != "undelivered"; {
	case a.status >= 200 && a.status <= 299 && !(readable && accepted):
		reason := fmt.Sprintf("Twilio answered %d, but did not accept the message.", a.status)
		return audience.SendOutcome{Result: audience.SendFailed, Reason: reason, Detail: reason}, true
	case a.status != http.StatusBadRequest || body.Code == 0:
		return o, false
	case body.Code == twilioStopped:
		return audience.SendOutcome{Result: audience.SendGone, Reason: "The owner of the number has replied STOP."},
			true
	case slices.Contains(twilioInvalid, body.Code):
		return audience.SendOutcome{
			Result: audience.SendRejected,
			Reason: fmt.Sprintf("Twilio does not send SMS to this number (error %d).", body.Code),
		}, true
	}
	reason := fmt.Sprintf("Twilio refused the message (error %d).", body.Code)
	return audience.SendOutcome{Result: audience.SendFailed, Reason: reason, Detail: reason}, true
}

// read leaves the outcome to the HTTP status: the bodies of gateways have no common format, and a mistake in the
// configuration must not end subscriptions.
func (c *sms) read(answer) (o audience.SendOutcome, ok bool) { return o, false }
