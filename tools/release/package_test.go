package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPackages installs, upgrades and removes the packages for amd64, and starts the service: testdata/*.sh.
func TestPackages(t *testing.T) {
	release := dist(t)
	if os.Geteuid() != 0 {
		t.Skip("only root may install packages")
	}
	if out, err := exec.Command("unshare", "--mount", "--net", "true").CombinedOutput(); err != nil {
		t.Skipf("this machine permits no namespaces: %s", out)
	}
	// An older version of the same program.
	older := olderRelease(t, filepath.Dir(filepath.Dir(program(t, "amd64"))))
	for format, c := range map[string]struct{ tool, name string }{
		"deb": {"dpkg", "allswell_amd64.deb"},
		"rpm": {"rpm", "allswell_x86_64.rpm"},
	} {
		t.Run(format, func(t *testing.T) {
			if _, err := exec.LookPath(c.tool); err != nil {
				t.Skip(c.tool + " is not installed")
			}
			if err := older.writePackage(target{"linux", "amd64"}, format, []byte("licenses")); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("unshare", "--mount", "--net", "testdata/"+format+".sh", t.TempDir(),
				filepath.Join(older.out, c.name), filepath.Join(release, c.name)).CombinedOutput()
			t.Logf("%s", out)
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func olderRelease(t *testing.T, binaries string) release {
	t.Helper()
	source, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return release{
		version: "0.0.1-rc.1", revision: "none", time: time.Unix(1.7e9, 0), source: source, binaries: binaries,
		out: t.TempDir(),
	}
}

// TestRPMPackage checks what rpm reads in the packages.
func TestRPMPackage(t *testing.T) {
	release := dist(t)
	if _, err := exec.LookPath("rpm"); err != nil {
		t.Skip("rpm is not installed")
	}
	for _, arch := range []string{"x86_64", "aarch64"} {
		path := filepath.Join(release, "allswell_"+arch+".rpm")
		output(t, "rpm", "--checksig", path)
		for query, want := range map[string]string{
			"%{NAME} %{ARCH} %{LICENSE} %{BUILDHOST}": "allswell " + arch + " MIT allswell",
			"[%{FILENAMES} %{FILEUSERNAME} %{FILEGROUPNAME} %{FILEMODES:perms} %{FILEFLAGS:fflags}\n]": "" +
				"/etc/allswell/allswell.env root root -rw-r----- cn\n" +
				"/usr/bin/allswell root root -rwxr-xr-x \n" +
				"/usr/lib/systemd/system/allswell.service root root -rw-r--r-- \n" +
				"/usr/share/bash-completion/completions/allswell root root -rw-r--r-- \n" +
				"/usr/share/doc/allswell/changelog.gz root root -rw-r--r-- \n" +
				"/usr/share/doc/allswell/copyright root root -rw-r--r-- \n" +
				"/usr/share/doc/allswell/third-party-licenses.txt root root -rw-r--r-- \n" +
				"/usr/share/fish/vendor_completions.d/allswell.fish root root -rw-r--r-- \n" +
				"/usr/share/man/man1/allswell.1.gz root root -rw-r--r-- \n" +
				"/usr/share/zsh/site-functions/_allswell root root -rw-r--r-- \n",
		} {
			if got := output(t, "rpm", "--query", "--package", "--queryformat", query, path); got != want {
				t.Errorf("the query: %s of %s: %q, want %q", query, path, got, want)
			}
		}
		needs := output(t, "rpm", "--query", "--package", "--requires", path)
		if !strings.Contains(needs, "shadow-utils") {
			t.Errorf("requires %s", needs)
		}
	}
}
