package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/binary"
	"github.com/allswell/allswell/test/dnsserver"
)

// operator is somebody who uses the dashboard on a phone with a keyboard alone.
type operator struct {
	*tab
	browser *browser
	setup   string // the link that creates the first account
}

// tasks are what people do, in an order in which each finds what it needs.
var tasks = []struct {
	name string
	do   func(operator)
}{
	{"first start", operator.startsUp},
	{"incident", operator.reportsIncident},
	{"past", operator.recordsPast},
	{"merge", operator.merges},
	{"template", operator.makesTemplate},
	{"maintenance", operator.plansMaintenance},
	{"monitors", operator.managesMonitors},
	{"page", operator.changesPage},
	{"domain", operator.setsDomain},
	{"subscribers", operator.managesSubscribers},
	{"deliveries", operator.sendsAgain},
	{"tokens", operator.managesTokens},
	{"members", operator.invites},
	{"second factor", operator.setsSecondFactor},
	{"audit and backup", operator.exports},
}

// TestDashboardTasksByKeyboard does each task with Tab, Enter, Space and letters, on a phone, in .ci/run in light and
// in dark.
func TestDashboardTasksByKeyboard(t *testing.T) {
	t.Parallel()
	for _, v := range phones {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			dns := dnsserver.New(t)
			dns.Resolve([4]byte{192, 0, 2, 1})
			server := binary.NewServer(t, program(t), "ALLSWELL_DATABASE="+storetest.SQLite(t),
				// nobody is there
				"ALLSWELL_DNS_SERVER="+dns.Address(), "ALLSWELL_SMTP_URL=smtp://127.0.0.1:1",
				"ALLSWELL_MAIL_FROM=status@example.com")
			server.Setenv("ALLSWELL_BASE_URL", server.URL)
			server.Start()
			o := operator{browser: newBrowser(t), setup: linkIn(t, server, "setup-link", "--base-url", server.URL)}
			o.tab = o.browser.open(t, v, "about:blank")
			for _, task := range tasks {
				ok := t.Run(task.name, func(t *testing.T) {
					o.t = t
					task.do(o)
				})
				if !ok {
					break // the next ones need it
				}
			}
			o.t = t
		})
	}
}

func (o operator) startsUp() {
	o.load(o.t, o.setup)
	o.types("name", "Ada Lovelace")
	o.types("email", "ada@example.com")
	o.types("password", "short")
	o.follow("main .button", "Create your account")
	o.eventually(`document.activeElement.name === "password"`)
	o.is(`document.querySelector("[name=name]").value === "Ada Lovelace"`,
		`document.querySelector("#" + `+
			`document.activeElement.getAttribute("aria-describedby")).innerText.includes("at least 12 characters")`)
	o.types("password", goodPassword)
	o.enter("Your first page")
	o.types("name", "Acme")
	o.enter("Components")
	o.types("components", "Website\nAPI")
	o.follow("main .button", "Your first monitor")
	o.types("name", "Nightly backup")
	o.enter("Nightly backup")
	o.ping()
	o.eventually(`document.querySelector("#lead.arrived") !== null`)
}

// reportsIncident opens an incident in three actions, and brings it to its end.
func (o operator) reportsIncident() {
	o.goTo("/admin", "Overview")
	o.follow("main a[href='/admin/incidents/new']", "Report an incident") // the first action
	o.types("title", "Cards are refused")                                 // the second
	o.follow("main button[value=publish]", "Cards are refused")           // the third

	o.types("message", "A provider is down.")
	o.chooses("state", "Ident")
	o.follow("button.plain-button[value=preview]", "Cards are refused")
	o.says("As visitors will see it")
	o.follow("button[value=update]", "Cards are refused")
	o.says("A provider is down.")
	o.follow(".entry-change", "Edit an update")
	o.types("message", "Our provider is down.")
	o.follow("main .button", "Cards are refused")
	o.says("edited")
	o.follow("button[value=resolve]", "Cards are refused")
	o.says("Resolved")

	o.follow("main a[href$=postmortem]", "Post-mortem")
	o.types("body", "Their certificate had expired.")
	o.follow("button.plain-button[value=preview]", "Post-mortem")
	o.says("As visitors will see it")
	o.follow("button[value=publish]", "Cards are refused")
	o.says("Their certificate had expired.")
}

// titlesIncident opens the form of a new incident from the list of incidents, and types its title.
func (o operator) titlesIncident(title string) {
	o.goTo("/admin/incidents", "Incidents")
	o.follow("main a[href='/admin/incidents/new']", "Report an incident")
	o.types("title", title)
}

