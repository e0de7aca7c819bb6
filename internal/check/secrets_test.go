package check

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// destinations says for every field of every type whether a change of it sends secrets elsewhere. A new field that is
// in neither list fails the test.
var destinations = map[string][]string{
	"elsewhere": {
		"url", "host", "port", "proxy", "oauth2_token_url", "tls", "insecure", "ca_certificates", "security",
		"server_name", "resolver",
		"headers", "secret_headers", "digest",
	},
	"the same": {
		"method", "expected_statuses", "body_contains", "body_not_contains", "body_matches", "json_path", "json_value",
		"expected_headers", "body",
		"username", "password", "bearer_token", "oauth2_client_id", "oauth2_client_secret", "oauth2_scopes",
		"warn_days", "down_days",
		"client_certificate", "follow_redirects", "http_version", "max_body_size", "proxy_username", "proxy_password",
		"ip_version", "send", "expect",
		"record_type", "expected_values", "dnssec", "packets", "max_loss", "subprotocol", "service", "database",
		"oauth2_audience", "oauth2_resource", "allow_missing_accept",
	},
}

// otherValues are values that the fields do not have before.
var otherValues = map[string]string{
	"url": `"https://other.example.com"`, "host": `"other.example.com"`, "port": `4711`,
	"proxy": `"http://proxy.example.com"`, "tls": `true`,
	"oauth2_token_url": `"https://login.example.com/other"`, "insecure": `true`, "ca_certificates": `"x"`,
	"security":    `"tls"`,
	"server_name": `"other.example.com"`, "resolver": `"192.0.2.1:53"`, "headers": `{"hOST":"other.example.com"}`,
	"secret_headers": `{"X-Forwarded-Host":"other.example.com"}`, "http_version": `"2"`, "ip_version": `"6"`,
	"method": `"POST"`, "record_type": `"AAAA"`,
}

// otherValue returns a value of a field that it does not have before.
func otherValue(f Field) json.RawMessage {
	if value, ok := otherValues[f.Name]; ok {
		return json.RawMessage(value)
	}
	switch f.Kind {
	case configfield.KindInteger:
		return json.RawMessage(strconv.Itoa(f.Min + 1))
	case configfield.KindFlag:
		return json.RawMessage(strconv.FormatBool(f.Default != "true"))
	case configfield.KindList:
		return json.RawMessage(`["x"]`)
	case configfield.KindMap:
		return json.RawMessage(`{"X-Other":"x"}`)
	}
	return json.RawMessage(`"x"`)
}

// TestEveryFieldThatMovesSecrets changes each field of each type: what sends secrets elsewhere needs them again.
func TestEveryFieldThatMovesSecrets(t *testing.T) {
	for _, kind := range Types {
		before := map[string]json.RawMessage{}
		for _, f := range kind.Fields {
			switch {
			case f.Name == "url" && kind.Name == "websocket":
				before[f.Name] = json.RawMessage(`"wss://shop.example.com/health"`)
			case f.Name == "url":
				before[f.Name] = json.RawMessage(`"https://shop.example.com/health"`)
			case f.Name == "host":
				before[f.Name] = json.RawMessage(`"shop.example.com"`)
			case f.Name == "port":
				before[f.Name] = json.RawMessage(`443`)
			}
		}
		for _, f := range kind.Fields {
			moves, stays := slices.Contains(destinations["elsewhere"], f.Name),
				slices.Contains(destinations["the same"], f.Name)
			if moves == stays {
				t.Errorf("the field %s of %s: does a change send secrets elsewhere?", f.Name, kind.Name)
			}
			if kind.Name == "dns" && f.Name == "host" { // is the question, and not who is asked
				moves = false
			}
			after := maps.Clone(before)
			given := map[string]json.RawMessage{f.Name: otherValue(f)}
			if !f.Secret {
				after[f.Name] = given[f.Name]
			}
			kept := []string{"a_secret"}
			change := configfield.Change{Before: encoded(before), After: encoded(after), Kept: kept, Given: given}
			if got := kind.CheckKeptSecrets(change) != nil; got != moves {
				t.Errorf("%s: a change of %s to %s asks for the secrets again: %t, want %t", kind.Name, f.Name,
					given[f.Name], got, moves)
			}
			change.Given["a_secret"] = json.RawMessage(`"new"`)
			if err := kind.CheckKeptSecrets(change); err != nil {
				t.Errorf("%s: %s with the secret: %v", kind.Name, f.Name, err)
			}
			change.Before = change.After
			delete(change.Given, "a_secret")
			if err := kind.CheckKeptSecrets(change); err != nil && !f.Secret {
				t.Errorf("%s: the same %s: %v", kind.Name, f.Name, err)
			}
		}
	}
}

