package alertchannel

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/configfield"
)

// smsGateway is a channel that can send an SMS to any number.
type smsGateway interface {
	text(ctx context.Context, s *Sender, to, text string) (answer, *Result)

	// read returns what the body of an answer means for the delivery. ok is false if the status says everything.
	read(a answer) (o allswell.SendOutcome, ok bool)
}

// SMS makes one attempt to send an SMS to a subscriber's number through a channel of one of the alert.SMSTypes, with its secrets. It takes at most 20
// seconds. What is wrong with the channel or the gateway never counts as a rejection by the subscriber. allswell.SendServerUnavailable means that nothing
// was sent. Reasons contain neither the number
// nor what the gateway says, which may quote it.
func (s *Sender) SMS(ctx context.Context, c alert.Channel, to, text string) allswell.SendOutcome {
	t, ok := TypeOf(c.Type)
	if !ok {
		return gatewayFails("This version knows no channels of the type " + c.Type + ".")
	}
	channel := t.New()
	gateway, ok := channel.(smsGateway)
	if !ok {
		return gatewayFails("A channel of the type " + c.Type + " sends no SMS.")
	}
	if err := configfield.Configure(channel, c.Config, c.Secrets); err != nil {
		return gatewayFails("The configuration of the channel that sends SMS is not valid any more.")
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	a, bad := gateway.text(ctx, s, to, text)
	switch {
	case bad != nil && bad.Result == allswell.SendUndeliverable:
		return gatewayFails("The request to the SMS gateway cannot be made.")
	case bad != nil && bad.Result == allswell.SendFailed && !connected.Load(): // nothing was sent
		bad.Result = allswell.SendServerUnavailable
		return bad.SendOutcome
	case bad != nil:
		return bad.SendOutcome
	}
	if o, ok := gateway.read(a); ok {
		return o
	}
	return a.smsOutcome()
}

// smsOutcome returns what the status of an answer means for the delivery.
func (a answer) smsOutcome() allswell.SendOutcome {
	reason := fmt.Sprintf("The SMS gateway answered %d.", a.status)
	o := allswell.SendOutcome{Result: allswell.SendFailed, Reason: reason, Detail: reason}
	switch {
	case a.status >= 200 && a.status <= 299:
		return allswell.SendOutcome{Result: allswell.SendAccepted}
	case a.status >= 500:
		o.Unreachable = true // the message may have been sent, so this counts as an attempt
	case a.status <= 399, slices.Contains(gatewayStatuses, a.status):
		o = gatewayFails(reason)
	}
	o.RetryAfter = a.retryAfter(time.Now())
	return o
}

// gatewayStatuses are about the gateway or its account, and not about a message.
var gatewayStatuses = []int{
	http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests,
}

// gatewayFails returns the outcome if no message can be sent at the moment, whatever its number.
func gatewayFails(reason string) allswell.SendOutcome {
	return allswell.SendOutcome{Result: allswell.SendServerUnavailable, Reason: reason, Detail: reason, Unreachable: true}
}

// The codes of Twilio's errors that are about a number: https://www.twilio.com/docs/api/errors.
const twilioStopped = 21610 // its owner has replied STOP

var twilioInvalid = []int{
	21211, // invalid
	21214, // cannot be reached
	21217, // not a telephone number
	21614, // no mobile number
	21635, // a landline
}

// twilioAnswer is the JSON of Twilio's answers: a message, or an error with its code.
type twilioAnswer struct {
	SID    string `json:"sid"`
	Status any    `json:"status"` // of a message a word, of an error the HTTP status
	Code   int    `json:"code"`
}

func (c *twilio) read(a answer) (o allswell.SendOutcome, ok bool) {
	var told twilioAnswer
	readable := a.decode(&told)
	switch taken := told.SID != "" && told.Status != "failed" && told.Status != "undelivered"; {
	case a.status >= 200 && a.status <= 299 && !(readable && taken):
		reason := fmt.Sprintf("Twilio answered %d, but not that it took the message.", a.status)
		return allswell.SendOutcome{Result: allswell.SendFailed, Reason: reason, Detail: reason}, true
	case a.status != http.StatusBadRequest || told.Code == 0:
		return o, false
	case told.Code == twilioStopped:
		return allswell.SendOutcome{Result: allswell.SendGone, Reason: "The owner of the number has replied STOP."}, true
	case slices.Contains(twilioInvalid, told.Code):
		return allswell.SendOutcome{Result: allswell.SendRejected, Reason: fmt.Sprintf("Twilio sends no SMS to the number (error %d).", told.Code)}, true
	}
	reason := fmt.Sprintf("Twilio refused the message (error %d).", told.Code)
	return allswell.SendOutcome{Result: allswell.SendFailed, Reason: reason, Detail: reason}, true
}

// read never has a verdict: gateways use their answers in different ways, also for mistakes in the configuration, which must not end subscriptions.
func (c *sms) read(answer) (o allswell.SendOutcome, ok bool) { return o, false }
