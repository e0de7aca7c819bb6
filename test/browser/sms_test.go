package browser

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/binary"
)

// gateway starts an SMS gateway, and returns its URL and the texts that it is given.
func gateway(t *testing.T) (url string, texts chan string) {
	texts = make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		texts <- r.PostFormValue("text")
	}))
	t.Cleanup(server.Close)
	return server.URL, texts
}

// find waits for an SMS, and returns what an expression finds in it.
func find(t *testing.T, texts chan string, expression string) string {
	t.Helper()
	select {
	case text := <-texts:
		found := regexp.MustCompile(expression).FindString(text)
		if found == "" {
			t.Fatalf("the SMS %q", text)
		}
		return found
	case <-time.After(browserTimeout):
		t.Fatal("no SMS is sent")
		return ""
	}
}

// TestSMSInABrowser subscribes a phone on narrow displays: a wrong code, the right one, and the short link that ends
// the subscription.
func TestSMSInABrowser(t *testing.T) {
	t.Parallel()
	c := newBrowser(t)
	url, texts := gateway(t)
	server := binary.NewServer(t, program(t), "ALLSWELL_DATABASE="+storetest.SQLite(t),
		"ALLSWELL_BOOTSTRAP_TOKEN="+token,
		"ALLSWELL_SMS_CHANNEL=Phones", "ALLSWELL_WEBHOOK_ALLOW_PRIVATE=on")
	server.Start()
	client := binary.NewClient(server.URL, token)
	client.Must(t, "POST", "/api/v1/channels",
		params{"type": "sms", "name": "Phones", "to": "+15550000000", "url": url}, nil)
	page := server.URL + fill(t, client)["page"]
	p := c.open(t, views[0], "about:blank")
	for i, v := range views[:2] {
		t.Run(v.name, func(t *testing.T) {
			p.visit(t, v, page+"/subscribe")
			eval[any](p, `document.querySelector("#sms").scrollIntoView()`)
			look(p, v, "subscribe-sms")
			number := []string{"+4915112345678", "+4915187654321"}[i]
			eval[any](p, `document.querySelector("[name=phone]").value = "`+number+`"`)
			p.press("[aria-labelledby=sms] .button", "Enter the code")
			code := find(t, texts, `[B-Z2-9]{4}-[B-Z2-9]{4}`)
			look(p, v, "sms-code")
			enter := func(code, heading string) {
				t.Helper()
				eval[any](p, `document.querySelector("main [name=code]").value = "`+code+`"`)
				p.press("main form .button", heading)
			}
			enter("BBBB-BBBB", "Enter the code")
			p.is(`document.querySelector("main [name=code]").getAttribute("aria-invalid") === "true"`)
			for _, fault := range faults(p, v) {
				if !strings.Contains(fault, "422") { // the status of the answer
					t.Error(fault)
				}
			}
			p.mu.Lock()
			p.problems = nil
			p.mu.Unlock()
			enter(code, "Your subscription")
			got := eval[string](p, `document.querySelector("[role=status]").innerText`)
			if got != "Thank you. Your subscription is confirmed." {
				t.Errorf("after the code: %q", got)
			}
			look(p, v, "sms-confirmed")
			client.Must(t, "POST", "/api/v1/pages/acme/incidents",
				params{"title": "Cards are refused " + v.name, "impact": "major", "message": "We are looking."}, nil)
			p.load(t, find(t, texts, `http://\S+/u/\w+`))
			look(p, v, "sms-unsubscribe")
			p.press("main .button", "You are unsubscribed")
		})
	}
}
