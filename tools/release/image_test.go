package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// images returns the images of the release by architecture.
func images(t *testing.T) map[string]v1.Image {
	t.Helper()
	index, _, err := openImage(filepath.Join(dist(t), "allswell_image.tar"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	byArch := make(map[string]v1.Image)
	for _, m := range manifest.Manifests {
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		byArch[m.Platform.Architecture] = image
	}
	return byArch
}

func TestImage(t *testing.T) {
	// tar, unlike Go, requires the end of the archive
	output(t, "tar", "-tf", filepath.Join(dist(t), "allswell_image.tar"))
	all := images(t)
	if len(all) != 2 {
		t.Errorf("images: %v", all)
	}
	for arch, image := range all {
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.OS != "linux" || config.Architecture != arch || config.Config.User != "65532:65532" {
			t.Errorf("%s: %s/%s as %s", arch, config.OS, config.Architecture, config.Config.User)
		}
		size := int64(0)
		manifest, err := image.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		for _, layer := range manifest.Layers {
			size += layer.Size
		}
		if t.Logf("%s: %d kB", arch, size/1000); size > 20e6 {
			t.Errorf("the image for %s has %d bytes", arch, size)
		}
	}
}

// TestImageRuns unpacks the image, starts its program as its user with nothing but its files and environment, and
// visits the first page.
func TestImageRuns(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may change the root folder")
	}
	image := images(t)["amd64"]
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	root := unpackImage(t, image)
	t.Logf("unpacked in %v", time.Since(began).Round(time.Millisecond))
	checkCertificates(t, filepath.Join(root, "etc/ssl/certs/ca-certificates.crt"))

	// The address of the image may be in use here.
	address := freeAddress(t)
	env := slices.DeleteFunc(slices.Clone(config.Config.Env), func(s string) bool {
		return s == "ALLSWELL_LISTEN=:8080"
	})
	if len(env) == len(config.Config.Env) {
		t.Errorf("environment: %v", env)
	}
	const token = "0123456789abcdef0123456789abcdef"
	began = time.Now()
	startImage(t, config, root, append(env, "ALLSWELL_LISTEN="+address, "ALLSWELL_BOOTSTRAP_TOKEN="+token)...)
	url := "http://" + address
	untilReady(t, url)
	t.Logf("ready after %v", time.Since(began).Round(time.Millisecond))

	// The image has no zone data besides the program's own.
	created := request(t, http.MethodPost, url+"/api/v1/pages", token,
		`{"name":"Example","slug":"example","time_zone":"Europe/Berlin"}`)
	if !strings.Contains(created, `"time_zone":"Europe/Berlin"`) {
		t.Errorf("created: %s", created)
	}
	page := request(t, http.MethodGet, url+"/status/example", "", "")
	t.Logf("the first page after %v", time.Since(began).Round(time.Millisecond))
	if !strings.Contains(page, "Example") {
		t.Errorf("page: %s", page)
	}
	info, err := os.Stat(filepath.Join(root, "data/allswell.db"))
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != imageUser {
		t.Errorf("the database: %v, %v", info, err)
	}
}

// startImage starts the program of an image, and stops it after the test.
func startImage(t *testing.T, config *v1.ConfigFile, root string, env ...string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, config.Config.Entrypoint[0], config.Config.Cmd...)
	cmd.Dir = config.Config.WorkingDir
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot: root, Credential: &syscall.Credential{Uid: imageUser, Gid: imageUser},
	}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := cmd.Wait(); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the server ended with %v\n%s", err, &output)
		}
	})
}

// unpackImage returns a folder with the files of an image.
func unpackImage(t *testing.T, image v1.Image) string {
	t.Helper()
	root := t.TempDir()
	// The parents of temporary folders are private.
	for dir := root; dir != os.TempDir() && len(dir) > 1; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	files := mutate.Extract(image)
	defer files.Close()
	for r := tar.NewReader(files); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return root
		} else if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, header.Name)
		mode := header.FileInfo().Mode()
		if header.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			var data []byte
			if data, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, data, 0o644)
			}
		}
		if err := errors.Join(err, os.Chown(path, header.Uid, header.Gid), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
}

func checkCertificates(t *testing.T, path string) {
	t.Helper()
	pem, err := os.ReadFile(path)
	if err != nil || !x509.NewCertPool().AppendCertsFromPEM(pem) {
		t.Errorf("root certificates: %v", err)
	}
	if n := bytes.Count(pem, []byte("BEGIN CERTIFICATE")); n < 50 {
		t.Errorf("%d root certificates", n)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// untilReady waits until the server is ready.
func untilReady(t *testing.T, url string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		response, err := http.Get(url + "/readyz")
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server is not ready: %v", err)
		}
	}
}

// request returns the body of a successful response.
func request(t *testing.T, method, url, token, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %s %v\n%s", method, url, response.Status, err, text)
	}
	return string(text)
}

// TestPush uploads the image to a registry that requires a password, and downloads it for each platform.
func TestPush(t *testing.T) {
	const user, password = "user", "secret"
	blobs := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, _ := r.BasicAuth(); u != user || p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		blobs.ServeHTTP(w, r)
	}))
	defer server.Close()
	repository := strings.TrimPrefix(server.URL, "http://") + "/allswell/allswell"
	args := []string{"-image", filepath.Join(dist(t), "allswell_image.tar"), "-to", repository, "-user", user}
	t.Setenv("REGISTRY_PASSWORD", "wrong")
	if err := push(args); err == nil {
		t.Error("pushed with a wrong password")
	}
	t.Setenv("REGISTRY_PASSWORD", password)
	if err := push(args); err != nil {
		t.Fatal(err)
	}
	for arch, want := range images(t) {
		for _, tag := range []string{"latest", imageVersion(t, want)} {
			ref, err := name.ParseReference(repository + ":" + tag)
			if err != nil {
				t.Fatal(err)
			}
			got, err := remote.Image(ref, remote.WithAuth(&authn.Basic{Username: user, Password: password}),
				remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
			if err != nil {
				t.Fatal(err)
			}
			if a, b := digest(t, got), digest(t, want); a != b {
				t.Errorf("the digest of %s for %s: %s, want %s", ref, arch, a, b)
			}
		}
	}
}

func digest(t *testing.T, image v1.Image) string {
	t.Helper()
	d, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

func imageVersion(t *testing.T, image v1.Image) string {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	return config.Config.Labels["org.opencontainers.image.version"]
}
