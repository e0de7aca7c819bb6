// Package nodeclient runs npm packages in tests, as independent clients of Allswell.
package nodeclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Run runs a script with an npm package, which must be in the node_modules of the directory ALLSWELL_TEST_NODE_MODULES.
// Without node or the package, the test is skipped, or fails if ALLSWELL_TEST_REQUIRE_NODE is 1. The script reads input
// from stdin and writes JSON, which is decoded into output.
func Run(t *testing.T, name, script string, input, output any) {
	t.Helper()
	node, dir := installed(t, name)
	stdin, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
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

// Start runs a module with an npm package, like Run, until the test ends, and returns the first line that it writes.
func Start(t *testing.T, name, module string, args ...string) string {
	t.Helper()
	node, dir := installed(t, name)
	cmd := exec.CommandContext(t.Context(), node, append([]string{"--input-type=module", "-e", module}, args...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Wait() }) // the end of the test's context kills it
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s does not start: %v", name, err)
	}
	return strings.TrimSpace(line)
}

// installed returns the path of node, and the directory with an npm package. It skips or fails the test if one is
// missing; see Run.
func installed(t *testing.T, name string) (node, dir string) {
	t.Helper()
	missing := t.Skipf
	if os.Getenv("ALLSWELL_TEST_REQUIRE_NODE") == "1" {
		missing = t.Fatalf
	}
	node, err := exec.LookPath("node")
	if err != nil {
		missing("node is not installed")
	}
	dir = os.Getenv("ALLSWELL_TEST_NODE_MODULES")
	if dir == "" {
		missing("ALLSWELL_TEST_NODE_MODULES names no directory")
	}
	if _, err := os.Stat(dir + "/node_modules/" + name); err != nil {
		missing("npm's %s is not installed: %v", name, err)
	}
	return node, dir
}

// ReadStdin is the beginning of a script: it calls main with the input.
const ReadStdin = `
let input = "";
process.stdin.on("data", (part) => { input += part; });
process.stdin.on("end", () => main(JSON.parse(input)));
`
