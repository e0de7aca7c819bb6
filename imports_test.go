package allswell_test

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
// that it may import. "." is the root package.
type layer struct {
	name    string
	imports []string
	tests   []string // additional imports of its tests
	reason  string
}

// layers lists which packages each package may import, and why no others. A new package needs a row.
var layers = []layer{
	{".", []string{"internal/hostname"}, []string{"internal/field", "internal/resource"},
		"The domain consists of types and rules that can be read and tested without anything else."},
	{"client", []string{"."}, []string{"internal/resource"},
		"Other modules import it, so it depends on nothing internal. It is one package, so that go doc shows all of the API."},
	{"internal/database", []string{".", "internal/failurelog"}, []string{"internal/store/storetest"},
		"Opens databases and runs transactions. It returns errors of the domain, but uses neither its types nor its tables."},
	{"internal/pinghistory", nil, nil,
		"Encodes and merges the history of pings. It knows neither the database nor monitors."},
	{"internal/secret", nil, nil,
		"Seals texts with a key. It does not depend on what they are."},
	{"internal/alert", []string{".", "internal/i18n"}, nil,
		"Rules of who is notified of what. It depends on neither the database nor the services that take messages."},
	{"internal/alertchannel", []string{".", "internal/addressguard", "internal/alert", "internal/configfield", "internal/redact", "internal/hostname"}, []string{"test/freeport", "test/nodeclient", "test/stored"},
		"Sends alerts. It depends on neither the store nor HTTP surfaces, so that every type can be tested with a service alone. " +
			"It has one file per type, and what all types share: sending, escaping and cutting."},
	{"internal/alerter", []string{".", "internal/alert", "internal/alertchannel", "internal/fair", "internal/store"}, []string{"internal/field", "internal/resource", "internal/secret", "internal/store/storetest", "test/parallel", "test/syncbuffer"},
		"Notifies people of alerts. It depends on no surface, so that a slow service cannot slow a request or a ping."},
	{"internal/checkstats", []string{"."}, nil,
		"Sums up the results of checks. It knows neither the database nor monitors."},
	{"internal/checkchart", []string{".", "internal/checkstats"}, nil,
		"Draws what the checks of a monitor found. It depends on no surface, so that all can show it."},
	{"internal/jsonobject", []string{".", "internal/spelling"}, nil,
		"Reads what people and programs send, and writes JSON. It depends on neither HTTP nor what is read."},
	{"internal/field", []string{".", "internal/configfield", "internal/jsonobject", "internal/timeinput"}, nil,
		"Describes fields of resources. It depends on neither the resources nor the surfaces that follow from them."},
	{"internal/resource", []string{".", "internal/alert", "internal/alertchannel", "internal/check", "internal/configfield", "internal/jsonobject", "internal/field", "internal/i18n"}, nil,
		"Describes the resources of the API, each once. What is in it follows in the store and in all surfaces."},
	{"internal/clientgen", []string{"internal/field", "internal/resource"}, nil,
		"Generates a part of the client. Only go generate runs it."},
	{"internal/rights", []string{"."}, nil,
		"The table of who may do what. It depends neither on what is done nor on who asks."},
	{"internal/rights/rightstest", []string{"internal/rights"}, nil,
		"Checks operations of routes for the tests of surfaces. Only tests import it."},
	{"internal/store", []string{".", "internal/alert", "internal/checkstats", "internal/database", "internal/fair", "internal/field", "internal/pinghistory", "internal/resource", "internal/rights", "internal/secret"}, []string{"internal/store/storetest", "test/parallel"},
		"A method of the store loads objects, applies the rules of the domain, saves the result and emits events. It does not depend on its callers. " +
			"It is one package, because a transaction crosses resources: see docs/decisions/0002-one-sql-text-in-one-package.md."},
	{"internal/store/storetest", []string{".", "internal/database", "internal/secret", "internal/store", "test/subprocess"}, nil,
		"Opens a real store of each engine for the tests of other packages. Only tests import it."},
	{"internal/failurelog", nil, nil,
		"Logs one line when failures begin and one when they end. It does not depend on what fails."},
	{"internal/buildinfo", nil, nil,
		"Describes the running binary. The server and the command line both show it."},
	{"internal/clientaddr", nil, nil,
		"The only parser of client addresses. Packages that limit, log or trust an address use it."},
	{"internal/settings", []string{".", "internal/clientaddr", "internal/secret", "internal/hostname", "internal/timeinput"}, nil,
		"Parses settings. It does not depend on the packages that use them."},
	{"internal/hostname", nil, nil,
		"Turns names of hosts into ASCII. It does not depend on where they are configured, and the domain uses it."},
	{"internal/limit", nil, nil,
		"Counts events per key. It depends on neither pings nor HTTP, so all surfaces can use it."},
	{"internal/fair", nil, nil,
		"Shares places among keys. It does not depend on what is done in a place, so that every pool can use it."},
	{"internal/spelling", nil, nil,
		"Finds the name that a misspelled one may mean. It does not depend on what is named."},
	{"internal/connlimit", nil, []string{"test/syncbuffer"},
		"Counts connections. It does not depend on the requests that they carry."},
	{"internal/markdown", nil, nil,
		"Converts text to text. It does not depend on where the text is shown."},
	{"internal/i18n", []string{".", "internal/markdown"}, nil,
		"Writes words, dates and durations in a language. It does not depend on HTTP or on where they are shown."},
	{"internal/i18n/i18ntest", []string{"internal/i18n"}, nil,
		"Helps tests of what is rendered in a language. Only tests import it."},
	{"internal/cache", nil, nil,
		"Caches values in memory. It does not depend on their types or sources."},
	{"internal/markdown/markdowntest", nil, nil,
		"Malicious Markdown for tests. Only tests import it."},
	{"internal/addressguard", nil, nil,
		"Knows kinds of addresses. Webhooks and checks decide by them, and neither imports the other."},
	{"internal/configfield", []string{"."}, nil,
		"Describes fields and reads their values. It does not depend on what is configured."},
	{"internal/redact", nil, nil,
		"Removes secrets from texts. It does not depend on where they are used."},
	{"internal/bodytext", nil, nil,
		"Decodes bodies of responses. It does not depend on what is done with the text."},
	{"internal/pattern", nil, nil,
		"Matches regular expressions that people configure. It does not depend on what is matched."},
	{"internal/jsonpath", []string{"internal/pattern"}, nil,
		"Evaluates JSONPath. It does not depend on where the documents come from."},
	{"internal/check", []string{".", "internal/addressguard", "internal/bodytext", "internal/configfield", "internal/fair", "internal/jsonpath", "internal/pattern", "internal/redact", "internal/hostname"}, []string{"test/freeport", "test/subprocess"},
		"Checks targets. It depends on neither the store nor HTTP surfaces, so that every type can be tested with a real server alone. " +
			"It has one file per type, and what all types share: connecting, measuring and giving a reason."},
	{"internal/feed", []string{".", "internal/markdown", "internal/i18n"}, []string{"internal/markdown/markdowntest", "test/nodeclient"},
		"Renders a page for programs. It depends on neither HTTP nor the store."},
	{"internal/badge", []string{".", "internal/markdown", "internal/i18n"}, []string{"internal/markdown/markdowntest"},
		"Renders a page for programs. It depends on neither HTTP nor the store."},
	{"internal/picture", []string{".", "internal/markdown", "internal/i18n"}, nil,
		"Draws a page for previews. It depends on neither HTTP nor the store."},
	{"internal/statuspageapi", []string{"."}, []string{"internal/statuspageapi/statuspagetest", "internal/markdown/markdowntest"},
		"Renders a page for programs. It depends on neither HTTP nor the store."},
	{"internal/statuspageapi/statuspagetest", nil, nil,
		"Checks the form of documents. Only tests import it."},
	{"internal/stream", []string{"internal/fair"}, nil,
		"Sends events to clients. It depends on neither pages nor visitors."},
	{"internal/web", []string{".", "internal/alert", "internal/clientaddr", "internal/fair", "internal/jsonobject", "internal/store", "internal/limit", "internal/spelling"}, []string{"internal/store/storetest"},
		"Code that the HTTP surfaces share. It does not depend on any of them."},
	{"internal/api", []string{".", "internal/field", "internal/resource", "internal/alert", "internal/alertchannel", "internal/check", "internal/checkstats", "internal/clientaddr", "internal/configfield", "internal/fair", "internal/jsonobject", "internal/password", "internal/rights", "internal/store", "internal/web", "internal/limit"}, []string{"internal/pinghistory", "internal/rights/rightstest", "internal/store/storetest", "test/stored"},
		"An HTTP surface. Code that it shares with other surfaces belongs in web. It has one file per resource, and each " +
			"handler uses the same authentication, idempotency and preconditions."},
	{"internal/assets", []string{".", "internal/web"}, nil,
		"Style sheets, scripts, icons and accents. Every HTML surface and mails use them, so they belong to none."},
	{"internal/view", []string{".", "internal/assets", "internal/badge", "internal/checkchart", "internal/feed", "internal/i18n", "internal/markdown"},
		[]string{"internal/checkstats", "internal/htmltest", "internal/i18n/i18ntest", "internal/markdown/markdowntest", "internal/statuspageapi", "internal/web"},
		"A rendering of a page for people. It knows neither requests nor the store."},
	{"internal/htmltest", []string{".", "internal/assets"}, nil,
		"Parses and checks HTML. Only tests import it."},
	{"internal/page",
		[]string{".", "internal/assets", "internal/badge", "internal/cache", "internal/checkchart", "internal/clientaddr", "internal/fair", "internal/feed", "internal/i18n", "internal/limit",
			"internal/password", "internal/picture", "internal/statuspageapi", "internal/store", "internal/stream", "internal/view", "internal/web"},
		[]string{"internal/alert", "internal/htmltest", "internal/i18n/i18ntest", "internal/markdown", "internal/markdown/markdowntest", "internal/statuspageapi/statuspagetest",
			"internal/resource", "internal/store/storetest", "test/nodeclient"},
		"An HTTP surface. It loads, caches and serves pages, and limits sign-ups, which send mail to others."},
	{"internal/openid", []string{".", "internal/addressguard", "internal/cache"}, []string{"internal/openid/openidtest"},
		"Talks to OpenID Connect providers. It depends on neither the store nor the dashboard, so that it can be tested with a provider alone."},
	{"internal/openid/openidtest", nil, nil,
		"An OpenID Connect provider for tests. Only tests import it."},
	{"internal/password", []string{".", "internal/fair"}, nil,
		"Hashes and judges passwords. It does not depend on whose they are."},
	{"internal/passkey", []string{"."}, nil,
		"Makes and checks the messages of WebAuthn. It depends on neither requests nor the store."},
	{"internal/totp", nil, nil,
		"Makes and checks codes of authenticator apps. It does not depend on whose they are."},
	{"internal/dashboard",
		[]string{".", "internal/field", "internal/resource", "internal/alert", "internal/alertchannel", "internal/assets", "internal/check", "internal/checkchart", "internal/checkstats", "internal/clientaddr", "internal/configfield", "internal/fair", "internal/i18n", "internal/jsonobject", "internal/limit", "internal/openid", "internal/passkey", "internal/password", "internal/rights", "internal/settings", "internal/store", "internal/stream", "internal/timeinput", "internal/totp", "internal/view", "internal/web"},
		[]string{"internal/htmltest", "internal/openid/openidtest", "internal/rights/rightstest", "internal/store/storetest", "test/nodeclient"},
		"An HTTP surface. It changes data through the same methods of the store as the API."},
	{"internal/ping", []string{".", "internal/clientaddr", "internal/fair", "internal/pinghistory", "internal/resource", "internal/store", "internal/limit", "internal/failurelog", "internal/timeinput"},
		[]string{"internal/store/storetest", "test/nodeclient", "test/parallel", "test/stored", "test/syncbuffer"},
		"The intake of pings must never break. It does not depend on the other surfaces or on background work."},
	{"internal/scheduler", []string{".", "internal/store"}, []string{"internal/resource", "internal/store/storetest"},
		"Does periodic work. It depends on no surface."},
	{"internal/checker", []string{".", "internal/addressguard", "internal/check", "internal/failurelog", "internal/fair", "internal/store"}, []string{"internal/store/storetest", "test/syncbuffer"},
		"Runs checks. It depends on no surface, so that a slow target cannot slow a request or a ping."},
	{"internal/domains", []string{".", "internal/fair", "internal/store"}, []string{"internal/resource", "internal/store/storetest", "test/dnsserver"},
		"Checks DNS records. The API and the background work both need it, and neither imports the other."},
	{"internal/notify", []string{".", "internal/addressguard", "internal/alert", "internal/alertchannel", "internal/assets", "internal/fair", "internal/store", "internal/failurelog", "internal/markdown", "internal/i18n", "internal/hostname"},
		[]string{"internal/resource", "internal/store/storetest", "test/freeport", "test/nodeclient", "test/parallel", "test/stored"},
		"Delivers messages. It depends on no surface, so that a slow receiver cannot slow a request or a ping. " +
			"Mail is a part of it, because an SMTP reply decides what the queue repeats."},
	{"internal/certificates", []string{".", "internal/limit", "internal/store"}, []string{"internal/store/storetest", "test/dnsserver", "test/pebble"},
		"Obtains certificates and keeps them in the store. It depends on no surface, so that it can be tested with a certificate authority alone."},
	{"internal/server", []string{
		".", "internal/alert", "internal/alertchannel", "internal/alerter", "internal/api", "internal/buildinfo", "internal/certificates", "internal/check", "internal/checker", "internal/clientaddr", "internal/connlimit", "internal/dashboard", "internal/database", "internal/domains", "internal/failurelog", "internal/i18n", "internal/limit",
		"internal/notify", "internal/openid", "internal/page", "internal/ping", "internal/scheduler", "internal/secret", "internal/settings", "internal/store", "internal/stream", "internal/web", "internal/hostname",
	}, []string{"internal/resource", "internal/store/storetest", "test/dnsserver", "test/freeport", "test/syncbuffer"},
		"Connects all parts of the serving process. Its settings and metrics name parts of every other package."},
	{"internal/console", []string{"internal/settings", "internal/spelling"}, nil,
		"Code that all commands share: streams, tables, exit statuses. It depends on no command."},
	{"internal/timeinput", nil, nil,
		"Parses what people type, in commands and in forms. It depends on neither."},
	{"internal/cli", []string{".", "internal/field", "internal/resource", "internal/alert", "internal/alertchannel", "client", "internal/buildinfo", "internal/check", "internal/configfield", "internal/console", "internal/settings", "internal/spelling", "internal/timeinput"}, []string{"internal/i18n", "test/stored"},
		"The commands that use the API. They use the client, like programs of other people. It has one file per noun; a " +
			"package of what they share would export nearly all of it to this one."},
	{"internal/run", []string{".", "client", "internal/buildinfo", "internal/console", "internal/spelling", "internal/timeinput"}, []string{"test/binary", "test/syncbuffer"},
		"Runs a command and reports it. It uses the client, like programs of other people."},
	{"internal/completion", []string{"internal/console"}, nil,
		"Completes command lines. It reads the tree of commands, and depends on no command."},
	{"internal/admin", []string{".", "internal/console", "internal/secret", "internal/settings", "internal/store", "internal/timeinput"}, nil,
		"The commands that work directly on the database."},
	{"internal/demo", []string{".", "client", "internal/console", "internal/resource", "internal/server", "internal/settings", "internal/store"}, nil,
		"Runs a server and uses its API like any other program. It uses the store to create past events."},
	{"cmd/allswell", []string{"internal/admin", "internal/buildinfo", "internal/cli", "internal/completion", "internal/console", "internal/demo", "internal/run", "internal/server"},
		[]string{"internal/settings"},
		"The main function and the command tree."},
	{"deploy", nil, nil,
		"Files for the installation, and tests that only read them."},
	{"bench", []string{".", "internal/alert", "internal/resource", "internal/store", "internal/store/storetest", "internal/limit"}, []string{"test/subprocess"},
		"Measures the store in its own process, and the built program from outside."},
	{"test/...", []string{"test/..."}, []string{".", "internal/resource", "internal/store", "internal/store/storetest"},
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
	{"internal/database", false, "It opens databases and runs transactions."},
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
	if path == module {
		return ".", true
	}
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
		return "only internal/database imports a driver"
	}
	if test {
		return ""
	}
	for prefix, why := range forbidden {
		if name == "." && (path == prefix || strings.HasPrefix(path, prefix+"/")) {
			return why
		}
	}
	if (name == "." || name == "client" || name == "internal/limit") && !isStandard(path) {
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

// TestImportsAreRefused checks that the table refuses forbidden imports.
func TestImportsAreRefused(t *testing.T) {
	of := func(name string, imports ...string) listed {
		return listed{ImportPath: module + "/" + name, Imports: imports}
	}
	inTest := func(name string, imports ...string) listed {
		return listed{ImportPath: module + "/" + name, XTestImports: imports}
	}
	for _, c := range []struct {
		name    string
		p       listed
		allowed bool
	}{
		{"an unknown package under internal", of("internal/service"), false},
		{"an unknown package below a known one", of("internal/api/v2"), false},
		{"an unknown package elsewhere", of("pkg/client"), false},
		{"the domain, HTTP", listed{ImportPath: module, Imports: []string{"net/http"}}, false},
		{"the domain, SQL", listed{ImportPath: module, Imports: []string{"database/sql"}}, false},
		{"the domain, files", listed{ImportPath: module, Imports: []string{"os"}}, false},
		{"the domain, programs", listed{ImportPath: module, Imports: []string{"os/exec"}}, false},
		{"the domain, another module", listed{ImportPath: module, Imports: []string{"github.com/google/uuid"}}, false},
		{"the domain, the store", listed{ImportPath: module, Imports: []string{module + "/internal/store"}}, false},
		{"the domain, the standard library", listed{ImportPath: module, Imports: []string{"crypto/rand"}}, true},
		{"the client, something internal", of("client", module+"/internal/web"), false},
		{"the client, another module", of("client", "github.com/google/uuid"), false},
		{"the client, the domain", of("client", module, "net/http"), true},
		{"the limiter, another module", of("internal/limit", "golang.org/x/time/rate"), false},
		{"the limiter, the domain", of("internal/limit", module), false},
		{"markdown, the domain", of("internal/markdown", module), false},
		{"markdown, its parser", of("internal/markdown", "github.com/yuin/goldmark/parser"), true},
		{"the store, markdown", of("internal/store", module+"/internal/markdown"), false},
		{"the store, a surface", of("internal/store", module+"/internal/web"), false},
		{"the database, drivers", of("internal/database", "modernc.org/sqlite/lib", "github.com/jackc/pgx/v5/pgconn", module), true},
		{"the database, the store", of("internal/database", module+"/internal/store"), false},
		{"the store, the database", of("internal/store", module, module+"/internal/database"), true},
		{"the store, a driver", of("internal/store", "modernc.org/sqlite/lib"), false},
		{"a surface, a driver", of("internal/api", "github.com/jackc/pgx/v5/pgconn"), false},
		{"a surface's test, a driver", inTest("internal/api", "modernc.org/sqlite"), false},
		{"a surface, another surface", of("internal/api", module+"/internal/page"), false},
		{"a surface's test, another surface", inTest("internal/page", module+"/internal/api"), false},
		{"a surface, the package web", of("internal/api", module, module+"/internal/web", module+"/internal/store", module+"/internal/limit"), true},
		{"the package web, a surface", of("internal/web", module+"/internal/api"), false},
		{"pings, the package web", of("internal/ping", module+"/internal/web"), false},
		{"pings, the scheduler", of("internal/ping", module+"/internal/scheduler"), false},
		{"the scheduler, notifications", of("internal/scheduler", module+"/internal/notify"), false},
		{"notifications, the package web", of("internal/notify", module+"/internal/web"), false},
		{"the program, its commands", of("cmd/allswell", module+"/internal/cli", module+"/internal/server"), true},
		{"the program, the API", of("cmd/allswell", module+"/internal/api"), false},
		{"commands of the API, the client", of("internal/cli", module, module+"/client"), true},
		{"commands of the API, the store", of("internal/cli", module+"/internal/store"), false},
		{"the program, the tests' store", of("cmd/allswell", module+"/internal/store/storetest"), false},
		{"the server's test, the tests' store", inTest("internal/server", module+"/internal/store/storetest"), true},
		{"the program, a driver", of("cmd/allswell", "modernc.org/sqlite"), false},
		{"a tool of the tests, a driver", of("test/faults", "modernc.org/sqlite"), false},
		{"a test from outside, a driver", inTest("test/faults", "modernc.org/sqlite"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := violations(c.p); (len(got) == 0) != c.allowed {
				t.Errorf("violations: %q, allowed: %v", got, c.allowed)
			}
		})
	}
}
