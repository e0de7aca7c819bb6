package browser

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // looks up the keys that mails would have carried

	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/binary"
)

// TestSubscriptionInABrowser subscribes, confirms, chooses and leaves on every
// view, by the buttons alone.
func TestSubscriptionInABrowser(t *testing.T) {
	t.Parallel()
	c := newBrowser(t)
	database := storetest.SQLite(t)
	server := binary.NewServer(t, program(t),
		"ALLSWELL_DATABASE="+database, "ALLSWELL_BOOTSTRAP_TOKEN="+token,
		"ALLSWELL_SMTP_URL=smtp://127.0.0.1:1", "ALLSWELL_MAIL_FROM=status@example.com") // nobody is there
	server.Start()
	page := server.URL + fill(t, binary.NewClient(server.URL, token))["page"]
	p := c.open(t, someViews[0], "about:blank")
	for _, v := range someViews {
		t.Run(v.name, func(t *testing.T) {
			address := "name-" + v.name + "@example.com"
			p.visit(t, v, page)
			const panel = `document.querySelector("header .subscribe")`
			p.is(panel+`.checkVisibility()`, `!`+panel+`.open`)
			eval[any](p, panel+`.querySelector("summary").click()`)
			p.is(panel+`.querySelector("#email").checkVisibility()`,
				panel+`.querySelector("[type='text/calendar']").checkVisibility()`)
			look(p, v, "subscribe-panel")
			p.press(".subscribe .panel p > a", "Subscribe")
			eval[any](p, `document.querySelector("main details").open = true`)
			look(p, v, "subscribe")
			eval[any](p, `document.querySelectorAll("[name=component]")[1].click()`)
			eval[any](p, `document.querySelector("#email").value = "`+address+`"`)
			p.press("main .button", "Check your email")
			look(p, v, "subscribe-sent")

			key := keyOf(t, database, address)
			p.load(t, page+"/subscription/"+key)
			look(p, v, "subscription-asked")
			p.press("[value=confirm]", "Your subscription")
			look(p, v, "subscription-confirmed")
			eval[any](p, `document.querySelector("[name=scope][value=page]").click()`)
			p.press("[value=save]", "Your subscription")
			got := eval[string](p, `document.querySelector("[role=status]").innerText`)
			if got != "Your choice is saved." {
				t.Errorf("after saving: %q", got)
			}
			look(p, v, "subscription-saved")

			p.load(t, page+"/unsubscribe/"+key)
			look(p, v, "unsubscribe")
			p.press("main .button", "You are unsubscribed")
			look(p, v, "unsubscribed")

			p.load(t, page+"/subscribe")
			eval[any](p, `document.querySelector("#channel").value = "slack"`)
			eval[any](p,
				`document.querySelector("#url").value = "https://hooks.slack.com/services/T000/B000/`+v.name+
					`abcdefgh"`)
			p.press("section .button", "Enter the code")
			look(p, v, "subscribe-code")
		})
	}
}

// press clicks a button and waits for the page that it leads to, which has the
// given first heading.
func (p *tab) press(button, heading string) {
	p.t.Helper()
	eval[any](p, `document.querySelector("`+button+`").click()`)
	select {
	case <-p.loaded:
	case <-time.After(browserTimeout):
		p.t.Fatalf("nothing has loaded %v after %s was pressed", browserTimeout, button)
	}
	if got := eval[string](p, `document.querySelector("h1").innerText`); got != heading {
		p.t.Fatalf("%s leads to %q", button, got)
	}
}

// keyOf returns the key of the subscription of an address, which is made a moment
// after it was asked for.
func keyOf(t *testing.T, database, address string) (key string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(database, "sqlite:")+"?_query_only=1&_busy_timeout=5000")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for deadline := time.Now().Add(20 * time.Second); ; {
		err := db.QueryRowContext(t.Context(), `SELECT key FROM subscribers WHERE target = ?`, address).Scan(&key)
		if err == nil {
			return key
		}
		if !errors.Is(err, sql.ErrNoRows) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
