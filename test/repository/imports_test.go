package repository

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/allswell/allswell"

// layer is a package, or a folder with all its packages if the name ends in "/...", and the packages of this module
// that it may import.
type layer struct {
	name    string
	imports []string
	tests   []string // additional imports of its tests
	reason  string
}

// layers lists which packages each package may import, and why no others. A new package needs a row.
var layers = []layer{
	{"internal/domain/kernel", []string{"internal/shared/hostname"},
		[]string{"internal/domain/...", "internal/resource/field", "internal/resource"},
		"The domain consists of types and rules that can be read and tested without anything else. Each book imports " +
			"only those before it."},
	{"internal/domain/schedule", []string{"internal/domain/kernel"}, []string{"internal/domain/..."},
		"The rule of silence can be read and tested without monitors."},
	{"internal/domain/statuspage",
		[]string{"internal/domain/kernel", "internal/domain/schedule", "internal/shared/hostname"},
		[]string{"internal/domain/...", "internal/resource"},
		"What visitors see does not depend on what watches it."},
	{"internal/domain/monitor",
		[]string{"internal/domain/kernel", "internal/domain/schedule", "internal/domain/statuspage"},
		[]string{"internal/domain/...", "internal/resource"},
		"A monitor changes components and opens incidents, so it comes after them."},
	{"internal/domain/alert", []string{
		"internal/domain/kernel", "internal/domain/monitor", "internal/shared/ical",
	}, nil,
		"Rules of who is notified of what. It depends on neither the database nor the services that take messages."},
	{"internal/domain/audience",
		[]string{"internal/domain/kernel", "internal/domain/statuspage", "internal/domain/monitor"},
		[]string{"internal/domain/..."},
		"Subscribers are notified of what happens to pages and monitors, which know nothing of them."},
	{"internal/domain/account", []string{"internal/domain/kernel"}, nil,
		"Who signs in depends on nothing that they may change."},
	{"internal/domain/domaintest", []string{"internal/domain/...", "internal/resource", "internal/resource/field"}, nil,
		"What tests of the domain share. Only tests import it."},
	{"client", nil, []string{"internal/domain/kernel", "internal/resource"},
		"Other modules import it, so it depends on nothing internal. It is one package, so that go doc shows all of " +
			"the API."},
	{"internal/store/database", []string{"internal/domain/...", "internal/shared/failurelog"},
		[]string{"internal/store/storetest"},
		"Opens databases and runs transactions. It returns errors of the domain, but uses neither its types nor its " +
			"tables."},
	{"internal/store/pinghistory", nil, nil,
		"Encodes and merges the history of pings. It knows neither the database nor monitors."},
	{"internal/shared/secret", nil, nil,
		"Seals texts with a key. It does not depend on what they are."},
	{"internal/alertchannel",
		[]string{
			"internal/domain/...", "internal/shared/optional", "internal/shared/addressguard",
			"internal/resource/configfield", "internal/shared/redact", "internal/shared/hostname",
		},
		[]string{"test/freeport", "test/nodeclient", "test/stored"},
		"Sends alerts. It depends on neither the store nor HTTP surfaces, so that every type can be tested with a " +
			"service alone. " +
			"It has one file per type, and what all types share: sending, escaping and cutting."},
	{"internal/worker/alerter",
		[]string{
			"internal/domain/...", "internal/alertchannel", "internal/shared/fair", "internal/shared/trigger",
			"internal/store",
		},
		[]string{
			"internal/resource/field", "internal/resource", "internal/shared/secret", "internal/store/storetest",
			"test/parallel", "test/syncbuffer",
		},
		"Notifies people of alerts. It depends on no surface, so that a slow service cannot slow a request or a ping."},
	{"internal/check/checkstats", []string{"internal/domain/..."}, nil,
		"Sums up the results of checks. It knows neither the database nor monitors."},
	{"internal/surface/page/checkchart", []string{"internal/domain/...", "internal/check/checkstats"}, nil,
		"Draws what the checks of a monitor found. It depends on no surface, so that all can show it."},
	{"internal/shared/jsonobject", []string{"internal/domain/...", "internal/shared/spelling"}, nil,
		"Reads what people and programs send, and writes JSON. It depends on neither HTTP nor what is read."},
	{"internal/resource/field",
		[]string{
			"internal/domain/...", "internal/resource/configfield", "internal/shared/jsonobject",
			"internal/shared/timeinput",
		},
		nil,
		"Describes fields of resources. It depends on neither the resources nor the surfaces that follow from them."},
	{"internal/resource",
		[]string{
			"internal/domain/...", "internal/shared/optional", "internal/alertchannel", "internal/check",
			"internal/resource/configfield", "internal/shared/jsonobject", "internal/resource/field",
			"internal/shared/i18n",
		},
		nil,
		"Describes the resources of the API, each once. What is in it follows in the store and in all surfaces."},
	{"internal/resource/clientgen",
		[]string{"internal/domain/audience", "internal/resource/field", "internal/resource"}, nil,
		"Generates a part of the client. Only go generate runs it."},
	{"internal/resource/rights", []string{"internal/domain/..."}, nil,
		"The table of who may do what. It depends neither on what is done nor on who asks."},
	{"internal/resource/rights/rightstest", []string{"internal/resource/rights"}, nil,
		"Checks operations of routes for the tests of surfaces. Only tests import it."},
	{"internal/store",
		[]string{
			"internal/domain/...", "internal/check/checkstats", "internal/store/database", "internal/shared/fair",
			"internal/resource/field", "internal/store/pinghistory", "internal/resource", "internal/resource/rights",
			"internal/shared/secret",
		},
		[]string{"internal/store/storetest", "test/parallel"},
		"A method of the store loads objects, applies the rules of the domain, saves the result and emits events. It " +
			"does not depend on its callers. " +
			"It is one package, because a transaction crosses resources: see " +
			"docs/decisions/0002-one-sql-text-in-one-package.md."},
	{"internal/store/storetest",
		[]string{
			"internal/domain/...", "internal/store/database", "internal/shared/secret", "internal/store",
			"test/subprocess",
		},
		nil,
		"Opens a real store of each engine for the tests of other packages. Only tests import it."},
	{"internal/shared/trigger", nil, nil,
		"One type, by which workers are notified of work without waiting."},
	{"internal/shared/optional", nil, nil,
		"Two functions for optional values."},
	{"internal/shared/ical", nil, nil,
		"Writes calendars. It does not depend on what is in them."},
	{"internal/shared/failurelog", nil, nil,
		"Logs one line when failures begin and one when they end. It does not depend on what fails."},
	{"internal/shared/buildinfo", nil, nil,
		"Describes the running binary. The server and the command line both show it."},
	{"internal/shared/clientaddr", nil, nil,
		"The only parser of client addresses. Packages that limit, log or trust an address use it."},
	{"internal/shared/settings",
		[]string{
			"internal/domain/...", "internal/shared/clientaddr", "internal/shared/secret", "internal/shared/hostname",
			"internal/shared/timeinput",
		},
		nil,
		"Parses settings. It does not depend on the packages that use them."},
	{"internal/shared/hostname", nil, nil,
		"Turns names of hosts into ASCII. It does not depend on where they are configured, and the domain uses it."},
	{"internal/shared/limit", nil, nil,
		"Counts events per key. It depends on neither pings nor HTTP, so all surfaces can use it."},
	{"internal/shared/fair", nil, nil,
		"Shares places among keys. It does not depend on what is done in a place, so that every pool can use it."},
	{"internal/shared/spelling", nil, nil,
		"Finds the name that a misspelled one may mean. It does not depend on what is named."},
	{"internal/shared/connlimit", nil, []string{"test/syncbuffer"},
		"Counts connections. It does not depend on the requests that they carry."},
	{"internal/shared/markdown", nil, nil,
		"Converts text to text. It does not depend on where the text is shown."},
	{"internal/shared/i18n", []string{"internal/domain/...", "internal/shared/markdown"}, nil,
		"Writes words, dates and durations in a language. It does not depend on HTTP or on where they are shown."},
	{"internal/shared/i18n/i18ntest", []string{"internal/shared/i18n"}, nil,
		"Helps tests of what is rendered in a language. Only tests import it."},
	{"internal/shared/cache", nil, nil,
		"Caches values in memory. It does not depend on their types or sources."},
	{"internal/shared/markdown/markdowntest", nil, nil,
		"Malicious Markdown for tests. Only tests import it."},
	{"internal/shared/addressguard", nil, nil,
		"Knows kinds of addresses. Webhooks and checks decide by them, and neither imports the other."},
	{"internal/resource/configfield", []string{"internal/domain/..."}, nil,
		"Describes fields and reads their values. It does not depend on what is configured."},
	{"internal/shared/redact", nil, nil,
		"Removes secrets from texts. It does not depend on where they are used."},
	{"internal/check/bodytext", nil, nil,
		"Decodes bodies of responses. It does not depend on what is done with the text."},
	{"internal/check/pattern", nil, nil,
		"Matches regular expressions that people configure. It does not depend on what is matched."},
	{"internal/check/jsonpath", []string{"internal/check/pattern"}, nil,
		"Evaluates JSONPath. It does not depend on where the documents come from."},
	{"internal/check",
		[]string{
			"internal/domain/...", "internal/shared/addressguard", "internal/check/bodytext",
			"internal/resource/configfield", "internal/shared/fair", "internal/check/jsonpath",
			"internal/check/pattern", "internal/shared/redact", "internal/shared/hostname",
		},
		[]string{"test/freeport", "test/subprocess"},
		"Checks targets. It depends on neither the store nor HTTP surfaces, so that every type can be tested with a " +
			"real server alone. " +
			"It has one file per type, and what all types share: connecting, measuring and giving a reason."},
	{"internal/surface/page/feed",
		[]string{"internal/domain/...", "internal/shared/ical", "internal/shared/markdown", "internal/shared/i18n"},
		[]string{"internal/shared/markdown/markdowntest", "test/nodeclient"},
		"Renders a page for programs. It depends on neither HTTP nor the store."},
	{"internal/surface/page/badge", []string{"internal/domain/...", "internal/shared/markdown", "internal/shared/i18n"},
		[]string{"internal/shared/markdown/markdowntest"},
		"Renders a page for programs. It depends on neither HTTP nor the store."},
	{"internal/surface/page/picture",
		[]string{"internal/domain/...", "internal/shared/markdown", "internal/shared/i18n"}, []string{"test/stored"},
		"Draws a page for previews. It depends on neither HTTP nor the store."},
	{"internal/surface/page/statuspageapi", []string{"internal/domain/..."},
		[]string{"internal/surface/page/statuspageapi/statuspagetest", "internal/shared/markdown/markdowntest"},
		"Renders a page for programs. It depends on neither HTTP nor the store."},
	{"internal/surface/page/statuspageapi/statuspagetest", nil, nil,
		"Checks the form of documents. Only tests import it."},
	{"internal/surface/page/stream", []string{"internal/shared/fair", "internal/shared/trigger"}, nil,
		"Sends events to clients. It depends on neither pages nor visitors."},
	{"internal/surface/web",
		[]string{
			"internal/domain/...", "internal/shared/clientaddr", "internal/shared/fair", "internal/shared/jsonobject",
			"internal/store", "internal/shared/limit", "internal/shared/spelling",
		},
		[]string{"internal/store/storetest"},
		"Code that the HTTP surfaces share. It does not depend on any of them."},
	{"internal/surface/api",
		[]string{
			"internal/domain/...", "internal/shared/optional", "internal/resource/field", "internal/resource",
			"internal/alertchannel", "internal/check", "internal/check/checkstats", "internal/shared/clientaddr",
			"internal/resource/configfield", "internal/shared/fair", "internal/shared/jsonobject",
			"internal/surface/signin/password", "internal/resource/rights", "internal/store", "internal/surface/web",
			"internal/shared/limit",
		},
		[]string{
			"internal/store/pinghistory", "internal/resource/rights/rightstest", "internal/store/storetest",
			"test/stored",
		},
		"An HTTP surface. Code that it shares with other surfaces belongs in web. It has one file per resource, and " +
			"each " +
			"handler uses the same authentication, idempotency and preconditions."},
	{"internal/surface/assets", []string{"internal/domain/...", "internal/surface/web"}, nil,
		"Style sheets, scripts, icons and accents. Every HTML surface and mails use them, so they belong to none."},
	{"internal/surface/page/view",
		[]string{
			"internal/domain/...", "internal/surface/assets", "internal/surface/page/badge",
			"internal/surface/page/checkchart", "internal/surface/page/feed", "internal/shared/i18n",
			"internal/shared/markdown",
		},
		[]string{
			"internal/check/checkstats", "internal/surface/htmltest", "internal/shared/i18n/i18ntest",
			"internal/shared/markdown/markdowntest", "internal/surface/page/statuspageapi", "internal/surface/web",
		},
		"A rendering of a page for people. It knows neither requests nor the store."},
	{"internal/surface/htmltest", []string{"internal/domain/...", "internal/surface/assets"}, nil,
		"Parses and checks HTML. Only tests import it."},
	{"internal/surface/page",
		[]string{
			"internal/domain/...", "internal/surface/assets", "internal/surface/page/badge", "internal/shared/cache",
			"internal/surface/page/checkchart", "internal/shared/clientaddr", "internal/shared/fair",
			"internal/surface/page/feed", "internal/shared/i18n", "internal/shared/limit",
			"internal/surface/signin/password", "internal/surface/page/picture", "internal/surface/page/statuspageapi",
			"internal/store", "internal/surface/page/stream", "internal/surface/page/view", "internal/surface/web",
		},
		[]string{
			"internal/surface/htmltest", "internal/shared/i18n/i18ntest", "internal/shared/markdown",
			"internal/shared/markdown/markdowntest", "internal/surface/page/statuspageapi/statuspagetest",
			"internal/resource", "internal/store/storetest", "test/nodeclient",
		},
		"An HTTP surface. It loads, caches and serves pages, and limits sign-ups, which send mail to others."},
	{"internal/surface/signin/openid",
		[]string{"internal/domain/...", "internal/shared/addressguard", "internal/shared/cache"},
		[]string{"internal/surface/signin/openid/openidtest"},
		"Talks to OpenID Connect providers. It depends on neither the store nor the dashboard, so that it can be " +
			"tested with a provider alone."},
	{"internal/surface/signin/openid/openidtest", nil, nil,
		"An OpenID Connect provider for tests. Only tests import it."},
	{"internal/surface/signin/password", []string{"internal/domain/...", "internal/shared/fair"}, nil,
		"Hashes and judges passwords. It does not depend on whose they are."},
	{"internal/surface/signin/passkey", []string{"internal/domain/..."}, nil,
		"Makes and checks the messages of WebAuthn. It depends on neither requests nor the store."},
	{"internal/surface/signin/totp", nil, nil,
		"Makes and checks codes of authenticator apps. It does not depend on whose they are."},
	{"internal/surface/dashboard/frame",
		[]string{
			"internal/domain/...",
			"internal/alertchannel",
			"internal/check",
			"internal/resource/configfield",
			"internal/resource/field",
			"internal/resource/rights",
			"internal/shared/clientaddr",
			"internal/shared/fair",
			"internal/shared/i18n",
			"internal/shared/limit",
			"internal/shared/timeinput",
			"internal/store",
			"internal/surface/assets",
			"internal/surface/page/stream",
			"internal/surface/signin/password",
			"internal/surface/web",
		},
		nil,
		"What the rooms of the dashboard share. It knows no room."},
	{"internal/surface/dashboard/signin",
		[]string{
			"internal/domain/...",
			"internal/resource/rights",
			"internal/shared/clientaddr",
			"internal/shared/fair",
			"internal/shared/limit",
			"internal/store",
			"internal/surface/signin/openid",
			"internal/surface/signin/passkey",
			"internal/surface/signin/password",
			"internal/surface/signin/totp",
			"internal/surface/dashboard/frame",
		},
		[]string{
			"internal/resource",
			"internal/surface/signin/openid/openidtest",
			"test/nodeclient",
			"internal/store/storetest",
			"internal/surface/dashboard",
			"internal/surface/dashboard/dashboardtest",
		},
		"A room of the dashboard, with one file per screen. What another room needs, too, belongs in the frame."},
	{"internal/surface/dashboard/statuspages",
		[]string{
			"internal/domain/...",
			"internal/resource",
			"internal/resource/field",
			"internal/resource/rights",
			"internal/shared/clientaddr",
			"internal/shared/fair",
			"internal/shared/i18n",
			"internal/shared/jsonobject",
			"internal/store",
			"internal/surface/assets",
			"internal/surface/page/view",
			"internal/surface/signin/password",
			"internal/surface/web",
			"internal/surface/dashboard/frame",
		},
		[]string{
			"internal/surface/htmltest",
			"internal/store/storetest",
			"internal/surface/dashboard",
			"internal/surface/dashboard/dashboardtest",
		},
		"A room of the dashboard, with one file per screen. What another room needs, too, belongs in the frame."},
	{"internal/surface/dashboard/monitors",
		[]string{
			"internal/domain/...",
			"internal/check",
			"internal/check/checkstats",
			"internal/resource",
			"internal/resource/rights",
			"internal/shared/i18n",
			"internal/shared/settings",
			"internal/shared/timeinput",
			"internal/store",
			"internal/surface/page/checkchart",
			"internal/surface/web",
			"internal/surface/dashboard/frame",
		},
		[]string{
			"internal/resource/configfield",
			"internal/store/storetest",
			"internal/surface/dashboard",
			"internal/surface/dashboard/dashboardtest",
		},
		"A room of the dashboard, with one file per screen. What another room needs, too, belongs in the frame."},
	{"internal/surface/dashboard/alerting",
		[]string{
			"internal/domain/...",
			"internal/alertchannel",
			"internal/resource",
			"internal/resource/field",
			"internal/resource/rights",
			"internal/shared/clientaddr",
			"internal/shared/i18n",
			"internal/shared/limit",
			"internal/shared/settings",
			"internal/shared/timeinput",
			"internal/store",
			"internal/surface/web",
			"internal/surface/dashboard/frame",
		},
		[]string{
			"internal/resource/configfield",
			"internal/store/storetest",
			"internal/surface/dashboard",
			"internal/surface/dashboard/dashboardtest",
		},
		"A room of the dashboard, with one file per screen. What another room needs, too, belongs in the frame."},
	{"internal/surface/dashboard/subscribers",
		[]string{
			"internal/domain/...",
			"internal/resource/rights",
			"internal/store",
			"internal/surface/dashboard/frame",
		},
		[]string{
			"internal/resource",
			"internal/store/storetest",
			"internal/surface/dashboard",
			"internal/surface/dashboard/dashboardtest",
		},
		"A room of the dashboard, with one file per screen. What another room needs, too, belongs in the frame."},
	{"internal/surface/dashboard/workspace",
		[]string{
			"internal/domain/...",
			"internal/resource/rights",
			"internal/shared/i18n",
			"internal/store",
			"internal/surface/dashboard/frame",
		},
		[]string{
			"internal/resource",
			"internal/store/storetest",
			"internal/surface/dashboard",
			"internal/surface/dashboard/dashboardtest",
		},
		"A room of the dashboard, with one file per screen. What another room needs, too, belongs in the frame."},
	{"internal/surface/dashboard",
		[]string{
			"internal/domain/...",
			"internal/store",
			"internal/surface/dashboard/alerting",
			"internal/surface/dashboard/frame",
			"internal/surface/dashboard/monitors",
			"internal/surface/dashboard/signin",
			"internal/surface/dashboard/statuspages",
			"internal/surface/dashboard/subscribers",
			"internal/surface/dashboard/workspace",
			"internal/surface/web",
		},
		[]string{
			"internal/alertchannel",
			"internal/check",
			"internal/resource",
			"internal/resource/configfield",
			"internal/resource/rights",
			"internal/resource/rights/rightstest",
			"internal/store/storetest",
			"internal/surface/dashboard/dashboardtest",
			"internal/surface/htmltest",
		},
		"An HTTP surface. It joins the rooms, which change data through the same methods of the store as the API."},
	{"internal/surface/dashboard/dashboardtest",
		[]string{
			"internal/domain/...",
			"internal/check",
			"internal/resource",
			"internal/shared/clientaddr",
			"internal/store",
			"internal/store/storetest",
			"internal/surface/dashboard",
			"internal/surface/htmltest",
			"internal/surface/signin/password",
			"internal/surface/web",
		},
		nil,
		"A dashboard with a store, and browsers that use it. Only tests import it."},
	{"internal/worker/ping",
		[]string{
			"internal/domain/...", "internal/shared/clientaddr", "internal/shared/fair", "internal/store/pinghistory",
			"internal/resource", "internal/store", "internal/shared/limit", "internal/shared/failurelog",
			"internal/shared/timeinput", "internal/shared/trigger",
		},
		[]string{"internal/store/storetest", "test/nodeclient", "test/parallel", "test/stored", "test/syncbuffer"},
		"The intake of pings must never break. It does not depend on the other surfaces or on background work."},
	{"internal/worker/scheduler", []string{"internal/domain/...", "internal/shared/trigger", "internal/store"},
		[]string{"internal/resource", "internal/store/storetest"},
		"Does periodic work. It depends on no surface."},
	{"internal/worker/checker",
		[]string{
			"internal/domain/...", "internal/shared/addressguard", "internal/check", "internal/shared/failurelog",
			"internal/shared/fair", "internal/shared/trigger", "internal/store",
		},
		[]string{"internal/store/storetest", "test/syncbuffer"},
		"Runs checks. It depends on no surface, so that a slow target cannot slow a request or a ping."},
	{"internal/worker/domains",
		[]string{"internal/domain/...", "internal/shared/fair", "internal/shared/trigger", "internal/store"},
		[]string{"internal/resource", "internal/store/storetest", "test/dnsserver"},
		"Checks DNS records. The API and the background work both need it, and neither imports the other."},
	{"internal/worker/notify",
		[]string{
			"internal/domain/...", "internal/shared/optional", "internal/shared/addressguard", "internal/alertchannel",
			"internal/shared/fair", "internal/store", "internal/shared/failurelog",
			"internal/shared/markdown", "internal/shared/i18n", "internal/shared/hostname", "internal/shared/trigger",
		},
		[]string{
			"internal/resource", "internal/store/storetest", "test/freeport", "test/nodeclient", "test/parallel",
			"test/stored",
		},
		"Delivers messages. It depends on no surface, so that a slow receiver cannot slow a request or a ping. " +
			"Mail is a part of it, because an SMTP reply decides what the queue repeats."},
	{"internal/worker/certificates", []string{"internal/domain/...", "internal/shared/limit", "internal/store"},
		[]string{"internal/store/storetest", "test/dnsserver", "test/pebble"},
		"Obtains certificates and keeps them in the store. It depends on no surface, so that it can be tested with a " +
			"certificate authority alone."},
	{"internal/server", []string{
		"internal/domain/...", "internal/alertchannel", "internal/worker/alerter", "internal/surface/api",
		"internal/shared/buildinfo", "internal/worker/certificates", "internal/check", "internal/worker/checker",
		"internal/shared/clientaddr", "internal/shared/connlimit", "internal/surface/dashboard",
		"internal/store/database", "internal/worker/domains", "internal/shared/failurelog", "internal/shared/i18n",
		"internal/shared/limit",
		"internal/worker/notify", "internal/surface/signin/openid", "internal/surface/page", "internal/worker/ping",
		"internal/worker/scheduler", "internal/shared/secret", "internal/shared/settings", "internal/store",
		"internal/surface/page/stream", "internal/surface/web", "internal/shared/hostname",
	}, []string{"internal/resource", "internal/store/storetest", "test/dnsserver", "test/freeport", "test/syncbuffer"},
		"Connects all parts of the serving process. Its settings and metrics name parts of every other package."},
	{"internal/command/console", []string{"internal/shared/settings", "internal/shared/spelling"}, nil,
		"Code that all commands share: streams, tables, exit statuses. It depends on no command."},
	{"internal/shared/timeinput", nil, nil,
		"Parses what people type, in commands and in forms. It depends on neither."},
	{"internal/command/cli",
		[]string{
			"internal/domain/...", "internal/shared/optional", "internal/resource/field", "internal/resource",
			"internal/alertchannel", "client", "internal/shared/buildinfo", "internal/check",
			"internal/resource/configfield", "internal/command/console", "internal/shared/settings",
			"internal/shared/spelling", "internal/shared/timeinput",
		},
		[]string{"internal/shared/i18n", "test/stored"},
		"The commands that use the API. They use the client, like programs of other people. It has one file per " +
			"noun; a " +
			"package of what they share would export nearly all of it to this one."},
	{"internal/command/run",
		[]string{
			"internal/domain/...", "client", "internal/shared/buildinfo", "internal/command/console",
			"internal/shared/spelling", "internal/shared/timeinput",
		},
		[]string{"test/binary", "test/syncbuffer"},
		"Runs a command and reports it. It uses the client, like programs of other people."},
	{"internal/command/completion", []string{"internal/command/console"}, nil,
		"Completes command lines. It reads the tree of commands, and depends on no command."},
	{"internal/command/admin",
		[]string{
			"internal/domain/...", "internal/command/console", "internal/shared/secret", "internal/shared/settings",
			"internal/store", "internal/shared/timeinput",
		},
		nil,
		"The commands that work directly on the database."},
	{"internal/command/demo",
		[]string{
			"internal/domain/...", "client", "internal/command/console", "internal/resource", "internal/server",
			"internal/shared/settings", "internal/store",
		},
		nil,
		"Runs a server and uses its API like any other program. It uses the store to create past events."},
	{"cmd/allswell",
		[]string{
			"internal/command/admin", "internal/shared/buildinfo", "internal/command/cli",
			"internal/command/completion", "internal/command/console", "internal/command/demo", "internal/command/run",
			"internal/server",
		},
		[]string{"internal/shared/settings"},
		"The main function and the command tree."},
	{"deploy", nil, nil,
		"Files for the installation, and tests that only read them."},
	{"bench",
		[]string{
			"internal/domain/...", "internal/resource", "internal/store", "internal/store/storetest",
			"internal/shared/limit",
		},
		[]string{"test/subprocess"},
		"Measures the store in its own process, and the built program from outside."},
	{"test/...", []string{"test/..."},
		[]string{"internal/domain/...", "internal/resource", "internal/store", "internal/store/storetest"},
		"Tests the built program like a user. It reads the database only to check its contents."},
}

