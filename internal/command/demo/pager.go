package demo

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/allswell/allswell/client"
)

// pager is a web server that receives and prints the alerts of a channel and the SMS of subscribers.
type pager struct {
	url    string
	server *http.Server
}

// smsPath is the path of the pager that takes SMS.
const smsPath = "sms"

// openPager starts the web server. show gets the headline of each alert, and showSMS each SMS.
func openPager(show func(headline string), showSMS func(to, text string)) (*pager, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	handler := http.NewServeMux()
	handler.HandleFunc("POST /"+smsPath, func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, demoMaxMail)
		showSMS(r.PostFormValue("to"), r.PostFormValue("text"))
	})
	handler.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		var message struct{ Headline string }
		if err := json.NewDecoder(io.LimitReader(r.Body, demoMaxMail)).Decode(&message); err != nil {
			http.Error(w, "This is no alert.", http.StatusBadRequest)
			return
		}
		show(message.Headline)
	})
	p := &pager{
		"http://" + listener.Addr().String() + "/",
		&http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second},
	}
	go p.server.Serve(listener) // until close
	return p, nil
}

func (p *pager) close() { p.server.Close() }

// preparePhones creates the channel smsChannel for SMS to subscribers. Pages that are loaded later offer SMS.
func (d *demo) preparePhones() error {
	gateway := client.ChannelFields{"url": d.pager.url + smsPath, "to": "+15550000000"}
	_, err := d.api.CreateChannel(d.Ctx, client.NewChannel{Type: "sms", Name: smsChannel, Fields: gateway})
	return err
}

// prepareAlerts creates a channel, an on-call schedule and a rule that notifies the person on call of outages.
func (d *demo) prepareAlerts() error {
	channel, err := d.api.CreateChannel(d.Ctx, client.NewChannel{
		Type: "webhook", Name: "Pager", Fields: client.ChannelFields{"url": d.pager.url},
	})
	if err != nil {
		return err
	}
	to := []string{channel.ID}
	schedule, err := d.api.CreateOnCall(d.Ctx, client.NewOnCall{
		Name:         "Operations",
		Participants: []client.OnCallParticipant{{Name: "Grace", ChannelIDs: to}, {Name: "Ada", ChannelIDs: to}},
	})
	if err != nil {
		return err
	}
	_, err = d.api.CreateAlertRule(d.Ctx, client.NewAlertRule{
		Name: "Everything that is down", AlertTarget: client.AlertTarget{OnCallIDs: []string{schedule.ID}}, Repeat: 600,
	})
	return err
}

// smsChannel is the name of the channel of subscribers' SMS.
const smsChannel = "Phones"

// texted prints an SMS.
func (d *demo) texted(to, text string) { d.say("SMS to %s: %s", to, text) }

// paged prints an alert.
func (d *demo) paged(headline string) { d.say("The pager of the person on call: %s", headline) }

// acknowledge acknowledges the open alerts of a monitor.
func (d *demo) acknowledge(monitor string) error {
	for a, err := range d.api.ListAlerts(client.AlertFilter{State: "open", Monitor: monitor}).All(d.Ctx) {
		if err != nil {
			return err
		}
		if _, err := d.api.AcknowledgeAlert(d.Ctx, a.ID); err != nil {
			return err
		}
		d.say("A human acknowledges the alert, so no one is notified again: %s/admin/alerts/%s", d.api.BaseURL(), a.ID)
	}
	return nil
}
