package check

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
)

const (
	wrongStatuses = "The expected_statuses must be statuses from 100 to 599 or ranges, such as 200-299."
	notTogether   = " cannot be used together with the "
)

// Fields of a check that is valid, and more.
func webFields(more ...any) []any    { return append([]any{"url", "https://a.example"}, more...) }
func socketFields(more ...any) []any { return append([]any{"url", "wss://a.example"}, more...) }
func nameFields(more ...any) []any   { return append([]any{"host", "a.example"}, more...) }

// fieldEdge is a configuration at the edge of what a type accepts.
type fieldEdge struct {
	kind    monitor.MonitorType
	given   []any
	field   string // that is not valid; "": all are
	message string
}

var oauth2Fields = []any{"oauth2_token_url", "https://login.example", "oauth2_client_id", "c"}

var fieldEdges = []fieldEdge{
	{"http", webFields("method", ""), "method", ""}, {"http", webFields("expected_statuses", []string{}), "", ""},
	{"http", webFields("json_value", "x"), "json_value", "The json_value needs a json_path."},
	{"http", webFields("json_value", "x", "json_path", "$.a"), "", ""},
	{"http", webFields("digest", true), "digest", "The digest needs a username."},
	{"http", webFields("digest", true, "username", "u", "password", "p"), "", ""},
	{"http", webFields("username", "u", "bearer_token", "t"), "bearer_token",
		"The bearer_token" + notTogether + "username."},
	{"http", webFields("bearer_token", "t", "password", "p"), "", ""},
	{"http", webFields(append(oauth2Fields, "username", "u")...), "oauth2_token_url",
		"The oauth2_token_url" + notTogether + "username or the bearer_token."},
	{"http", webFields(append(oauth2Fields, "bearer_token", "t")...), "oauth2_token_url",
		"The oauth2_token_url" + notTogether + "username or the bearer_token."},
	{"http", webFields(oauth2Fields...), "", ""},
	{"http", webFields("expected_headers", map[string]string{"a b": "c"}), "expected_headers", ""},
	{"http", webFields("proxy", "ftp://a.example"), "proxy", ""},
	{"http", webFields("proxy", "socks5://a.example:1080"), "", ""},
	{"http", webFields("proxy", "https://a.example"), "", ""},
	{"dns", []any{"host", "a b"}, "host", "The host must be a DNS name."},
	{"dns", []any{"host", `a"b`}, "host", "The host must be a DNS name."},
	{"dns", []any{"host", `a\b`}, "host", "The host must be a DNS name."}, {"dns", []any{"host", " "}, "host", ""},
	{"dns", []any{"host", "a..b"}, "host", "The host must be a DNS name."},
	{"dns", []any{"host", "_sip._tcp.a.example."}, "", ""}, {"dns", nameFields("resolver", "b.example"), "", ""},
	{"dns", nameFields("resolver", "b.example:1"), "", ""}, {"dns", nameFields("resolver", "b.example:65535"), "", ""},
	{"dns", nameFields("resolver", "[2001:db8::1]:53"), "", ""},
	{"websocket", socketFields("subprotocol", "a, b"), "", ""},
	{"websocket", socketFields("subprotocol", "a, b, a"), "subprotocol", ""},
	{"websocket", socketFields("subprotocol", "a b"), "subprotocol", ""},
	{"websocket", socketFields("subprotocol", "a,"), "subprotocol", ""},
	{"websocket", socketFields("subprotocol", ""), "", ""},
}

// generatedFieldEdges returns the edges of statuses, ports and headers.
func generatedFieldEdges() (rows []fieldEdge) {
	for _, text := range []string{"100", "599", "100-599", "200-200", " 418 "} {
		rows = append(rows, fieldEdge{"http", webFields("expected_statuses", []string{"200", text}), "", ""})
	}
	for _, text := range []string{
		"99", "600", "99-200", "200-600", "201-200", "x", "200-x", "x-200", "200-", "-200", "1-2-3", "",
	} {
		rows = append(rows, fieldEdge{
			"http", webFields("expected_statuses", []string{"200", text}), "expected_statuses", wrongStatuses,
		})
	}
	for _, port := range []string{"0", "65536", "-1", "x"} {
		rows = append(rows, fieldEdge{
			"dns", nameFields("resolver", "b.example:"+port), "resolver",
			"The resolver must be a host, or a host and a port.",
		})
	}
	for _, field := range []string{"headers", "secret_headers"} {
		for kind, given := range map[monitor.MonitorType]func(...any) []any{
			"http": webFields, "websocket": socketFields,
		} {
			rows = append(rows, fieldEdge{kind, given(field, map[string]string{"hOST": "b.example:81"}), "", ""},
				fieldEdge{kind, given(field, map[string]string{"Host": "a\u200db..example"}), field, ""},
				fieldEdge{
					kind, given(field, map[string]string{"X": "a\x7fb"}), field,
					"The " + field + " must be text of one line.",
				},
				fieldEdge{
					kind, given(field, map[string]string{"X Y": "a"}), field,
					"The " + field + " must have names and values of HTTP headers.",
				})
		}
	}
	return rows
}

