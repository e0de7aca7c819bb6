// Package deploy_test checks the files of deploy/ and install.sh as far as that is possible without a release. The
// tests of tools/release install what a release consists of.
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

// archiveName is the name of the archive for this machine.
const archiveName = "allswell_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"

// sumsOf returns a SHA256SUMS that contains an archive.
func sumsOf(archive []byte, name string) string {
	return fmt.Sprintf("%x  other.deb\n%x  %s\n", sha256.Sum256(nil), sha256.Sum256(archive), name)
}

// serveRelease serves files below /v1.2.3, and returns their URL.
func serveRelease(t *testing.T, files map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := files[strings.TrimPrefix(r.URL.Path, "/v1.2.3/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Write([]byte(data))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1.2.3"
}

// goodRelease serves a release whose program prints version 1.2.3, and returns its URL.
func goodRelease(t *testing.T) string {
	t.Helper()
	good := archive(t, "#!/bin/sh\necho allswell v1.2.3 ${ALLSWELL_DOWNLOAD_URL-}\n")
	return serveRelease(t, map[string]string{archiveName: string(good), "SHA256SUMS": sumsOf(good, archiveName)})
}

// installer returns the command that runs install.sh with a folder for the program, and settings of the form
// NAME=VALUE.
func installer(t *testing.T, url, dir string, env ...string) *exec.Cmd {
	t.Helper()
	script, err := filepath.Abs("../install.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", script)
	cmd.Env = append(os.Environ(), "ALLSWELL_DOWNLOAD_URL="+url, "ALLSWELL_INSTALL_DIR="+dir)
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// checkOnly reports files of a folder besides the program.
func checkOnly(t *testing.T, dir string) {
	t.Helper()
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		if f.Name() != "allswell" {
			t.Errorf("%s contains %s", dir, f.Name())
		}
	}
}

// TestInstallScript runs install.sh against a server that has a release, one whose archive does not have the checksum,
// and incomplete ones.
func TestInstallScript(t *testing.T) {
	good := archive(t, "#!/bin/sh\necho allswell v1.2.3 ${ALLSWELL_DOWNLOAD_URL-}\n")
	broken := archive(t, "#!/bin/sh\nexit 1\n")
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string // in the output
		ok    bool
	}{
		{"good", map[string]string{archiveName: string(good), "SHA256SUMS": sumsOf(good, archiveName)},
			"Installed allswell v1.2.3\n", true},
		{"tampered", map[string]string{archiveName: string(good) + "x", "SHA256SUMS": sumsOf(good, archiveName)},
			"the checksum of " + archiveName + " is", false},
		{"archive missing", map[string]string{"SHA256SUMS": sumsOf(good, archiveName)},
			archiveName + " cannot be downloaded", false},
		{"sums missing", map[string]string{archiveName: string(good)}, "SHA256SUMS cannot be downloaded", false},
		{"not in the sums", map[string]string{archiveName: string(good), "SHA256SUMS": sumsOf(good, "x"+archiveName)},
			"SHA256SUMS does not name", false},
		{"does not run", map[string]string{archiveName: string(broken), "SHA256SUMS": sumsOf(broken, archiveName)},
			"does not run on this machine", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			url, dir := serveRelease(t, c.files), filepath.Join(t.TempDir(), "bin")
			for _, before := range []string{"", "old"} { // a first installation, and an upgrade
				if before != "" {
					os.MkdirAll(dir, 0o755)
					if err := os.WriteFile(filepath.Join(dir, "allswell"), []byte(before), 0o755); err != nil {
						t.Fatal(err)
					}
				}
				out, err := installer(t, url, dir).CombinedOutput()
				if (err == nil) != c.ok || !strings.Contains(string(out), c.want) {
					t.Errorf("install.sh: %v\n%s", err, out)
				}
				restart := strings.Contains(string(out), "until it is restarted")
				if restart != (c.ok && before != "") {
					t.Errorf("the script asks for a restart: %v\n%s", restart, out)
				}
				installed, err := os.ReadFile(filepath.Join(dir, "allswell"))
				switch {
				case c.ok && !strings.Contains(string(installed), "echo allswell v1.2.3"):
					t.Errorf("installed: %q, %v", installed, err)
				case !c.ok && string(installed) != before:
					t.Errorf("a failed installation left %q, want %q", installed, before)
				}
				checkOnly(t, dir)
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
		out, _ := cmd.CombinedOutput()
		if strings.Contains(string(out), "not found") || strings.Contains(string(out), "install.sh:") {
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
	for _, args := range [][]string{
		nil, {""}, {"1.2"}, {"latest"}, {"1.2.3+dirty"}, {"2.0.0"}, {"--short"}, {"1.2.3", "1.2.4"},
		{"--sort", "1.2.3"},
	} {
		err := exec.Command("bash", append([]string{"../.ci/release"}, args...)...).Run()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 2 {
			t.Errorf(".ci/release %q: %v", args, err)
		}
	}
}
