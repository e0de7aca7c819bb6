package notify

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/allswell/allswell/test/nodeclient"
)

// webhookVerifier verifies each case of its input with each of its secrets, and prints the
// results.
const webhookVerifier = `
const { Webhook } = require("standardwebhooks");
function main(input) {
  const verified = input.map((c) => c.secrets.map((secret) => {
    try {
      return new Webhook(secret).verify(c.body, c.headers).type;
    } catch (e) {
      return e.name === "WebhookVerificationError" || /signature/.test(e.message) ? "" : String(e);
    }
  }));
  console.log(JSON.stringify(verified));
}
` + nodeclient.ReadStdin

// TestWebhookSignaturesInJavaScript checks signatures with the specification's own
// library for JavaScript. The library is loaded from the node_modules of the directory
// ALLSWELL_TEST_NODE_MODULES; the test is skipped without it, unless
// ALLSWELL_TEST_REQUIRE_NODE=1.
func TestWebhookSignaturesInJavaScript(t *testing.T) {
	type input struct {
		Secrets []string          `json:"secrets"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
	}
	var inputs []input
	var want [][]string
	for _, s := range webhookSignedRequests(t) {
		headers := make(map[string]string)
		for name := range s.Seen.Header {
			headers[strings.ToLower(name)] = s.Seen.Header.Get(name)
		}
		var body struct{ Type string }
		if err := json.Unmarshal(s.Seen.Body, &body); err != nil {
			t.Fatal(err)
		}
		var verified, none []string
		for range s.Good {
			verified, none = append(verified, body.Type), append(none, "")
		}
		for range s.Wrong {
			verified, none = append(verified, ""), append(none, "")
		}
		secrets := append(s.Good, s.Wrong...)
		inputs = append(inputs, input{secrets, headers, string(s.Seen.Body)}, input{
			secrets, headers, string(s.Seen.Body) + " ",
		})
		want = append(want, verified, none)
	}
	var got [][]string
	nodeclient.Run(t, "standardwebhooks", webhookVerifier, inputs, &got)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("verified %q\nwant %q", got, want)
	}
}
