package main

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// module is a Go module that is compiled into a binary.
type module struct{ path, version, sum string }

// modules returns the modules in the binaries, sorted by path, and the Go standard library as "std".
func (r release) modules(targets []target) ([]module, error) {
	var all []module
	for _, t := range targets {
		info, err := buildinfo.ReadFile(r.binary(t))
		if err != nil {
			return nil, err
		}
		if got := strings.TrimPrefix(info.Main.Version, "v"); got != r.version {
			return nil, fmt.Errorf("%s is of version %q, not %q", r.binary(t), got, r.version)
		}
		all = append(all, module{path: "std", version: strings.TrimPrefix(info.GoVersion, "go")})
		for _, d := range info.Deps {
			if d.Replace != nil {
				return nil, fmt.Errorf("%s is replaced", d.Path)
			}
			all = append(all, module{d.Path, d.Version, d.Sum})
		}
	}
	slices.SortFunc(all, func(a, b module) int {
		return cmp.Or(strings.Compare(a.path, b.path), strings.Compare(a.version, b.version))
	})
	return slices.Compact(all), nil
}

// licenseFile matches the names of files that contain a license or a notice that has to be passed on.
var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([-._].*)?$`)

// licenses returns the licenses of all modules as one text.
func (r release) licenses(modules []module) ([]byte, error) {
	folders, err := r.moduleFolders()
	if err != nil {
		return nil, err
	}
	goroot, err := goCommand(r.source, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	text.WriteString("Allswell contains the following software of others.\n")
	for _, m := range modules {
		folder := folders[m.path]
		if m.path == "std" {
			folder = strings.TrimSpace(string(goroot))
		}
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, fmt.Errorf("module %s: %w", m.path, err)
		}
		found := false
		for _, e := range entries {
			if !licenseFile.MatchString(e.Name()) || e.IsDir() {
				continue
			}
			license, err := os.ReadFile(filepath.Join(folder, e.Name()))
			if err != nil {
				return nil, err
			}
			found = true
			fmt.Fprintf(&text, "\n%s\n%s %s: %s\n\n%s\n", strings.Repeat("-", 80), m.path, m.version, e.Name(),
				bytes.TrimSpace(license))
		}
		if !found {
			return nil, fmt.Errorf("module %s has no license", m.path)
		}
	}
	return text.Bytes(), nil
}

// moduleFolders returns the folders of the modules that the repository depends on, by path.
func (r release) moduleFolders() (map[string]string, error) {
	out, err := goCommand(r.source, "list", "-m", "-json", "all")
	if err != nil {
		return nil, err
	}
	folders := make(map[string]string)
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Path, Dir string }
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			return folders, nil
		} else if err != nil {
			return nil, err
		}
		folders[m.Path] = m.Dir
	}
}

// goCommand runs the Go tool in a folder and returns its output.
func goCommand(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	return cmd.Output()
}
