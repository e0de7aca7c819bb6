package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// webhookVerifier verifies each case of its input with each of its secrets, and
// says which did.
const webhookVerifier = `
const { Webhook } = require("standardwebhooks");
let input = "";
process.stdin.on("data", (part) => { input += part; });
process.stdin.on("end", () => {
  const verified = JSON.parse(input).map((c) => c.secrets.map((secret) => {
    try {
      return new Webhook(secret).verify(c.body, c.headers).type;
    } catch (e) {
      return e.name === "WebhookVerificationError" || /signature/.test(e.message) ? "" : String(e);
    }
  }));
  console.log(JSON.stringify(verified));
});
`

// TestWebhookSignaturesInJavaScript checks signatures with the specification's own
// library for JavaScript. The library is loaded from the node_modules of the directory
// ALLSWELL_TEST_NODE_MODULES; the test is skipped without it, unless
// ALLSWELL_TEST_REQUIRE_NODE=1.
func TestWebhookSignaturesInJavaScript(t *testing.T) {
	missing := t.Skipf
	if os.Getenv("ALLSWELL_TEST_REQUIRE_NODE") == "1" {
		missing = t.Fatalf
	}
	node, err := exec.LookPath("node")
	if err != nil {
		missing("node is not installed")
	}
	dir := os.Getenv("ALLSWELL_TEST_NODE_MODULES")
	if dir == "" {
		missing("ALLSWELL_TEST_NODE_MODULES names no directory")
	}
	if _, err := os.Stat(dir + "/node_modules/standardwebhooks"); err != nil {
		missing("npm's standardwebhooks is not installed: %v", err)
	}

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
		inputs = append(inputs, input{secrets, headers, string(s.Seen.Body)}, input{secrets, headers, string(s.Seen.Body) + " "})
		want = append(want, verified, none)
	}
	stdin, err := json.Marshal(inputs)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), webhookPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "-e", webhookVerifier)
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, bytes.NewReader(stdin), os.Stderr
	got, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(got)) != string(wanted) {
		t.Errorf("verified %s\nwant %s", got, wanted)
	}
}
