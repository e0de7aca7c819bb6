// Command release makes the files of a release from binaries that .ci/release has built: archives, packages for
// Debian and RPM, a container image and a bill of materials. The same input gives the same bytes, on any machine.
// `release push` uploads the container image to a registry.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	run := makeRelease
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "push" {
		run, args = push, args[1:]
	}
	if err := run(args); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release describes a release and where its files are.
type release struct {
	version  string    // without "v"
	revision string    // the commit
	time     time.Time // of the commit; all files in archives, packages and images have it
	source   string    // folder of the repository
	binaries string    // folder with a folder OS_ARCH for each target, which contains the binary
	out      string    // existing folder for the results
}

// target is a platform that the release has a binary for.
type target struct{ os, arch string }

// binary returns the path of the target's binary.
func (r release) binary(t target) string {
	return filepath.Join(r.binaries, t.os+"_"+t.arch, t.executable())
}

func (t target) executable() string {
	if t.os == "windows" {
		return "allswell.exe"
	}
	return "allswell"
}

// file is a file of the release.
type file struct {
	name string // path with slashes, relative to where the files are installed or unpacked
	data []byte
	mode os.FileMode
}

func makeRelease(args []string) error {
	var r release
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.StringVar(&r.version, "version", "", "version, such as 1.2.3")
	flags.StringVar(&r.revision, "revision", "", "commit")
	unix := flags.Int64("time", 0, "time of the commit in seconds since 1970")
	flags.StringVar(&r.source, "source", ".", "folder of the repository")
	flags.StringVar(&r.binaries, "binaries", "", "folder of the binaries, each as OS_ARCH/allswell")
	flags.StringVar(&r.out, "out", "", "folder for the results")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if r.version == "" || *unix == 0 || r.binaries == "" || r.out == "" {
		return errors.New("-version, -time, -binaries and -out are required")
	}
	r.time = time.Unix(*unix, 0).UTC()
	return r.make()
}

// make writes all files of the release.
func (r release) make() error {
	targets, err := r.targets()
	if err != nil {
		return err
	}
	modules, err := r.modules(targets)
	if err != nil {
		return fmt.Errorf("reading the modules of the binaries: %w", err)
	}
	licenses, err := r.licenses(modules)
	if err != nil {
		return fmt.Errorf("collecting licenses: %w", err)
	}
	for _, t := range targets {
		if err := r.writeArchive(t, licenses); err != nil {
			return fmt.Errorf("archive for %s/%s: %w", t.os, t.arch, err)
		}
	}
	linux := slices.DeleteFunc(slices.Clone(targets), func(t target) bool { return t.os != "linux" })
	for _, t := range linux {
		for _, format := range []string{"deb", "rpm"} {
			if err := r.writePackage(t, format, licenses); err != nil {
				return fmt.Errorf("%s for %s: %w", format, t.arch, err)
			}
		}
	}
	if err := r.writeImage(linux, licenses); err != nil {
		return fmt.Errorf("container image: %w", err)
	}
	if err := r.writeBillOfMaterials(modules); err != nil {
		return fmt.Errorf("bill of materials: %w", err)
	}
	return nil
}

// targets returns the platforms for which there is a binary, sorted.
func (r release) targets() ([]target, error) {
	folders, err := os.ReadDir(r.binaries)
	if err != nil {
		return nil, err
	}
	var targets []target
	for _, f := range folders {
		system, arch, ok := strings.Cut(f.Name(), "_")
		if !ok {
			return nil, fmt.Errorf("%s is not named OS_ARCH", f.Name())
		}
		targets = append(targets, target{system, arch})
	}
	if len(targets) == 0 {
		return nil, fmt.Errorf("no binaries in %s", r.binaries)
	}
	return targets, nil
}
