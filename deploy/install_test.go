// Package deploy_test checks the files of deploy/ and install.sh as far as that is possible without a release. The tests
// of tools/release install what a release consists of.
package deploy_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// archive returns an archive of a release that contains a script instead of the program.
func archive(t *testing.T, script string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: "allswell", Mode: 0o755, Size: int64(len(script))}); err != nil {
		t.Fatal(err)
	}
	w.Write([]byte(script))
	w.Close()
	z.Close()
	return b.Bytes()
}

// TestInstallScript runs install.sh against a server that has a release, one whose archive does not have the checksum,
// and incomplete ones.
func TestInstallScript(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("install.sh is for the other systems")
	}
	name := "allswell_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"
	good := archive(t, "#!/bin/sh\necho allswell v1.2.3 ${ALLSWELL_DOWNLOAD_URL-}\n")
	broken := archive(t, "#!/bin/sh\nexit 1\n")
	sums := func(data []byte, name string) string {
		return fmt.Sprintf("%x  other.deb\n%x  %s\n", sha256.Sum256(nil), sha256.Sum256(data), name)
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string // in the output
		ok    bool
	}{
		{"good", map[string]string{name: string(good), "SHA256SUMS": sums(good, name)}, "Installed allswell v1.2.3\n", true},
		{"tampered", map[string]string{name: string(good) + "x", "SHA256SUMS": sums(good, name)}, "the checksum of " + name + " is", false},
		{"archive missing", map[string]string{"SHA256SUMS": sums(good, name)}, name + " cannot be downloaded", false},
		{"sums missing", map[string]string{name: string(good)}, "SHA256SUMS cannot be downloaded", false},
		{"not in the sums", map[string]string{name: string(good), "SHA256SUMS": sums(good, "x"+name)}, "SHA256SUMS does not name", false},
		{"does not run", map[string]string{name: string(broken), "SHA256SUMS": sums(broken, name)}, "does not run on this machine", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				data, ok := c.files[strings.TrimPrefix(r.URL.Path, "/v1.2.3/")]
				if !ok {
					http.NotFound(w, r)
					return
				}
				w.Write([]byte(data))
			}))
			defer server.Close()
			dir, temp := filepath.Join(t.TempDir(), "bin"), t.TempDir()
			for _, before := range []string{"", "old"} { // a first installation, and an upgrade
				if before != "" {
					os.MkdirAll(dir, 0o755)
					if err := os.WriteFile(filepath.Join(dir, "allswell"), []byte(before), 0o755); err != nil {
						t.Fatal(err)
					}
				}
				cmd := exec.Command("sh", "../install.sh")
				cmd.Env = append(os.Environ(), "ALLSWELL_DOWNLOAD_URL="+server.URL+"/v1.2.3", "ALLSWELL_INSTALL_DIR="+dir, "TMPDIR="+temp)
				out, err := cmd.CombinedOutput()
				if (err == nil) != c.ok || !strings.Contains(string(out), c.want) {
					t.Errorf("install.sh: %v\n%s", err, out)
				}
				installed, err := os.ReadFile(filepath.Join(dir, "allswell"))
				switch {
				case c.ok && !strings.Contains(string(installed), "echo allswell v1.2.3"):
					t.Errorf("installed: %q, %v", installed, err)
				case !c.ok && string(installed) != before:
					t.Errorf("a failed installation left %q, want %q", installed, before)
				}
				if left, _ := os.ReadDir(temp); len(left) > 0 {
					t.Errorf("temporary files are left: %v", left)
				}
			}
		})
	}
}

// TestInstallScriptIsCutOff checks that no part of install.sh alone does anything.
func TestInstallScriptIsCutOff(t *testing.T) {
	script, err := os.ReadFile("../install.sh")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(script), "\n")
	for n := 1; n < len(lines); n += 7 {
		part := strings.TrimSuffix(strings.Join(lines[:n], ""), "main\n")
		cmd := exec.Command("sh")
		cmd.Stdin = strings.NewReader(part)
		cmd.Env = []string{"PATH="} // no program can be started
		if out, _ := cmd.CombinedOutput(); strings.Contains(string(out), "not found") || strings.Contains(string(out), "install.sh:") {
			t.Errorf("the first %d lines do something: %s", n, out)
		}
	}
}

// TestShellScripts checks all shell scripts with shellcheck, if it is installed.
func TestShellScripts(t *testing.T) {
	needs(t, "shellcheck", "ALLSWELL_TEST_REQUIRE_SHELLS")
	glob := func(pattern string) []string {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, files, err)
		}
		return files
	}
	for _, args := range [][]string{
		append([]string{"-s", "sh", "../install.sh"}, glob("packages/*.sh")...),
		append([]string{"-x", "-P", "SCRIPTDIR", "../.ci/release"}, glob("../tools/release/testdata/*")...),
	} {
		if out, err := exec.Command("shellcheck", args...).CombinedOutput(); err != nil {
			t.Errorf("shellcheck %v: %s", args, out)
		}
	}
}

// TestReleaseRefusesVersions checks that .ci/release makes nothing of a version that the Go tool would not accept.
func TestReleaseRefusesVersions(t *testing.T) {
	needs(t, "bash", "ALLSWELL_TEST_REQUIRE_SHELLS")
	for _, args := range [][]string{nil, {""}, {"1.2"}, {"latest"}, {"1.2.3+dirty"}, {"2.0.0"}, {"--short"}, {"1.2.3", "1.2.4"}, {"--sort", "1.2.3"}} {
		err := exec.Command("bash", append([]string{"../.ci/release"}, args...)...).Run()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 2 {
			t.Errorf(".ci/release %q: %v", args, err)
		}
	}
}
