package check

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell"
)

// TestKeptSecrets checks which changes need the secrets again.
func TestKeptSecrets(t *testing.T) {
	type fields = map[string]json.RawMessage
	const before = `{"url":"https://shop.example.com/health","method":"GET","insecure":false}`
	for _, c := range []struct {
		name, after string
		given       fields
		refused     []string
	}{
		{"another path", `{"url":"https://SHOP.example.com/other?x=1","method":"POST","insecure":false}`, nil, nil},
		{"another host", `{"url":"https://evil.example.com/health","method":"GET","insecure":false}`, nil, []string{"bearer_token", "password"}},
		{"another port", `{"url":"https://shop.example.com:444/health","method":"GET","insecure":false}`, nil, []string{"bearer_token", "password"}},
		{"without TLS", `{"url":"http://shop.example.com/health","method":"GET","insecure":false}`, nil, []string{"bearer_token", "password"}},
		{"by a proxy", `{"url":"https://shop.example.com/health","method":"GET","insecure":false,"proxy":"http://evil.example.com"}`, nil, []string{"bearer_token", "password"}},
		{"without a verified certificate", `{"url":"https://shop.example.com/health","method":"GET","insecure":true}`, nil, []string{"bearer_token", "password"}},
		{"with one of the secrets", `{"url":"https://evil.example.com/"}`, fields{"password": json.RawMessage(`"new"`)}, []string{"bearer_token"}},
		{"with all of them", `{"url":"https://evil.example.com/"}`, fields{"password": json.RawMessage(`"new"`), "bearer_token": json.RawMessage("null")}, nil},
	} {
		err := httpType.CheckKeptSecrets(json.RawMessage(before), json.RawMessage(c.after), []string{"bearer_token", "password"}, c.given)
		var bad *allswell.ValidationError
		var refused []string
		if errors.As(err, &bad) {
			refused = slices.Sorted(maps.Keys(bad.Fields))
		}
		if !slices.Equal(refused, c.refused) {
			t.Errorf("%s: %v, want %v", c.name, refused, c.refused)
		}
	}
	if err := httpType.CheckKeptSecrets(json.RawMessage(before), json.RawMessage(`{"url":"https://evil.example.com/"}`), nil, nil); err != nil {
		t.Errorf("without secrets: %v", err)
	}
}

func TestHideSecrets(t *testing.T) {
	spec := allswell.CheckSpec{
		Config:  json.RawMessage(`{"username":"me"}`),
		Secrets: map[string]json.RawMessage{"password": json.RawMessage(`"SEKRIT2"`), "secret_headers": json.RawMessage(`{"X-Api-Key":"SEKRIT1-long"}`), "bearer_token": json.RawMessage(`"abc"`)},
	}
	for text, want := range map[string]string{
		"X-Api-Key: SEKRIT1-long\nAuthorization: Basic bWU6U0VLUklUMg==\n": "X-Api-Key: [secret]\nAuthorization: Basic [secret]\n",
		"password SEKRIT2 and abc":   "password [secret] and abc",
		"the end is cut: SEKRIT1-lo": "the end is cut: [secret]",
		"nothing":                    "nothing",
		"the value at $.x is " + shorten(strings.Repeat("y ", 97)+"SEKRIT1-long") + ", expected z": "the value at $.x is " + strings.Repeat("y ", 97) + "[secret]…, expected z",
	} {
		if got := HideSecrets(text, spec); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestSecretsInDocumentsAreHidden: pages and APIs repeat a password as their format writes it.
func TestSecretsInDocumentsAreHidden(t *testing.T) {
	spec := allswell.CheckSpec{Secrets: map[string]json.RawMessage{"password": json.RawMessage(`"Zx<9&\"'q%w+ /\\SEKRIT"`)}}
	for _, text := range []string{
		`Zx<9&"'q%w+ /\SEKRIT`, `Zx&lt;9&amp;&#34;&#39;q%w+ /\SEKRIT`, `Zx&lt;9&amp;&quot;&#x27;q%w+ /\SEKRIT`, `Zx&lt;9&amp;&quot;&#039;q%w+ /\SEKRIT`, `Zx&lt;9&amp;"'q%w+ /\SEKRIT`,
		`Zx<9&\"'q%w+ /\\SEKRIT`, `Zx<9&\"'q%w+ \/\\SEKRIT`, `Zx\u003c9\u0026\"'q%w+ /\\SEKRIT`, `Zx%3C9%26%22%27q%25w%2B+%2F%5CSEKRIT`, `Zx%3C9%26%22%27q%25w%2B%20%2F%5CSEKRIT`,
	} {
		if got := HideSecrets("before "+text+" after", spec); got != "before [secret] after" {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