func encoded(fields map[string]json.RawMessage) json.RawMessage {
	out, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return out
}

// TestKeptSecrets checks which changes need the secrets again.
func TestKeptSecrets(t *testing.T) {
	type fields = map[string]json.RawMessage
	const before = `{"url":"https://shop.example.com/health","method":"GET","insecure":false,` +
		`"headers":{"Accept":"x"},"oauth2_token_url":"https://login.example.com/acme/token"}`
	both := []string{"bearer_token", "password"}
	for _, c := range []struct {
		name, from, to string // of the text of before
		given          fields
		refused        []string
	}{
		{"another path", "shop.example.com/health", "SHOP.example.com:443/other?x=1", nil, nil},
		{"another host", "shop.example.com", "evil.example.com", nil, both},
		{"another port", "shop.example.com", "shop.example.com:444", nil, both},
		{"without TLS", "https://shop", "http://shop", nil, both},
		{"by a proxy", `"method"`, `"proxy":"http://evil.example.com","method"`, nil, both},
		{"without a verified certificate", `"insecure":false`, `"insecure":true`, nil, both},
		{"with another header", `"Accept":"x"`, `"Accept":"y"`, nil, nil},
		{"to another virtual host", `"Accept":"x"`, `"Host":"evil.example.com"`, nil, both},
		{"to another virtual host, in small letters", `"Accept":"x"`, `"host":"evil.example.com"`, nil, both},
		{"behind a proxy, to another host", `"Accept":"x"`, `"X-Forwarded-Host":"evil.example.com"`, nil, both},
		{"to a secret virtual host", `x`, `x`, fields{"secret_headers": json.RawMessage(`{"HOST":"evil.example.com"}`)},
			both},
		{"behind a proxy of CGI, to another host", `"Accept":"x"`, `"x_forwarded_host":"evil.example.com"`, nil, both},
		{"by another address", `"Accept":"x"`, `"X-HTTP-Host-Override":"evil.example.com"`, nil, both},
		{"with a secret header", `x`, `x`, fields{"secret_headers": json.RawMessage(`{"X-Api-Key":"1"}`)}, nil},
		{"to another customer of the login", `acme/token`, `evil/token`, nil, both},
		{"with one of the secrets", "shop.example.com", "evil.example.com",
			fields{"password": json.RawMessage(`"new"`)}, both[:1]},
		{"with all of them", "shop.example.com", "evil.example.com",
			fields{"password": json.RawMessage(`"new"`), "bearer_token": json.RawMessage("null")}, nil},
	} {
		change := configfield.Change{
			Before: json.RawMessage(before), After: json.RawMessage(strings.Replace(before, c.from, c.to, 1)),
			Kept: both, Given: c.given,
		}
		var bad *kernel.ValidationError
		var refused []string
		if errors.As(httpType.CheckKeptSecrets(change), &bad) {
			refused = slices.Sorted(maps.Keys(bad.Messages()))
		}
		if !slices.Equal(refused, c.refused) {
			t.Errorf("%s: %v, want %v", c.name, refused, c.refused)
		}
		change.Kept = nil
		if err := httpType.CheckKeptSecrets(change); err != nil {
			t.Errorf("%s, without secrets: %v", c.name, err)
		}
	}
}

