package deploy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// script writes a program that is found first with the returned PATH.
func script(t *testing.T, name, text string) (path string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir + ":" + os.Getenv("PATH")
}

// TestInstallScriptFolders runs install.sh with unusual folders.
func TestInstallScriptFolders(t *testing.T) {
	url := goodRelease(t)
	occupied := t.TempDir()
	if err := os.Mkdir(filepath.Join(occupied, "allswell"), 0o755); err != nil {
		t.Fatal(err)
	}
	relative := t.TempDir()
	other := script(t, "allswell", "echo allswell v0.0.1")
	for _, c := range []struct {
		name, dir string
		env       []string
		want      string // in the output
		ok        bool
	}{
		{"spaces and quotes", filepath.Join(t.TempDir(), `it's "my" folder $HOME`), nil, "Installed allswell v1.2.3\n",
			true},
		{"not in PATH", filepath.Join(t.TempDir(), "bin"), nil, "is not in PATH. Add it:", true},
		{"another one comes first", t.TempDir(), []string{"PATH=" + other},
			"The command allswell is still " + strings.Split(other, ":")[0] + "/allswell,", true},
		{"relative", "bin", nil, "in " + filepath.Join(relative, "bin", "allswell") + ".", true},
		{"a folder has the name", occupied, nil, "is a folder: set ALLSWELL_INSTALL_DIR", false},
		{"cannot be created", "/proc/allswell/bin", nil,
			"cannot be created: run this as root, or set ALLSWELL_INSTALL_DIR", false},
		{"cannot be written", "/proc", nil, "cannot be written: run this as root, or set ALLSWELL_INSTALL_DIR", false},
		{"trailing slash of the URL", t.TempDir(), []string{"ALLSWELL_DOWNLOAD_URL=" + url + "/"},
			"Downloading " + url + "/allswell_", true},
		{"no home", "", []string{"HOME=", "PATH=" + script(t, "id", "echo 1000")}, "HOME: set ALLSWELL_INSTALL_DIR",
			false},
		{"another architecture", t.TempDir(),
			[]string{"PATH=" + script(t, "uname", "test $1 = -s && echo Linux || echo armv7l")},
			"there is no release for armv7l", false},
		{"another system", t.TempDir(), []string{"PATH=" + script(t, "uname", "echo MINGW64_NT-10.0")},
			"there is no release for mingw64_nt-10.0", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(c.dir, "/proc") && !exists("/proc/self/status") {
				t.Skip("this system has no /proc")
			}
			cmd := installer(t, url, c.dir, c.env...)
			cmd.Dir = relative
			out, err := cmd.CombinedOutput()
			if (err == nil) != c.ok || !strings.Contains(string(out), c.want) {
				t.Errorf("install.sh: %v\n%s", err, out)
			}
			if c.ok && c.dir != "bin" {
				checkOnly(t, c.dir)
			}
		})
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestInstallScriptWithoutCurl installs with wget.
func TestInstallScriptWithoutCurl(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{
		"sh", "uname", "tr", "id", "mktemp", "rm", "wget", "sha256sum", "cut", "awk", "tar", "gzip", "mkdir", "chmod",
		"mv",
	} {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Skip(name + " is not installed")
		}
		if err := os.Symlink(program, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	out, err := installer(t, goodRelease(t), t.TempDir(), "PATH="+bin).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Installed allswell v1.2.3\n") {
		t.Errorf("install.sh: %v\n%s", err, out)
	}
}

// TestInstallScriptInterrupted checks that neither a connection that ends early nor a signal leaves anything.
func TestInstallScriptInterrupted(t *testing.T) {
	requested := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/SHA256SUMS"):
			io.WriteString(w, sumsOf(nil, archiveName))
		case strings.HasPrefix(r.URL.Path, "/cut/"):
			w.Header().Set("Content-Length", "1000000")
			io.WriteString(w, "the beginning")
		default:
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			requested <- struct{}{}
			<-r.Context().Done()
		}
	}))
	defer server.Close()

	dir := t.TempDir()
	out, err := installer(t, server.URL+"/cut", dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), archiveName+" cannot be downloaded") {
		t.Errorf("a connection that ends early: %v\n%s", err, out)
	}
	checkOnly(t, dir)

	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
	// A signal that this process ignores, as nohup makes it, would be ignored by its children, too.
	signal.Notify(make(chan os.Signal, 1), signals...)
	defer signal.Reset(signals...)
	for _, sig := range signals {
		cmd := installer(t, server.URL+"/slow", dir)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-requested
		if err := syscall.Kill(-cmd.Process.Pid, sig.(syscall.Signal)); err != nil { // as a terminal does
			t.Error(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Errorf("%v: install.sh succeeds", sig)
		}
		checkOnly(t, dir)
	}
	if exists(filepath.Join(dir, "allswell")) {
		t.Error("the program is installed")
	}
}

// TestInstallScriptTwiceAtOnce runs install.sh several times concurrently for the same folder.
func TestInstallScriptTwiceAtOnce(t *testing.T) {
	url, dir := goodRelease(t), t.TempDir()
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			out, err := installer(t, url, dir).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "Installed allswell v1.2.3\n") {
				t.Errorf("install.sh: %v\n%s", err, out)
			}
		})
	}
	running.Wait()
	checkOnly(t, dir)
}