func (o operator) recordsPast() {
	o.titlesIncident("Backups were missing")
	o.tabTo("main form details > summary")
	o.pressEnter()
	day := time.Now().AddDate(0, 0, -2).Format("01022006")
	o.picks("began_at", day, "1000AM")
	o.picks("resolved_at", day, "1130AM")
	o.follow("main button[value=publish]", "Backups were missing")
	o.says("recorded")
}

func (o operator) merges() {
	for _, title := range []string{"Power failure", "Slow disks"} {
		o.titlesIncident(title)
		o.follow("main button[value=publish]", title)
	}
	o.tabTo("[data-key=merge] > summary")
	o.pressEnter()
	o.chooses("incident_id", "Power")
	o.follow("[data-key=merge] button", "Power failure")
}

func (o operator) makesTemplate() {
	o.goTo("/admin/incidents", "Incidents")
	o.follow("main a[href='/admin/incident-templates']", "Templates")
	o.follow("main a[href='/admin/incident-templates/new']", "New template")
	o.types("name", "Slow")
	o.types("title", "{{component}} is slow")
	o.enter("Templates")
	o.says("{{component}} is slow")
}

func (o operator) plansMaintenance() {
	o.goTo("/admin/maintenances", "Maintenance")
	o.follow("main a[href='/admin/maintenances/new']", "Schedule maintenance")
	o.types("title", "New disks")
	day := time.Now().AddDate(0, 1, 0).Format("01022006")
	o.picks("scheduled_for", day, "1000AM")
	o.picks("scheduled_until", day, "1130AM")
	o.check("main [name=components]")
	o.follow("button[value=publish]", "New disks")
	o.says("Scheduled")
}

func (o operator) managesMonitors() {
	o.goTo("/admin/monitors", "Monitors")
	o.follow("main a[href='/admin/monitors/new']", "New monitor")
	o.types("name", "Order worker")
	o.types("interval", "soon")
	o.enter("New monitor")
	o.eventually(`document.activeElement.name === "interval" && document.activeElement.value === "soon"`)
	o.types("interval", "5m")
	o.enter("Order worker")

	o.goTo("/admin/monitors", "Monitors")
	o.check("main [name=monitor]")
	o.types("tags", "shop")
	o.follow("button[value=add_tags]", "Monitors")
	o.is(`document.querySelectorAll(".tag").length === 1`)
	o.check("main [name=monitor]")
	o.key("Tab") // to the name
	o.check("main [name=monitor]")
	o.follow("button[formaction='/admin/monitors/pause']", "Pause 2 monitors")
	o.follow("main .button", "Monitors")
	o.is(`[...document.querySelectorAll(".monitors .pill")].every(e => e.innerText !== "Up" && e.innerText !== ` +
		`"Waiting")`)
	o.check("main [name=monitor]")
	o.follow("button[value=resume]", "Monitors")

	o.tabTo(".monitors .name a")
	name := eval[string](o.tab, `document.activeElement.innerText`)
	o.pressEnter()
	<-o.loaded
	old := eval[string](o.tab, `document.querySelector("main pre").innerText`)
	o.tabTo(".rotate button")
	o.pressEnter()
	<-o.loaded
	o.is(`document.querySelector("h1").innerText.startsWith("`+name+`")`,
		`!document.querySelector("main").innerText.includes("`+strings.Fields(old)[len(strings.Fields(old))-1]+`")`)
	o.says("The previous URL works until")
}

func (o operator) changesPage() {
	o.goTo("/admin/pages", "Pages")
	o.follow("main a[href='/admin/pages/acme/components']", "Acme")
	o.types("name", "Search")
	o.enter("Acme")
	o.says("Search")
	o.follow(".page-tabs a[href='/admin/pages/acme']", "Acme")
	o.types("accent", "#ffe600")
	o.types("custom_css", ":root { --radius: 0 }")
	o.follow("main .button", "Acme")
	o.says("Saved.")
	o.follow(".page-tabs a[href$=announcements]", "Acme")
	o.types("title", "We move")
	o.enter("Acme")
	o.says("We move")
	o.follow(".page-tabs a[href$=share]", "Acme")
	o.tabTo("[data-copy]")
	o.pressEnter()
	o.eventually(`/Copied|Selected/.test(document.querySelector("[data-copy]").innerText)`)
	o.follow(".page-tabs a[href$=access]", "Acme")
	o.types("password", "a secret of visitors")
	o.follow("button[value=password]", "Acme")
	o.says("Replace password")
	o.follow("button[value=link]", "Acme")
	o.is(`document.querySelector(".issued pre").innerText.startsWith("http")`)
}

