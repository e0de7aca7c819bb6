// Package clients tests clients of the API that others' programs generate from its OpenAPI document.
package clients

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/test/binary"
)

// The generators are pinned by a module of their own, which no other code needs. What they generate is only in a copy
// of it.
const (
	module          = "../../tools/clients"
	document        = "../../internal/surface/api/openapi.json"
	generateTimeout = 20 * time.Minute // compiling half a million lines, on a machine that is busy
)

// TestGeneratedClients generates clients with the default settings of oapi-codegen and ogen, which create objects on a
// server. With ALLSWELL_TEST_GENERATED=1 it runs, if the generators can be downloaded.
func TestGeneratedClients(t *testing.T) {
	if os.Getenv("ALLSWELL_TEST_GENERATED") != "1" {
		t.Skip("ALLSWELL_TEST_GENERATED is not 1: generating and compiling takes minutes")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(module)); err != nil {
		t.Fatal(err)
	}
	openapi, err := filepath.Abs(document)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, dir, "go", "mod", "download"); err != nil {
		t.Skipf("SKIPPED: the generators of %s/go.mod cannot be downloaded from here: %v\n%s", module, err, out)
	}
	if err := os.Mkdir(filepath.Join(dir, "oapicodegen", "allswell"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{ // all with their default settings
		{"tool", "oapi-codegen", "-package", "allswell", "-o", "oapicodegen/allswell/client.go", openapi},
		{"tool", "ogen", "--package", "allswell", "--target", "ogen/allswell", openapi},
	} {
		if out, err := run(t, dir, "go", args...); err != nil {
			t.Fatalf("%s: %v\n%s", args[1], err, out)
		}
	}

	s := binary.NewServer(t, binary.Build(t), "ALLSWELL_DATABASE=sqlite:"+binary.Database(t),
		"ALLSWELL_CHECK_PRIVATE=on")
	s.Start()
	out, err := s.Command("token", "create", "--name", "generated", "--scope", "write")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err != nil || len(lines) != 2 {
		t.Fatalf("creating a token: %v: %s", err, out)
	}
	for _, generator := range []string{"oapicodegen", "ogen"} {
		out, err := run(t, dir, "go", "run", "./"+generator, s.URL, lines[1])
		if err != nil || !strings.HasSuffix(out, "done\n") {
			t.Errorf("the client of %s: %v\n%s", generator, err, out)
		}
	}
}

func run(t *testing.T, dir, name string, args ...string) (output string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), generateTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}