// drivers are the modules that access a database.
var drivers = []string{"modernc.org/sqlite", "github.com/jackc/pgx", "github.com/pressly/goose"}

// driverUsers may import a driver.
var driverUsers = []struct {
	name      string
	testsOnly bool
	reason    string
}{
	{"internal/store/database", false, "It opens databases and runs transactions."},
	{"internal/store/storetest", false, "It creates and drops databases for tests."},
	{"test/...", true, "It checks the database after the program was killed, without the code under test."},
}

// forbidden are standard packages that the domain must not import.
var forbidden = map[string]string{
	"net/http":     "the domain does not serve requests",
	"database/sql": "the domain does not store anything",
	"os":           "the domain reads neither files nor the environment",
	"log/slog":     "the domain does not log, it returns results",
}

// listed is the output of `go list -json` for a package.
type listed struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

func listPackages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// local returns the name of a package in the table. ok is false for a package of another module.
func local(path string) (name string, ok bool) {
	return strings.CutPrefix(path, module+"/")
}

// covers reports whether a pattern of the table matches a package.
func covers(pattern, name string) bool {
	if tree, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == tree || strings.HasPrefix(name, tree+"/")
	}
	return pattern == name
}

func coversAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return covers(p, name) })
}

// layerOf returns the row of a package.
func layerOf(name string) (layer, bool) {
	i := slices.IndexFunc(layers, func(l layer) bool { return covers(l.name, name) })
	if i < 0 {
		return layer{}, false
	}
	return layers[i], true
}

