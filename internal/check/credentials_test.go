package check

import (
	"context"
	"crypto/md5"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// echo repeats the credentials of a header in the header X-Echo and in the body.
func echo(header string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, value, _ := strings.Cut(r.Header.Get(header), " ")
		if i := strings.Index(value, `response="`); i >= 0 { // of Digest, the part that depends on the password
			value, _, _ = strings.Cut(value[i+len(`response="`):], `"`)
		}
		w.Header().Set("X-Echo", value)
		fmt.Fprint(w, "sent="+value)
	}
}

// runWithoutSecrets runs a check over HTTP, and returns its outcome as it is saved.
func runWithoutSecrets(t *testing.T, given ...any) Outcome {
	t.Helper()
	secrets := map[string]json.RawMessage{}
	config := object(t, fields(t, given...))
	for _, field := range httpType.Fields {
		if value, ok := config[field.Name]; ok && field.Secret {
			secrets[field.Name] = value
			delete(config, field.Name)
		}
	}
	p, err := httpType.Probe(encoded(config), secrets)
	if err != nil {
		t.Fatal(err)
	}
	return Run(t.Context(), new(Network), p, testTimeout).WithoutSecrets(monitor.CheckSpec{
		Config: encoded(config), Secrets: secrets,
	})
}

// TestCredentialsCannotBeGuessed checks that no condition of a check sees the credentials of a request, whichever way
// it authenticates: the target repeats them in its body and in a header.
func TestCredentialsCannotBeGuessed(t *testing.T) {
	t.Parallel()
	target := webServer(t, false, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"access_token": "the-t0ken-itself", "token_type": "Bearer", "expires_in": 3600}`)
			return
		}
		echo("Authorization")(w, r)
	}).URL
	digest := digestServer(t, []string{`Digest realm="a realm", nonce="n0nce"`}, md5.New, "", echo("Authorization"))
	proxy := webServer(t, false, echo("Proxy-Authorization")).URL
	for name, given := range map[string][]any{
		"basic":  {"url", target, "username", "me", "password", "SEKRIT"},
		"bearer": {"url", target, "bearer_token", "SEKRIT"},
		"oauth2": {"url", target, "oauth2_token_url", target + "/token", "oauth2_client_id", "client",
			"oauth2_client_secret", "SEKRIT"},
		"header": {"url", target, "secret_headers", map[string]string{"Authorization": "Token SEKRIT-long-enough"}},
		"digest": {"url", digest + "/x", "username", "me", "password", "secret", "digest", true},
		"proxy":  {"url", "http://shop.test/", "proxy", proxy, "proxy_username", "us", "proxy_password", "SEKRIT"},
	} {
		for field, value := range map[string]any{
			"body_matches": "^sent=[^[]{4}", "expected_headers": map[string]string{"X-Echo": "e"},
		} {
			o := runOnce(t, "http", fields(t, append(given, field, value)...))
			if field == "expected_headers" && !strings.HasPrefix(o.Failure, "the header") { // [secret] has an e
				expectGood(t, o)
			} else if field == "body_matches" && o.Failure != "the body does not match the regular expression" {
				t.Errorf("%s: the credentials can be guessed: %+v", name, o)
			}
		}
		expected := append(given, "body_contains", "sent=[secret]",
			"expected_headers", map[string]string{"X-Echo": "[secret]"})
		if o := runOnce(t, "http", fields(t, expected...)); o.Failure != "" {
			t.Errorf("%s: %s; the body is %q", name, o.Failure, o.Body)
		}
		o := runWithoutSecrets(t, append(given, "expected_statuses", []string{"404"})...)
		// The password of Digest is the word in the mark, which is hidden, too.
		if o.Failure != "HTTP 200 (expected 404)" ||
			strings.ReplaceAll(o.Body, "[[secret]]", "[secret]") != "sent=[secret]" {
			t.Errorf("%s: %q, with the body %q", name, o.Failure, o.Body)
		}
	}
}

// saying is a probe with a given outcome.
type saying struct {
	configfield.Destined
	outcome Outcome
}

func (saying) Target() Target                      { return Target{} }
func (s saying) run(context.Context, *run) Outcome { return s.outcome }

// TestSecretsAreHiddenEverywhere checks each text of an outcome alone, and bodies that are cut within a secret: by the
// probe, or because they are too long to be kept.
func TestSecretsAreHiddenEverywhere(t *testing.T) {
	t.Parallel()
	const secret = "SEKRIT-of-the-check"
	spec := monitor.CheckSpec{Secrets: map[string]json.RawMessage{"password": json.RawMessage(`"` + secret + `"`)}}
	for name, o := range map[string]Outcome{
		"failure": {Failure: "it says " + secret + "."}, "warning": {Warning: "it says " + secret + "."},
		"body": {Body: "it says " + secret + "."},
		"all": {
			Failure: "it says " + secret + ".", Warning: "it says " + secret + ".", Body: "it says " + secret + ".",
		},
	} {
		want := Outcome{
			Failure: strings.ReplaceAll(o.Failure, secret, "[secret]"),
			Warning: strings.ReplaceAll(o.Warning, secret, "[secret]"),
			Body:    strings.ReplaceAll(o.Body, secret, "[secret]"),
		}
		if got := o.WithoutSecrets(spec); got != want {
			t.Errorf("%s: %+v", name, got)
		}
		if got := o.WithoutSecrets(monitor.CheckSpec{}); got != o {
			t.Errorf("%s, of a check without secrets: %+v", name, got)
		}
	}
	for n := range len(secret) + 1 {
		before := strings.Repeat("x", monitor.MaxFailedBody-n)
		for name, o := range map[string]Outcome{
			"too long":                    {Failure: "it fails", Body: before + secret + "and more"},
			"cut":                         {Failure: "it fails", Body: "it says " + secret[:n], BodyCut: true},
			"as long as is kept, and cut": {Failure: "it fails", Body: before + secret[:n], BodyCut: true},
		} {
			got := Run(t.Context(), new(Network), saying{outcome: o}, testTimeout).WithoutSecrets(spec)
			if strings.Contains(got.Body, "S") || !got.BodyCut {
				t.Errorf("%s, after %d bytes of the secret: …%s, cut %v", name, n, got.Body[max(0, len(got.Body)-40):],
					got.BodyCut)
			}
		}
		whole := Outcome{Failure: "it fails", Body: before + secret[:n]}
		got := Run(t.Context(), new(Network), saying{outcome: whole}, testTimeout)
		if got.Body != whole.Body || got.BodyCut {
			t.Errorf("a body as long as is kept is cut: %d bytes, cut %v", len(got.Body), got.BodyCut)
		}
	}
}

// TestRoutingHeadersMoveSecrets checks which changes of the headers that choose who gets a request need the secrets
// again.
func TestRoutingHeadersMoveSecrets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, before, after string
		moves               bool
	}{
		{"the same", `{"Host":"a.example"}`, `{"Host":"a.example"}`, false},
		{"written otherwise", `{"Host":"a.example"}`, `{"hOST":" A.example "}`, false},
		{"another", `{"Host":"a.example"}`, `{"Host":"b.example"}`, true},
		{"by another header", `{"Host":"a.example"}`, `{"X-Forwarded-Host":"a.example"}`, true},
		{"one more", `{"Host":"a.example"}`, `{"Host":"a.example","X-Real-Host":"a.example"}`, true},
		{"removed", `{"Host":"a.example"}`, `{}`, true},
		{"exchanged", `{"Host":"a.example","X-Host":"b.example"}`, `{"Host":"b.example","X-Host":"a.example"}`, true},
		{"several", `{"Host":"a.example","X-Host":"b.example","Forwarded":"c"}`,
			`{"Forwarded":"c","X-Host":"b.example","Host":"a.example"}`, false},
	} {
		for range 20 { // maps have no order
			for kind, address := range map[*Type]string{
				&httpType: "https://shop.example", &websocketType: "wss://shop.example",
			} {
				config := func(headers string) json.RawMessage {
					return json.RawMessage(`{"url":"` + address + `","headers":` + headers + `}`)
				}
				err := kind.CheckKeptSecrets(configfield.Change{
					Before: config(c.before), After: config(c.after), Kept: []string{"secret_headers"},
				})
				if (err != nil) != c.moves {
					t.Fatalf("%s, %s: %v", kind.Name, c.name, err)
				}
			}
		}
	}
}
