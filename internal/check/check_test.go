package check

import (
	"encoding/json"
	"io"
	"log"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// testTimeout is the timeout of runs that do not wait for it.
const testTimeout = 30 * time.Second

// probe returns the probe of a type for fields in JSON.
func probe(t *testing.T, name monitor.MonitorType, fields string) Probe {
	t.Helper()
	typ, ok := TypeOf(name)
	if !ok {
		t.Fatalf("no type %s", name)
	}
	config, secrets, err := typ.Read(object(t, fields))
	if err != nil {
		t.Fatalf("Read(%s): %v", fields, err)
	}
	p, err := typ.Probe(config, secrets)
	if err != nil {
		t.Fatalf("Probe(%s): %v", config, err)
	}
	return p
}

func object(t *testing.T, text string) map[string]json.RawMessage {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return fields
}

// runOnce runs a probe for fields in JSON on a network without limits.
func runOnce(t *testing.T, name monitor.MonitorType, fields string) Outcome {
	t.Helper()
	return Run(t.Context(), new(Network), probe(t, name, fields), testTimeout)
}

// fields returns a JSON object of alternating keys and values.
func fields(t *testing.T, pairs ...any) string {
	t.Helper()
	m := make(map[string]any)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// expectGood fails the test if a target did not work as expected.
func expectGood(t *testing.T, o Outcome) {
	t.Helper()
	if o.Failure != "" || !o.Answered || o.Phases.Total <= 0 {
		t.Errorf("outcome %+v, expected a good one", o)
	}
}

// expectFailure fails the test unless the reason is the given one.
func expectFailure(t *testing.T, o Outcome, failure string) {
	t.Helper()
	if o.Failure != failure {
		t.Errorf("failure %q, expected %q", o.Failure, failure)
	}
}

// closedPort returns an address that refuses connections.
func closedPort(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// TestTypes checks that each type has the fields of its probe, and that their defaults are the documented ones.
func TestTypes(t *testing.T) {
	names := make(map[monitor.MonitorType]bool)
	for _, typ := range Types {
		if names[typ.Name] || typ.Label == "" || !strings.HasSuffix(typ.Help, ".") ||
			typ.Name == monitor.MonitorHeartbeat {
			t.Errorf("type %+v is not complete", typ)
		}
		names[typ.Name] = true
		encoded, err := json.Marshal(typ.New())
		if err != nil {
			t.Fatal(err)
		}
		defaults := object(t, string(encoded))
		for _, f := range typ.Fields {
			if f.Label == "" || !strings.HasSuffix(f.Help, ".") || f.Kind == "" {
				t.Errorf("%s: field %+v is not complete", typ.Name, f)
			}
			testField(t, typ, f)
			if value := defaults[f.Name]; f.Default != "" && strings.Trim(string(value), `"[]`) != f.Default {
				t.Errorf("%s: the default of %s is %s, documented is %s", typ.Name, f.Name, value, f.Default)
			}
			delete(defaults, f.Name)
		}
		for name := range defaults {
			t.Errorf("%s: the probe has %s, which is no field", typ.Name, name)
		}
	}
}

// testField checks that a wrong kind of value is refused, and that a good one reaches the probe: it is in the
// configuration or among the secrets.
func testField(t *testing.T, typ Type, f Field) {
	t.Helper()
	_, _, err := typ.Read(object(t, `{"`+f.Name+`": {"a": 1}}`))
	bad, ok := err.(*kernel.ValidationError)
	if !ok || len(bad.Messages()[f.Name]) != 1 {
		t.Errorf("%s: %s accepts an object: %v", typ.Name, f.Name, err)
	}
	p, err := decoded(typ, object(t, fields(t, f.Name, sample(f))))
	if err != nil {
		t.Errorf("%s: %s: %v", typ.Name, f.Name, err)
		return
	}
	encoded, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := object(t, string(encoded))[f.Name]; !ok {
		t.Errorf("%s: %s does not reach the probe: %s", typ.Name, f.Name, encoded)
	}
}

func sample(f Field) any {
	switch f.Kind {
	case configfield.KindInteger:
		return max(f.Min, 1)
	case configfield.KindFlag:
		return true
	case configfield.KindList:
		return []string{"x"}
	case configfield.KindMap:
		return map[string]string{"x": "y"}
	}
	return "x"
}

const exampleURL = `"url": "https://example.com"`

// configurationsToRead are configurations of types, and the fields of each that are not valid.
var configurationsToRead = []struct{ name, typ, fields, invalid string }{
	{"required", "http", `{}`, "url"},
	{"null is missing", "http", `{"url": null}`, "url"},
	{"all that is invalid", "http", `{"url": 1, "method": "BREW", "insecure": "yes", "max_body_size": 1.5}`,
		"insecure max_body_size method url"},
	{"scheme", "http", `{"url": "ftp://example.com"}`, "url"},
	{"no scheme", "http", `{"url": "example"}`, "url"},
	{"credentials in a URL", "http", `{"url": "https://a:b@example.com"}`, "url"},
	{"port of a URL", "http", `{"url": "https://example.com:99999"}`, "url"},
	{"a line in a URL", "http", `{"url": "https://example.com/\nX"}`, "url"},
	{"status", "http", `{` + exampleURL + `, "expected_statuses": ["299-200"]}`, "expected_statuses"},
	{"numbers in a list", "http", `{` + exampleURL + `, "expected_statuses": [200]}`, "expected_statuses"},
	{"null in a list", "http", `{` + exampleURL + `, "expected_statuses": [null]}`, "expected_statuses"},
	{"regular expression", "http", `{` + exampleURL + `, "body_matches": "("}`, "body_matches"},
	{"header name", "http", `{` + exampleURL + `, "headers": {"a b": "c"}}`, "headers"},
	{"header value", "http", `{` + exampleURL + `, "secret_headers": {"a": "b\r\nc: d"}}`, "secret_headers"},
	{"header of the transfer", "http", `{` + exampleURL + `, "headers": {"content-length": "1"}}`, "headers"},
	{"both credentials", "http", `{` + exampleURL + `, "username": "a", "bearer_token": "b"}`, "bearer_token"},
	{"certificates", "http", `{` + exampleURL + `, "ca_certificates": "x", "client_certificate": "y"}`,
		"ca_certificates client_certificate"},
	{"days", "http", `{` + exampleURL + `, "warn_days": 3, "down_days": 4}`, "down_days"},
	{"port", "tcp", `{"host": "a", "port": 65536}`, "port"},
	{"host", "tcp", `{"host": "a b", "port": 1}`, "host"},
	{"metadata service by way of IPv6", "http",
		`{"url": "http://[64:ff9b::a9fe:a9fe]/", "proxy": "http://[2002:a9fe:a9fe::1]:80", "oauth2_token_url": ` +
			`"http://[::169.254.169.254]/", "oauth2_client_id": "x"}`,
		"url proxy oauth2_token_url"},
	{"metadata service", "http",
		`{"url": "http://169.254.169.254/latest/", "proxy": "http://[fd00:ec2::254]:80", "oauth2_token_url": ` +
			`"http://[::ffff:169.254.169.254]/", "oauth2_client_id": "x"}`,
		"url proxy oauth2_token_url"},
	{"unspecified address", "tcp", `{"host": "0.0.0.0", "port": 1}`, "host"},
	{"multicast", "icmp", `{"host": "ff02::1%eth0"}`, "host"},
	{"broadcast", "websocket", `{"url": "ws://255.255.255.255"}`, "url"},
	{"name server", "dns", `{"host": "example.com", "resolver": "169.254.169.254:53"}`, "resolver"},
	{"good PTR", "dns", `{"host": "169.254.169.254", "record_type": "PTR"}`, ""},
	{"good", "http",
		`{` + exampleURL +
			`, "expected_statuses": ["200", "300-399"], "password": "p", "headers": {"Accept": "text/html"}}`,
		""},
	{"good IPv6", "tcp", `{"host": "[::1]", "port": 1}`, ""},
}

// TestRead checks what a request may contain.
func TestRead(t *testing.T) {
	for _, c := range configurationsToRead {
		t.Run(c.name, func(t *testing.T) {
			typ, _ := TypeOf(monitor.MonitorType(c.typ))
			config, secrets, err := typ.Read(object(t, c.fields))
			if c.invalid == "" {
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(config), "password") ||
					c.name == "good" && string(secrets["password"]) != `"p"` {
					t.Errorf("config %s, secrets %s", config, secrets)
				}
				return
			}
			bad, ok := err.(*kernel.ValidationError)
			if !ok {
				t.Fatalf("error %v, expected a *ValidationError", err)
			}
			expected := strings.Fields(c.invalid)
			for _, field := range expected {
				if len(bad.Messages()[field]) != 1 {
					t.Errorf("%s: %q", field, bad.Messages()[field])
				}
			}
			if len(bad.Messages()) != len(expected) {
				t.Errorf("invalid: %v, expected %s", bad.Messages(), c.invalid)
			}
		})
	}
}

// TestReadAgain checks that a configuration can be read again, as a change of one field does.
func TestReadAgain(t *testing.T) {
	typ, _ := TypeOf("http")
	config, _, err := typ.Read(object(t, `{"url": "https://example.com", "warn_days": 0}`))
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := typ.Read(object(t, string(config)))
	if err != nil || string(again) != string(config) {
		t.Errorf("configuration that is read again: %s, %v, want %s", again, err, config)
	}
	if !strings.Contains(string(config), `"warn_days":0`) {
		t.Errorf("%s does not have warn_days", config)
	}
}

// TestLimitOfConfiguration checks that long fields are refused together.
func TestLimitOfConfiguration(t *testing.T) {
	headers := make(map[string]string)
	for i := range configfield.MaxEntries {
		headers["X-"+strings.Repeat("a", i+1)] = strings.Repeat("b", 1900)
	}
	typ, _ := TypeOf("http")
	_, _, err := typ.Read(object(t, fields(t, "url", "https://example.com", "headers", headers)))
	if bad, ok := err.(*kernel.ValidationError); !ok || len(bad.Messages()["type"]) != 1 {
		t.Errorf("error %v", err)
	}
}

// quiet discards what servers of tests log.
var quiet = log.New(io.Discard, "", 0)

// decoded returns a probe with fields, without validating it.
func decoded(t Type, given map[string]json.RawMessage) (Probe, error) {
	p := t.New()
	text, err := json.Marshal(given)
	if err != nil {
		return nil, err
	}
	return p, json.Unmarshal(text, p)
}