// isStandard reports whether a package belongs to the standard library.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// violations returns a message for every import of p that the tables forbid.
func violations(p listed) (out []string) {
	name, _ := local(p.ImportPath)
	l, ok := layerOf(name)
	if !ok {
		return []string{name + " has no row in the table of layers: give it one, with a reason"}
	}
	for _, path := range p.Imports {
		if why := refuse(l, name, path, false); why != "" {
			out = append(out, name+" imports "+path+": "+why)
		}
	}
	for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
		if why := refuse(l, name, path, true); why != "" {
			out = append(out, "a test of "+name+" imports "+path+": "+why)
		}
	}
	return out
}

// inDomain reports whether a package is a book of the domain.
func inDomain(name string) bool {
	return strings.HasPrefix(name, "internal/domain/") && name != "internal/domain/domaintest"
}

// refuse returns why a package must not import a path, or "".
func refuse(l layer, name, path string, test bool) string {
	if imported, ok := local(path); ok {
		if coversAny(l.imports, imported) || test && (imported == name || coversAny(l.tests, imported)) {
			return ""
		}
		return l.reason
	}
	for _, driver := range drivers {
		if path != driver && !strings.HasPrefix(path, driver+"/") {
			continue
		}
		for _, user := range driverUsers {
			if covers(user.name, name) && (test || !user.testsOnly) {
				return ""
			}
		}
		return "only internal/store/database imports a driver"
	}
	if test {
		return ""
	}
	for prefix, why := range forbidden {
		if inDomain(name) && (path == prefix || strings.HasPrefix(path, prefix+"/")) {
			return why
		}
	}
	if (inDomain(name) || name == "client" || name == "internal/shared/limit") && !isStandard(path) {
		return "it uses only the standard library"
	}
	return ""
}