// previewIsDueAtSave has the settings of a page sent to a preview between the press of Save and the leaving of the
// screen, as happens to people who press it 0.4 seconds after they have typed.
const previewIsDueAtSave = `
	window.setTimeout = f => queueMicrotask(f)
	document.querySelector("main .save .button").addEventListener("click",
		() => document.querySelector("[name=domain]").dispatchEvent(new Event("input", {bubbles: true})))`

// setsDomain has the DNS looked up for a domain, and takes the domain away again.
func (o operator) setsDomain() {
	o.follow(".page-tabs a[href='/admin/pages/acme']", "Acme")
	o.types("domain", "not a domain")
	o.follow("main .save .button", "Acme")
	o.eventually(`document.activeElement.name === "domain" && document.activeElement.value === "not a domain"`)
	o.types("domain", "status.acme.example")
	o.follow("main .save .button", "Acme")
	o.says("Saved.")
	o.follow("button[form=domain-check]", "Acme")
	o.says("192.0.2.1")
	o.types("domain", "")
	eval[any](o.tab, previewIsDueAtSave)
	o.press("main .save .button", "Acme")
	o.is(`!document.querySelector(".domain-lookup")`)
}

func (o operator) managesSubscribers() {
	o.follow(".page-tabs a[href$=subscribers]", "Acme")
	o.types("target", "nobody")
	o.enter("Acme")
	o.eventually(`document.activeElement.name === "target" && document.activeElement.value === "nobody"`)
	o.types("target", "grace@example.com")
	o.chooses("confirmed", "the owner")
	o.follow("main .new .button", "Acme")
	o.follow(".subscribers form[action$=test] button", "Deliveries")
	o.goTo("/admin/pages", "Pages")
	o.follow("main a[href='/admin/pages/acme/components']", "Acme")
	o.follow(".page-tabs a[href$=subscribers]", "Acme")
	o.browser.downloads(o.tab, "main a[download]", "*.csv")
	o.follow("main a[href$=import]", "Acme")
	o.types("csv", "email\nalan@example.com\nnobody")
	o.types("consent", "a form on paper")
	o.follow("main form .button", "Acme")
	o.says("1 subscriber will be added")
	o.follow("main form .button", "Acme")
	o.says("1 subscriber was added")
}

func (o operator) sendsAgain() {
	o.goTo("/admin/deliveries", "Deliveries")
	o.says("Test message")
	o.follow("form[action$=retry] button", "Deliveries")
}

func (o operator) managesTokens() {
	o.goTo("/admin/tokens", "API tokens")
	o.types("name", "ci")
	o.enter("API tokens")
	o.is(`/^aw_\w{49}$/.test(document.querySelector(".issued pre").innerText)`)
	o.tabTo(".confirm summary")
	o.pressEnter()
	o.follow(".confirm .button", "API tokens")
	o.says("revoked")
}

func (o operator) invites() {
	o.goTo("/admin/members", "Members")
	o.types("email", "grace@example.com")
	o.chooses("role", "View")
	o.follow("main .new .button", "Members")
	o.is(`document.querySelector(".issued pre").innerText.includes("/admin/accept?code=")`)
	o.says("Pending invitations")
}

// setsSecondFactor sets up an authenticator app, and signs in with a recovery code.
func (o operator) setsSecondFactor() {
	o.tabTo(".menu > summary")
	o.pressEnter()
	o.follow(".menu .person a", "Your account")
	o.follow("form[action$='authenticator/begin'] button", "Set up authenticator app")
	o.types("code", totp(o.t, eval[string](o.tab, `document.querySelector("pre").innerText`)))
	o.enter("Save your recovery codes")
	codes := strings.Fields(eval[string](o.tab, `document.querySelector("pre").innerText`))
	o.follow("main .button", "Your account")
	o.tabTo(".menu > summary")
	o.pressEnter()
	o.follow(".menu form[action='/admin/sign-out'] button", "Sign in")
	o.types("email", "ada@example.com")
	o.types("password", "not this one")
	o.enter("Sign in")
	o.types("password", goodPassword)
	o.enter("Second factor")
	o.tabTo(".other-way summary")
	o.pressEnter()
	o.types("recovery_code", codes[0])
	o.enter("Overview")
}

func (o operator) exports() {
	o.goTo("/admin/audit", "Audit log")
	o.browser.downloads(o.tab, "main a[download]", "*.csv")
	o.chooses("kind", "token")
	o.follow("main .filter button", "Audit log")
	o.goTo("/admin/system", "System")
	o.says("ALLSWELL_BASE_URL")
	o.browser.downloads(o.tab, "form[action$=backup] button", "*.db")
}