func TestHideSecrets(t *testing.T) {
	spec := monitor.CheckSpec{
		Config: json.RawMessage(`{"username":"me","proxy_username":"us"}`),
		Secrets: map[string]json.RawMessage{
			"password":       json.RawMessage(`"SEKRIT2"`),
			"secret_headers": json.RawMessage(`{"X-Api-Key":"SEKRIT1-long","Authorization":"Bearer SEKRIT3"}`),
			"bearer_token":   json.RawMessage(`"abc"`),
		},
	}
	for text, want := range map[string]string{
		"X-Api-Key: SEKRIT1-long\nAuthorization: Basic bWU6U0VLUklUMg==\n": "X-Api-Key: [secret]\nAuthorization: " +
			"Basic [secret]\n",
		"Proxy-Authorization: Basic dXM6U0VLUklUMg==": "Proxy-Authorization: Basic [secret]",
		"password SEKRIT2 and abc":                    "password [secret] and abc",
		"the token SEKRIT3 is unknown":                "the token [secret] is unknown",
		"nothing":                                     "nothing",
		"the value at $.x is " + shorten(strings.Repeat("y ", 97)+"SEKRIT1-long") +
			", expected z": "the value at $.x is " + strings.Repeat("y ", 86) + "…, expected z",
	} {
		if got := (Outcome{Failure: text, Body: text}).WithoutSecrets(spec); got.Failure != want {
			t.Errorf("%q becomes %q, want %q", text, got.Failure, want)
		}
	}
}

// TestSecretsInDocumentsAreHidden: pages and APIs repeat a password as their format writes it.
func TestSecretsInDocumentsAreHidden(t *testing.T) {
	spec := monitor.CheckSpec{
		Secrets: map[string]json.RawMessage{"password": json.RawMessage(`"Zx<9&\"'q%w+ /\\SEKRIT"`)},
	}
	for _, text := range []string{
		`Zx<9&"'q%w+ /\SEKRIT`, `Zx&lt;9&amp;&#34;&#39;q%w+ /\SEKRIT`, `Zx&lt;9&amp;&quot;&#x27;q%w+ /\SEKRIT`,
		`Zx&lt;9&amp;&quot;&#039;q%w+ /\SEKRIT`, `Zx&lt;9&amp;"'q%w+ /\SEKRIT`,
		`Zx<9&\"'q%w+ /\\SEKRIT`, `Zx<9&\"'q%w+ \/\\SEKRIT`, `Zx\u003c9\u0026\"'q%w+ /\\SEKRIT`,
		`Zx%3C9%26%22%27q%25w%2B+%2F%5CSEKRIT`, `Zx%3C9%26%22%27q%25w%2B%20%2F%5CSEKRIT`,
		`Zx%3c9%26%22%27q%25w%2b+%2f%5cSEKRIT`, `Zx%3c9%26%22%27q%25w%2b%20%2f%5cSEKRIT`,
		`Zx%3C9%26%22'q%25w%2B%20%2F%5CSEKRIT`,
		`Zx&#60;9&#38;&#34;&#39;q&#37;w&#43; &#47;&#92;SEKRIT`,
		`Zx&#x3C;9&#x26;&#x22;&#x27;q&#x25;w&#x2B; &#x2F;&#x5C;SEKRIT`,
		`Zx\u003C9\u0026\u0022\u0027q\u0025w\u002B \u002F\u005CSEKRIT`, `Zx=3C9=26=22=27q=25w=2B =2F=5CSEKRIT`,
	} {
		got := (Outcome{Body: "before " + text + " after"}).WithoutSecrets(spec)
		if got.Body != "before [secret] after" {
			t.Errorf("%q becomes %q", text, got.Body)
		}
	}
}