func TestImports(t *testing.T) {
	t.Parallel()
	packages := listPackages(t)
	if len(packages) < 2 {
		t.Fatalf("go list found %d packages", len(packages))
	}
	for _, p := range packages {
		for _, v := range violations(p) {
			t.Error(v)
		}
	}
}

// TestLayersExist checks that every package in the tables exists.
func TestLayersExist(t *testing.T) {
	t.Parallel()
	var existing []string
	for _, p := range listPackages(t) {
		name, _ := local(p.ImportPath)
		existing = append(existing, name)
	}
	check := func(table, pattern string) {
		if !slices.ContainsFunc(existing, func(name string) bool { return covers(pattern, name) }) {
			t.Errorf("%s: there is no package %s", table, pattern)
		}
	}
	for _, l := range layers {
		check("layers", l.name)
		for _, imported := range slices.Concat(l.imports, l.tests) {
			check("layers, "+l.name, imported)
		}
	}
	for _, user := range driverUsers {
		check("driverUsers", user.name)
	}
}

const domainMonitor = module + "/internal/domain/monitor"

func importing(name string, imports ...string) listed {
	return listed{ImportPath: module + "/" + name, Imports: imports}
}

func importingInTest(name string, imports ...string) listed {
	return listed{ImportPath: module + "/" + name, XTestImports: imports}
}

