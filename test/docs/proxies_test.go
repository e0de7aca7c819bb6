package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestProxies checks samples of configurations with the reverse proxies that they are for.
func TestProxies(t *testing.T) {
	check := func(b block, program, require, text string, args ...string) {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv(require) == "1" {
				t.Error(err)
			}
			t.Logf("%s is not installed", program)
			return
		}
		file := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(program, append(args, file)...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v: %s", b, err, out)
		}
	}
	for _, b := range blocksOf(t, "caddyfile") {
		check(b, "caddy", "ALLSWELL_TEST_REQUIRE_CADDY", b.text, "adapt", "--adapter", "caddyfile", "--config")
	}
	for _, b := range blocksOf(t, "nginx") {
		text := "pid nginx.pid;\nevents {}\nhttp {\nserver {\nlisten 127.0.0.1:1;\n" + b.text + "}\n}\n"
		check(b, "nginx", "ALLSWELL_TEST_REQUIRE_NGINX", text, "-p", t.TempDir(), "-e", "stderr", "-t", "-c")
	}
}
