package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// What package managers show.
const (
	summary     = "Status page, heartbeat monitor and uptime checker"
	maintainer  = "The Allswell authors <allswell@users.noreply.github.com>"
	description = "Jobs ping a URL. When a ping is overdue, Allswell changes the public\nstatus page and notifies " +
		"its subscribers."
)

// rpmArch has the names of architectures in names of RPM packages.
var rpmArch = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// zshFolders are the folders of packages' completions for zsh.
var zshFolders = map[string]string{"deb": "/usr/share/zsh/vendor-completions/", "rpm": "/usr/share/zsh/site-functions/"}

// scripts are the scripts of a package format, each the concatenation of files of deploy/packages.
var scripts = map[string]struct{ postInstall, preRemove, postRemove []string }{
	"deb": {[]string{"create-user.sh", "deb-postinst.sh"}, []string{"deb-prerm.sh"}, []string{"deb-postrm.sh"}},
	"rpm": {[]string{"create-user.sh", "rpm-post.sh"}, []string{"rpm-preun.sh"}, []string{"rpm-postun.sh"}},
}

// writePackage writes the Debian ("deb") or RPM ("rpm") package of a target.
func (r release) writePackage(t target, format string, licenses []byte) error {
	dir, err := os.MkdirTemp("", "allswell-package-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	info, err := r.packageInfo(t, format, dir, licenses)
	if err != nil {
		return err
	}
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	name := "allswell_" + t.arch + ".deb"
	if format == "rpm" {
		name = "allswell_" + rpmArch[t.arch] + ".rpm"
	}
	out, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return err
	}
	if err := packager.Package(info, out); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// packageInfo describes a package. It writes the files that are not in the repository to dir.
func (r release) packageInfo(t target, format, dir string, licenses []byte) (*nfpm.Info, error) {
	deploy := filepath.Join(r.source, "deploy", "packages")
	completion := filepath.Join(r.source, "internal", "command", "completion", "scripts")
	const doc = "/usr/share/doc/allswell/"
	thirdParty := filepath.Join(dir, "third-party-licenses.txt")
	if err := os.WriteFile(thirdParty, licenses, 0o644); err != nil {
		return nil, err
	}
	documents, err := r.compressedDocuments(dir)
	if err != nil {
		return nil, err
	}
	info := &nfpm.Info{
		Name:        "allswell",
		Arch:        t.arch,
		Platform:    t.os,
		Version:     r.version,
		Release:     "1",
		Section:     "net",
		Priority:    "optional",
		Maintainer:  maintainer,
		Vendor:      "Allswell",
		Homepage:    "https://github.com/allswell/allswell",
		License:     "MIT",
		MTime:       r.time,
		Description: summary + "\n" + description,
		Overridables: nfpm.Overridables{
			Recommends: []string{"ca-certificates"},
			Contents: files.Contents{
				r.content(r.binary(t), "/usr/bin/allswell", "", 0o755),
				r.content(filepath.Join(deploy, "allswell.service"), "/usr/lib/systemd/system/allswell.service", "",
					0o644),
				r.content(filepath.Join(deploy, "allswell.env"), "/etc/allswell/allswell.env",
					files.TypeConfigNoReplace, 0o640),
				r.content(filepath.Join(completion, "bash"), "/usr/share/bash-completion/completions/allswell", "",
					0o644),
				r.content(filepath.Join(completion, "fish"), "/usr/share/fish/vendor_completions.d/allswell.fish", "",
					0o644),
				r.content(filepath.Join(completion, "zsh"), zshFolders[format]+"_allswell", "", 0o644),
				r.content(documents["allswell.1"], "/usr/share/man/man1/allswell.1.gz", "", 0o644),
				r.content(documents["CHANGELOG.md"], doc+"changelog.gz", "", 0o644),
				r.content(filepath.Join(r.source, "LICENSE"), doc+"copyright", "", 0o644),
				r.content(thirdParty, doc+"third-party-licenses.txt", "", 0o644),
			},
		},
	}
	info.Depends = []string{"passwd"} // useradd
	// Debian's policy wants the changes of the package apart from the program's
	if format == "deb" {
		info.Contents = append(info.Contents,
			r.content(documents["changelog.Debian"], doc+"changelog.Debian.gz", "", 0o644))
	}
	if format == "rpm" {
		info.Depends = []string{"shadow-utils"}
		info.RPM.BuildHost = "allswell" // the default is the name of this machine
		info.RPM.Summary, info.Description = summary, description
	}
	if err := writeScripts(&info.Scripts, format, deploy, dir); err != nil {
		return nil, err
	}
	return nfpm.WithDefaults(info), nil
}

// writeScripts assembles the scripts of a package format from files in source, writes them to dir, and sets their
// paths.
func writeScripts(paths *nfpm.Scripts, format, source, dir string) error {
	for _, script := range []struct {
		path  *string
		parts []string
	}{
		{&paths.PostInstall, scripts[format].postInstall},
		{&paths.PreRemove, scripts[format].preRemove},
		{&paths.PostRemove, scripts[format].postRemove},
	} {
		text := []byte("#!/bin/sh\n")
		for _, part := range script.parts {
			code, err := os.ReadFile(filepath.Join(source, part))
			if err != nil {
				return err
			}
			text = append(text, code...)
		}
		*script.path = filepath.Join(dir, script.parts[len(script.parts)-1])
		if err := os.WriteFile(*script.path, text, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// compressedDocuments writes the manual page and the changelogs to dir, compressed, and returns their paths by name.
func (r release) compressedDocuments(dir string) (map[string]string, error) {
	manual, err := os.ReadFile(filepath.Join(r.source, "deploy", "packages", "allswell.1"))
	if err != nil {
		return nil, err
	}
	changes, err := os.ReadFile(filepath.Join(r.source, "CHANGELOG.md"))
	if err != nil {
		return nil, err
	}
	debian := fmt.Sprintf("allswell (%s-1) stable; urgency=medium\n\n  * Release %s: see changelog.gz.\n\n -- %s  %s\n",
		strings.ReplaceAll(r.version, "-", "~"), r.version, maintainer, r.time.UTC().Format(time.RFC1123Z))
	paths := make(map[string]string)
	for name, text := range map[string][]byte{
		"allswell.1": manual, "CHANGELOG.md": changes, "changelog.Debian": []byte(debian),
	} {
		var b bytes.Buffer
		// without name and time, so that its bytes depend on the text alone
		w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(text); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		paths[name] = filepath.Join(dir, name+".gz")
		if err := os.WriteFile(paths[name], b.Bytes(), 0o644); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// content describes a file of a package. It belongs to root.
func (r release) content(source, destination, kind string, mode os.FileMode) *files.Content {
	return &files.Content{Source: source, Destination: destination, Type: kind,
		FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.time}}
}