// imported are imports of packages, and whether the table allows them.
var imported = []struct {
	name    string
	p       listed
	allowed bool
}{
	{"an unknown package under internal", importing("internal/service"), false},
	{"an unknown package below a known one", importing("internal/surface/api/v2"), false},
	{"an unknown package elsewhere", importing("pkg/client"), false},
	{"the domainMonitor, HTTP", importing("internal/domain/monitor", "net/http"), false},
	{"the domainMonitor, SQL", importing("internal/domain/monitor", "database/sql"), false},
	{"the domainMonitor, files", importing("internal/domain/monitor", "os"), false},
	{"the domainMonitor, programs", importing("internal/domain/monitor", "os/exec"), false},
	{"the domainMonitor, another module", importing("internal/domain/monitor", "github.com/google/uuid"), false},
	{"the domainMonitor, the store", importing("internal/domain/monitor", module+"/internal/store"), false},
	{"the domainMonitor, the standard library", importing("internal/domain/monitor", "crypto/rand"), true},
	{"the client, something internal", importing("client", module+"/internal/surface/web"), false},
	{"the client, another module", importing("client", "github.com/google/uuid"), false},
	{"the client, the domain", importing("client", domainMonitor), false},
	{"the limiter, another module", importing("internal/shared/limit", "golang.org/x/time/rate"), false},
	{"the limiter, the domain", importing("internal/shared/limit", domainMonitor), false},
	{"markdown, the domain", importing("internal/shared/markdown", domainMonitor), false},
	{"markdown, its parser", importing("internal/shared/markdown", "github.com/yuin/goldmark/parser"), true},
	{"the store, markdown", importing("internal/store", module+"/internal/shared/markdown"), false},
	{"the store, a surface", importing("internal/store", module+"/internal/surface/web"), false},
	{"the database, drivers",
		importing("internal/store/database", "modernc.org/sqlite/lib", "github.com/jackc/pgx/v5/pgconn", domainMonitor),
		true},
	{"the database, the store", importing("internal/store/database", module+"/internal/store"), false},
	{"the store, the database", importing("internal/store", domainMonitor, module+"/internal/store/database"), true},
	{"the store, a driver", importing("internal/store", "modernc.org/sqlite/lib"), false},
	{"a surface, a driver", importing("internal/surface/api", "github.com/jackc/pgx/v5/pgconn"), false},
	{"a surface's test, a driver", importingInTest("internal/surface/api", "modernc.org/sqlite"), false},
	{"a surface, another surface", importing("internal/surface/api", module+"/internal/surface/page"), false},
	{"a surface's test, another surface", importingInTest("internal/surface/page", module+"/internal/surface/api"),
		false},
	{"a surface, the package web",
		importing(
			"internal/surface/api", domainMonitor, module+"/internal/surface/web", module+"/internal/store",
			module+"/internal/shared/limit",
		),
		true},
	{"the package web, a surface", importing("internal/surface/web", module+"/internal/surface/api"), false},
	{"pings, the package web", importing("internal/worker/ping", module+"/internal/surface/web"), false},
	{"pings, the scheduler", importing("internal/worker/ping", module+"/internal/worker/scheduler"), false},
	{"the scheduler, notifications", importing("internal/worker/scheduler", module+"/internal/worker/notify"), false},
	{"notifications, the package web", importing("internal/worker/notify", module+"/internal/surface/web"), false},
	{"the program, its commands", importing("cmd/allswell", module+"/internal/command/cli", module+"/internal/server"),
		true},
	{"the program, the API", importing("cmd/allswell", module+"/internal/surface/api"), false},
	{"commands of the API, the client", importing("internal/command/cli", domainMonitor, module+"/client"), true},
	{"commands of the API, the store", importing("internal/command/cli", module+"/internal/store"), false},
	{"the program, the tests' store", importing("cmd/allswell", module+"/internal/store/storetest"), false},
	{"the server's test, the tests' store", importingInTest("internal/server", module+"/internal/store/storetest"),
		true},
	{"the program, a driver", importing("cmd/allswell", "modernc.org/sqlite"), false},
	{"a tool of the tests, a driver", importing("test/faults", "modernc.org/sqlite"), false},
	{"a test from outside, a driver", importingInTest("test/faults", "modernc.org/sqlite"), true},
}

// TestImportsAreRefused checks that the table refuses forbidden imports.
func TestImportsAreRefused(t *testing.T) {
	for _, c := range imported {
		t.Run(c.name, func(t *testing.T) {
			if got := violations(c.p); (len(got) == 0) != c.allowed {
				t.Errorf("violations: %q, allowed: %v", got, c.allowed)
			}
		})
	}
}
