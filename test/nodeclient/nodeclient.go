// Package nodeclient runs npm packages in tests, as independent clients of Allswell.
package nodeclient

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Run runs a script with a package of npm, which is looked for in the
// node_modules of the directory ALLSWELL_TEST_NODE_MODULES; with
// ALLSWELL_TEST_REQUIRE_NODE=1 it must be there. The script reads input from
// stdin and writes JSON, which goes into output.
func Run(t *testing.T, name, script string, input, output any) {
	t.Helper()
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
	if _, err := os.Stat(dir + "/node_modules/" + name); err != nil {
		missing("npm's %s is not installed: %v", name, err)
	}
	stdin, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "-e", script)
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, bytes.NewReader(stdin), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, output); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
}

// ReadStdin is the beginning of a script: it calls main with the input.
const ReadStdin = `
let input = "";
process.stdin.on("data", (part) => { input += part; });
process.stdin.on("end", () => main(JSON.parse(input)));
`