// TestEdgesOfFields checks the last values that are valid and the first ones that are not, and which fields are valid
// together.
func TestEdgesOfFields(t *testing.T) {
	t.Parallel()
	for _, c := range append(fieldEdges, generatedFieldEdges()...) {
		typ, _ := TypeOf(c.kind)
		_, _, err := typ.Read(object(t, fields(t, c.given...)))
		bad, _ := err.(*kernel.ValidationError)
		if bad == nil {
			bad = new(kernel.ValidationError)
		}
		got := strings.Join(slices.Sorted(maps.Keys(bad.Messages())), " ")
		if got != c.field || c.message != "" && strings.Join(bad.Messages()[c.field], " ") != c.message {
			t.Errorf("%s, %v: %v, want %q: %s", c.kind, c.given, err, c.field, c.message)
		}
	}
}

// TestTargets checks to which host and port the limits and the canaries think that a check connects.
func TestTargets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind  monitor.MonitorType
		given []any
		want  Target
	}{
		{"http", []any{"url", "http://a.example/x"}, Target{"a.example", 80}},
		{"http", []any{"url", "https://a.example/x"}, Target{"a.example", 443}},
		{"http", []any{"url", "https://a.example:80"}, Target{"a.example", 80}},
		{"http", []any{"url", "http://[2001:db8::1]:8080"}, Target{"2001:db8::1", 8080}},
		{"http", []any{"url", "https://a.example", "proxy", "http://b.example:3128"}, Target{"a.example", 0}},
		{"websocket", []any{"url", "ws://a.example"}, Target{"a.example", 80}},
		{"websocket", []any{"url", "wss://a.example"}, Target{"a.example", 443}},
		{"tcp", []any{"host", " [::1] ", "port", 7}, Target{"::1", 7}},
		{"tls", []any{"host", "a.example", "server_name", "b.example"}, Target{"a.example", 443}},
		{"dns", []any{"host", "a.example"}, Target{}},
		{"dns", []any{"host", "a.example", "resolver", "b.example"}, Target{"b.example", 53}},
		{"dns", []any{"host", "a.example", "resolver", "[::1]:54"}, Target{"::1", 54}},
		{"smtp", []any{"host", "a.example"}, Target{"a.example", 25}},
		{"postgres", []any{"host", "a.example", "username", "u"}, Target{"a.example", 5432}},
		{"mysql", []any{"host", "a.example", "username", "u"}, Target{"a.example", 3306}},
		{"redis", []any{"host", "a.example"}, Target{"a.example", 6379}},
		{"icmp", []any{"host", "a.example"}, Target{"a.example", 0}},
	} {
		if got := probe(t, c.kind, fields(t, c.given...)).Target(); got != c.want {
			t.Errorf("%s, %v: %+v, want %+v", c.kind, c.given, got, c.want)
		}
	}
}

// TestExpectedStatuses checks statuses at both ends of ranges, and what a good outcome has of the response.
func TestExpectedStatuses(t *testing.T) {
	t.Parallel()
	s := webServer(t, false, func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.URL.Path[1:])
		w.WriteHeader(status)
		if fmt.Fprint(w, "a text"); r.UserAgent() != "Allswell" {
			t.Errorf("the check calls itself %q", r.UserAgent())
		}
	})
	for status, good := range map[int]bool{
		200: true, 201: false, 299: false, 300: false, 301: true, 302: true, 303: true, 305: false, 418: true,
		417: false, 419: false, 500: false, 599: true,
	} {
		o := runOnce(t, "http",
			fields(t, "url", fmt.Sprint(s.URL, "/", status), "expected_statuses",
				[]string{"200", "301-303", " 418 ", "599"}, "follow_redirects", false))
		if (o.Failure == "") != good || good != (o.Body == "") || !o.Answered {
			t.Errorf("status %d: %+v", status, o)
		}
	}
	for _, more := range [][]any{{"expected_statuses", []string{}}, {}} {
		for status, good := range map[int]bool{200: true, 299: true, 300: false} {
			o := runOnce(t, "http", fields(t, append(more, "url", fmt.Sprint(s.URL, "/", status))...))
			if (o.Failure == "") != good {
				t.Errorf("with %v, %d: %+v", more, status, o)
			}
		}
	}
	o := runOnce(t, "http", fields(t, "url", s.URL+"/200", "expected_headers", map[string]string{"X-A": "b"}))
	if o.Failure != "the response has no header X-A" || o.Body != "a text" || o.BodyCut {
		t.Errorf("without a header: %+v", o)
	}
}
