package ping

import (
	"cmp"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/allswell/allswell/test/stored"
)

var updateContacts = flag.Bool("update-contacts", false, "write testdata/contacts.txt")

// contactsFile says what every path with every query of it means, and how its service is answered.
const contactsFile = "testdata/contacts.txt"

const (
	storedToken = "0123456789abcdef0123456789"
	storedKey   = "0123456789abcdefghijkl"
	storedRun   = "7E57AB1E-0000-4000-8000-000000000001"
)

// storedContacts are paths, by their prefix, and queries that are asked for with each of them.
var storedContacts = []struct {
	prefix         string
	paths, queries []string
}{
	{Path,
		[]string{
			"TOKEN", "TOKEN/", "TOKEN/start", "TOKEN/log", "TOKEN/255", "TOKEN/256", "TOKEN/success/x", "KEY",
			"KEY/nightly", "KEY/nightly/fail", "KEY/fail", "KEY/a_B/0", "other",
		},
		[]string{"", "create=1", "create=0&create=1", "rid=RUN", "rid=RUN&rid=RUN", "rid=x", "a;b", "a=%zz"}},
	{healthchecksPath,
		[]string{
			"TOKEN", "TOKEN/", "TOKEN/start", "TOKEN/log", "TOKEN/success", "TOKEN/fail/x", "TOKEN/007", "TOKEN/0",
			"TOKEN/256", "TOKEN/-1", "KEY/Nightly_B.c", "KEY/nightly/12", "KEY/a/start/x",
		},
		[]string{"", "create=1", "rid=RUN", "rid=RUN&rid=RUN", "rid=", "a;b=%zz", "state=fail", "STATE=run"}},
	{kumaPath, []string{"TOKEN", "TOKEN/", "TOKEN/x", "KEY"},
		[]string{"", "status=up&msg=OK&ping=", "status=down", "status=up&status=up", "status[]=up", "status[a]=up",
			"[status]=down", "Status=down", "status=UP", "msg=a&msg=b", "msg=%zz+x", "create=1", "a=1;status=down",
			"status=up&statu%73=down"}},
	{cronitorPath, []string{"KEY/Nightly_B", "KEY/a/b", "TOKEN"},
		[]string{"", "state=run", "state=complete", "state=tick", "state=ok", "state=fail", "state=Run", "state=x",
			"state=complete&status_code=0", "state=complete&status_code=+3+", "state=complete&status_code=300",
			"state=complete&status_code=99999999999999999999", "status_code=x",
			"state=fail&status_code=0", "state=fail&status_code=7", "state=run&status_code=7",
			"state=fail&status_code=x", "message=a&msg=b", "msg=b", "series=1", "state=fail&state=ok", "a;state=fail",
			"create=0"}},
	{snitchPath, []string{"TOKEN", "KEY/Nightly.b", "KEY"},
		[]string{
			"", "s=0", "s=+0+", "s=1", "s=300", "s=x", "s[]=0", "s[a]=0", "m[a]=x", "m=hello", "m=a&m=b", "s=0;s=1",
			"s=1;s=0", "S=1", "s=%ff",
			strings.Repeat("a&", maxParameters) + "s=0", strings.Repeat("a&", maxParameters-1) + "s=0",
		}},
}

// describeContact returns what a request means, without what is not said.
func describeContact(c contact) string {
	text := cmp.Or(string(c.kind), "nothing")
	for _, part := range []struct{ name, value string }{
		{"address", c.address}, {"name", c.name}, {"run", c.runID}, {"output", c.output},
	} {
		if part.value != "" {
			text += fmt.Sprintf(", %s %q", part.name, part.value)
		}
	}
	if c.exitCode != nil {
		text += fmt.Sprintf(", exit code %d", *c.exitCode)
	}
	for _, part := range []struct {
		name string
		set  bool
	}{{"plain", c.plain}, {"with its body", c.body}, {"creates", c.creates}, {"unreadable", c.unreadable}} {
		if part.set {
			text += ", " + part.name
		}
	}
	if c.invalid != nil {
		text += fmt.Sprintf(", invalid: %d %s", c.invalid.status, c.invalid.body)
	}
	return text
}

// TestContactsAsStored compares what requests mean, and how services are answered, with the file. With the flag
// -update-contacts it writes the file; read its difference before you commit it.
func TestContactsAsStored(t *testing.T) {
	var text strings.Builder
	text.WriteString("# Requests and what they mean. go test -run TestContactsAsStored ./internal/worker/ping " +
		"-update-contacts writes this file.\n")
	names := strings.NewReplacer("TOKEN", storedToken, "KEY", storedKey, "RUN", storedRun)
	short := strings.NewReplacer(storedKey, "KEY", storedToken, "TOKEN", strings.Repeat("a&", maxParameters-1), "…")
	for _, c := range storedContacts {
		for _, path := range c.paths {
			for _, query := range c.queries {
				for _, body := range []string{"", "x"} {
					if body != "" && (c.prefix != healthchecksPath || query != "") {
						continue // only Healthchecks' plain pings depend on whether there is a body
					}
					r := httptest.NewRequest(http.MethodPost, names.Replace(c.prefix+path), strings.NewReader(body))
					raw := names.Replace(query)
					with := map[string]string{"x": " with a body"}[body]
					fmt.Fprintf(&text, "%s%s?%s%s\n\t%s\n", c.prefix, path, short.Replace(query), with,
						short.Replace(describeContact(readContact(r, raw))))
				}
			}
		}
	}
	for _, s := range []struct {
		name string
		*style
	}{
		{"own", ownStyle}, {"Healthchecks", healthchecksStyle}, {"Uptime Kuma", kumaStyle},
		{"Cronitor", cronitorStyle}, {"Dead Man's Snitch", snitchStyle},
	} {
		h := http.Header{}
		s.setHeaders(h)
		fmt.Fprintf(&text, "\n# %s: %v\n", s.name, h)
		for _, a := range []struct {
			name string
			*answer
		}{
			{"recorded", s.recorded}, {"created", s.created}, {"unknown", s.unknown}, {"bad method", s.badMethod},
			{"unavailable", s.unavailable}, {"unreadable", s.unreadable},
			{"too many", s.tooMany}, {"refused", s.refused}, {"taken", s.taken}, {"full", s.full}, {"hasty", s.hasty},
		} {
			if a.answer != nil {
				fmt.Fprintf(&text, "%s: %d %s\n", a.name, a.status, a.body)
			}
		}
		if s.invalid != nil {
			a := s.invalid(map[string][]string{"interval": {"The interval is wrong."}})
			fmt.Fprintf(&text, "invalid: %d %s\n", a.status, a.body)
		}
	}
	stored.Compare(t, contactsFile, "\n", text.String(), *updateContacts)
}
