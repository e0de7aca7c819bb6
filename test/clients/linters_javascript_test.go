package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/allswell/allswell/test/nodeclient"
)

// linter runs the linter of a package of npm, and writes its exit code and its output.
const linter = nodeclient.ReadStdin + `
const path = require("path");
async function main({ name, bin, args }) {
  const program = path.join(path.dirname(require.resolve(name + "/package.json")), bin);
  const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
  const run = require("child_process").spawnSync(process.execPath, [program, ...args], { encoding: "utf8", env, maxBuffer: 1 << 26 });
  console.log(JSON.stringify({ code: run.status, output: run.stdout, errors: run.stderr }));
}
`

// TestLintersInJavaScript holds the OpenAPI document against the rules that Redocly and Spectral recommend.
func TestLintersInJavaScript(t *testing.T) {
	openapi, err := filepath.Abs(document)
	if err != nil {
		t.Fatal(err)
	}
	ruleset := filepath.Join(t.TempDir(), "spectral.yaml")
	if err := os.WriteFile(ruleset, []byte("extends: [spectral:oas]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	type input struct {
		Name string   `json:"name"`
		Bin  string   `json:"bin"`
		Args []string `json:"args"`
	}
	type output struct {
		Code           int
		Output, Errors string
	}
	for _, in := range []struct {
		input
		clean string // the output without findings
	}{
		{input{
			"@redocly/cli", "bin/cli.js",
			[]string{"lint", "--extends", "recommended", "--format", "github-actions", openapi},
		}, ""},
		{input{
			"@stoplight/spectral-cli", "dist/index.js",
			[]string{"lint", openapi, "--ruleset", ruleset, "--fail-severity", "hint", "--format", "json", "--quiet"},
		}, "[]"},
	} {
		var out output
		nodeclient.Run(t, in.Name, linter, in.input, &out)
		if out.Code != 0 || strings.TrimSpace(out.Output) != in.clean {
			t.Errorf("%s: exit code %d\n%s\n%s", in.Name, out.Code, out.Output, out.Errors)
		}
	}
}