// TestSecretsCannotBeGuessed: the target repeats the headers of the request, in several forms, in its body and its
// headers.
func TestSecretsCannotBeGuessed(t *testing.T) {
	forms := map[string]func(string) string{
		"as it is": func(s string) string { return s }, "in a URL": url.QueryEscape, "in HTML": html.EscapeString,
		"in base64": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	}
	const secret = `Zx9&SEKRIT"q`
	for name, write := range forms {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			echo := write(r.Header.Get("X-Api-Key"))
			w.Header().Set("X-Echo", echo)
			io.WriteString(w, "key="+echo)
		}))
		t.Cleanup(server.Close)
		guess := write(secret)
		for field, value := range map[string]any{
			"max_body_size": len("key=") + 3, "body_contains": guess,
			"body_matches":     "^key=" + regexp.QuoteMeta(guess[:3]),
			"expected_headers": map[string]string{"X-Echo": guess[:6]},
		} {
			given := map[string]any{
				"url": server.URL, "secret_headers": map[string]string{"X-Api-Key": secret}, field: value,
			}
			if field == "max_body_size" { // the body ends within the secret
				given["body_contains"] = "key=" + guess[:3]
			}
			fields := map[string]json.RawMessage{}
			for key, v := range given {
				fields[key], _ = json.Marshal(v)
			}
			p := httpType.New()
			if err := configfield.Configure(p, json.RawMessage("{}"), fields); err != nil {
				t.Fatal(err)
			}
			if o := Run(t.Context(), &Network{}, p, 10*time.Second); o.Failure == "" {
				t.Errorf("%s, %s: a right guess can be told from a wrong one", name, field)
			}
		}
	}
}

// TestEndOfBodyTellsNothing checks that a right guess of the beginning of a secret cannot be told from a wrong one,
// wherever the body is cut. The target returns the query: the text is chosen by the person who changes the check.
func TestEndOfBodyTellsNothing(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.URL.RawQuery+strings.Repeat("-", 100))
	}))
	defer server.Close()
	const secret = "k3yZq9w"
	secrets := map[string]string{"X-Key": secret}
	for n := 1; n < len(secret); n++ {
		for _, expected := range []string{"[secret]", "[", "---", secret[:n]} {
			var seen []string
			for _, guess := range []string{secret[:n], strings.Repeat("q", n)} {
				p := probe(t, "http",
					fields(t, "url", server.URL+"/?---"+guess, "secret_headers", secrets, "body_contains", expected,
						"max_body_size", 3+n))
				o := Run(t.Context(), &Network{}, p, 10*time.Second)
				seen = append(seen, o.Failure)
			}
			if seen[0] != seen[1] {
				t.Errorf("%d characters, %q expected: %q", n, expected, seen)
			}
		}
	}
}

// TestHiddenTextIsNotAbsent checks that a text which a check hides from itself does not count as absent, and that a
// body which is as long as is read is not cut.
func TestHiddenTextIsNotAbsent(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := url.QueryUnescape(r.URL.RawQuery)
		io.WriteString(w, text)
	}))
	defer server.Close()
	for _, c := range []struct {
		secret, body, field string
		value               any
		want                bool
	}{
		{"maintenance", "down for maintenance", "body_not_contains", "down for maintenance", false},
		{"maintenance", "down for maintenance", "body_not_contains", "failure", false},
		{"maintenance", "all is well", "body_not_contains", "maintenance", true},
		{"https://x.test/?mode=error", "fatal error", "body_not_contains", "error", false},
		{"maintenance", `[{"state":"maintenance"}]`, "json_path", "$[?@.state != 'maintenance']", false},
		{"maintenance", `[{"state":"up"}]`, "json_path", "$[?@.state != 'maintenance']", true},
		{"maintenance", `{"state":"maintenance"}`, "json_path", "$.state", true},
		{"okay-but-long", "ok", "body_contains", "ok", true},
	} {
		p := probe(t, "http",
			fields(t, "url", server.URL+"/?"+url.QueryEscape(c.body), "secret_headers",
				map[string]string{"X-Key": c.secret},
				c.field, c.value, "max_body_size", len(c.body)))
		if o := Run(t.Context(), &Network{}, p, 10*time.Second); (o.Failure == "") != c.want {
			t.Errorf("secret %q, body %q, %s %v: %q", c.secret, c.body, c.field, c.value, o.Failure)
		}
	}
}

// CheckKeptSecrets returns a *kernel.ValidationError on each secret that a change keeps but sends elsewhere: see
// configfield.CheckKeptSecrets.
func (t Type) CheckKeptSecrets(c configfield.Change) error {
	return configfield.CheckKeptSecrets(func() configfield.Destined { return t.New() }, c)
}
