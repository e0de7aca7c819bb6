package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// dist returns the folder of a release that .ci/release has made, which ALLSWELL_RELEASE names. Without it the test is
// skipped.
func dist(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("ALLSWELL_RELEASE")
	if dir == "" {
		t.Skip("ALLSWELL_RELEASE does not name the folder of a release")
	}
	return dir
}

// program unpacks the program for a Linux architecture from the release and returns its path. The name of its folder is
// as release.binaries requires.
func program(t *testing.T, arch string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "linux_"+arch)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	output(t, "tar", "-xzf", filepath.Join(dist(t), "allswell_linux_"+arch+".tar.gz"), "-C", dir)
	return filepath.Join(dir, "allswell")
}

// output runs a program and returns its standard output. The test fails if the program does.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

func TestSums(t *testing.T) {
	sums, err := os.ReadFile(filepath.Join(dist(t), "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	entries, err := os.ReadDir(dist(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "SHA256SUMS" {
			data, err := os.ReadFile(filepath.Join(dist(t), e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, fmt.Sprintf("%x  %s", sha256.Sum256(data), e.Name()))
		}
	}
	if got := strings.Split(strings.TrimSpace(string(sums)), "\n"); !slices.Equal(got, want) {
		t.Errorf("SHA256SUMS: %s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, name := range []string{
		"install.sh", "compose.yaml", "allswell.cdx.json", "allswell_image.tar", "allswell_amd64.deb",
		"allswell_arm64.deb", "allswell_x86_64.rpm", "allswell_aarch64.rpm", "allswell_linux_amd64.tar.gz",
		"allswell_linux_arm64.tar.gz",
	} {
		if !strings.Contains(string(sums), "  "+name+"\n") {
			t.Errorf("the release has no %s", name)
		}
	}
}

// executable returns the program in an archive of the release.
func executable(t *testing.T, archive string) []byte {
	t.Helper()
	if !strings.HasSuffix(archive, ".zip") {
		return []byte(output(t, "tar", "-xzOf", archive, "allswell"))
	}
	z, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	f, err := z.Open("allswell.exe")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestBinary checks how the binaries of all platforms are built, and what the program says of itself.
func TestBinary(t *testing.T) {
	revision := strings.TrimSpace(output(t, "git", "rev-parse", "HEAD"))
	archives, err := filepath.Glob(filepath.Join(dist(t), "allswell_*_*64.[tz]*"))
	if err != nil || len(archives) < 2 {
		t.Fatal(archives, err)
	}
	_, version, err := openImage(filepath.Join(dist(t), "allswell_image.tar"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, archive := range archives {
		parts := strings.Split(filepath.Base(archive), "_")
		arch, _, _ := strings.Cut(parts[2], ".")
		info, err := buildinfo.Read(bytes.NewReader(executable(t, archive)))
		if err != nil {
			t.Fatalf("%s: %v", archive, err)
		}
		got := map[string]string{"version": info.Main.Version}
		for _, s := range info.Settings {
			got[s.Key] = s.Value
		}
		for key, want := range map[string]string{
			"version": "v" + version, "-trimpath": "true", "CGO_ENABLED": "0", "GOOS": parts[1], "GOARCH": arch,
			"vcs.modified": "false", "vcs.revision": revision,
		} {
			if got[key] != want {
				t.Errorf("%s: %s is %q, want %q", filepath.Base(archive), key, got[key], want)
			}
		}
	}
	if said := output(t, program(t, "amd64"), "version"); !strings.HasPrefix(said, "allswell v"+version+" ("+revision) {
		t.Errorf("version: %s", said)
	}
}

// TestBillOfMaterials checks the list of modules against the schema of CycloneDX 1.6.
func TestBillOfMaterials(t *testing.T) {
	path := filepath.Join(dist(t), "allswell.cdx.json")
	module := strings.TrimSpace(output(t, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go"))
	compiler := jsonschema.NewCompiler()
	for url, name := range map[string]string{
		"http://cyclonedx.org/schema/spdx.schema.json":     "spdx.schema.json",
		"http://cyclonedx.org/schema/jsf-0.82.schema.json": "jsf-0.82.schemax.json",
		"http://cyclonedx.org/schema/bom-1.6.schema.json":  "bom-1.6.schema.json",
	} {
		if err := compiler.AddResource(url, readJSON(t, filepath.Join(module, "schema", name))); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := compiler.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(readJSON(t, path)); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, purl := range []string{
		"pkg:golang/modernc.org/sqlite@v", "pkg:golang/github.com/jackc/pgx/v5@v", "pkg:golang/std@1.",
	} {
		if !strings.Contains(string(text), `"purl": "`+purl) {
			t.Errorf("%s is missing", purl)
		}
	}
}

func readJSON(t *testing.T, path string) any {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	value, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// TestInstallScript installs the release with the install.sh that it contains.
func TestInstallScript(t *testing.T) {
	server := httptest.NewServer(http.FileServer(http.Dir(dist(t))))
	defer server.Close()
	t.Setenv("ALLSWELL_DOWNLOAD_URL", server.URL)
	t.Setenv("ALLSWELL_INSTALL_DIR", t.TempDir())
	began := time.Now()
	said := output(t, "sh", filepath.Join(dist(t), "install.sh"))
	t.Logf("installed after %v\n%s", time.Since(began).Round(time.Millisecond), said)
	if !strings.Contains(said, "Installed allswell v") {
		t.Error("install.sh does not say what it has installed")
	}
}
