package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	imageName = "ghcr.io/allswell/allswell"

	// imageUser is the user and group in the image: not root, and unlikely to exist on a host.
	imageUser = 65532
)

// writeImage writes the container image of all Linux targets as a tar file that contains an OCI image layout.
func (r release) writeImage(targets []target, licenses []byte) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, t := range targets {
		image, err := r.image(t, licenses)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: t.os, Architecture: t.arch}},
		})
	}
	named := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{
		Add: index,
		Descriptor: v1.Descriptor{Annotations: map[string]string{
			"org.opencontainers.image.ref.name": r.version,
			"io.containerd.image.name":          imageName + ":" + r.version,
		}},
	})
	dir, err := os.MkdirTemp("", "allswell-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if _, err := layout.Write(dir, named); err != nil {
		return err
	}
	archive, err := r.tarOf(dir)
	if err != nil {
		return err
	}
	return r.write("allswell_image.tar", archive)
}

// image returns the image of a target, which has a single layer.
func (r release) image(t target, licenses []byte) (v1.Image, error) {
	data, err := r.layer(t, licenses)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	},
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression),
		tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{
		Layer: layer, History: v1.History{CreatedBy: ".ci/release", Created: v1.Time{Time: r.time}},
	})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = t.os, t.arch
	config.Created = v1.Time{Time: r.time}
	config.Config = v1.Config{
		User:       fmt.Sprintf("%d:%[1]d", imageUser),
		Entrypoint: []string{"/usr/local/bin/allswell"},
		Cmd:        []string{"serve"},
		Env: []string{
			"PATH=/usr/local/bin",
			"ALLSWELL_LISTEN=:8080",
			"ALLSWELL_DATABASE=sqlite:/data/allswell.db",
		},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Volumes:      map[string]struct{}{"/data": {}},
		WorkingDir:   "/data",
		Labels: map[string]string{
			"org.opencontainers.image.title":       "Allswell",
			"org.opencontainers.image.description": "Status page, heartbeat monitor and uptime checker",
			"org.opencontainers.image.source":      "https://github.com/allswell/allswell",
			"org.opencontainers.image.licenses":    "MIT", "org.opencontainers.image.version": r.version,
			"org.opencontainers.image.revision": r.revision,
		},
	}
	return mutate.ConfigFile(image, config)
}

// layer returns the files of the image as a tar file.
func (r release) layer(t target, licenses []byte) ([]byte, error) {
	binary, err := os.ReadFile(r.binary(t))
	if err != nil {
		return nil, err
	}
	license, err := os.ReadFile(filepath.Join(r.source, "LICENSE"))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	// The volume belongs to the user, so that a new one does too.
	for _, folder := range []struct {
		name string
		mode int64
		user int
	}{{"data/", 0o700, imageUser}, {"tmp/", 0o1777, 0}} {
		header := &tar.Header{
			Typeflag: tar.TypeDir, Name: folder.name, Mode: folder.mode, Uid: folder.user, Gid: folder.user,
			ModTime: r.time, Format: tar.FormatPAX,
		}
		if err := writeEntry(w, header, nil); err != nil {
			return nil, err
		}
	}
	for _, f := range []file{
		{"etc/passwd",
			fmt.Appendf(
				nil, "root:x:0:0:root:/:/sbin/nologin\nallswell:x:%d:%[1]d:Allswell:/data:/sbin/nologin\n", imageUser,
			),
			0o644},
		{"etc/group", fmt.Appendf(nil, "root:x:0:\nallswell:x:%d:\n", imageUser), 0o644},
		{"etc/ssl/certs/ca-certificates.crt", rootCertificates(), 0o644},
		{"usr/share/doc/allswell/LICENSE", license, 0o644},
		{"usr/share/doc/allswell/third-party-licenses.txt", licenses, 0o644},
		{"usr/local/bin/allswell", binary, 0o755},
	} {
		header := &tar.Header{
			Name: f.name, Size: int64(len(f.data)), Mode: int64(f.mode), ModTime: r.time, Format: tar.FormatPAX,
		}
		if err := writeEntry(w, header, f.data); err != nil {
			return nil, err
		}
	}
	err = w.Close()
	return b.Bytes(), err
}

// rootCertificates returns Mozilla's root certificates, except those that are trusted only for some hosts or until some
// date.
func rootCertificates() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return b.Bytes()
}

// tarOf returns a tar file of a folder.
func (r release) tarOf(dir string) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			return err
		}
		return writeEntry(w, &tar.Header{
			Name: path, Size: int64(len(data)), Mode: 0o644, ModTime: r.time, Format: tar.FormatPAX,
		}, data)
	})
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}

// push uploads the container image of a release, with its version as tag, and "latest" unless it is a pre-release. The
// environment variable REGISTRY_PASSWORD has the password.
func push(args []string) error {
	flags := flag.NewFlagSet("push", flag.ContinueOnError)
	from := flags.String("image", "", "file allswell_image.tar of a release")
	to := flags.String("to", imageName, "repository in the registry")
	user := flags.String("user", "", "user of the registry; default: none")
	if err := flags.Parse(args); err != nil {
		return err
	}
	login := authn.Anonymous
	if *user != "" {
		login = &authn.Basic{Username: *user, Password: os.Getenv("REGISTRY_PASSWORD")}
	}
	dir, err := os.MkdirTemp("", "allswell-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	index, version, err := openImage(*from, dir)
	if err != nil {
		return err
	}
	tags := []string{version}
	if !strings.Contains(version, "-") {
		tags = append(tags, "latest")
	}
	for _, tag := range tags {
		ref, err := name.ParseReference(*to + ":" + tag)
		if err != nil {
			return err
		}
		if err := remote.WriteIndex(ref, index, remote.WithAuth(login)); err != nil {
			return fmt.Errorf("pushing %s: %w", ref, err)
		}
		fmt.Println("pushed", ref)
	}
	return nil
}

// openImage unpacks an image that writeImage has written to dir and returns its index and its version.
func openImage(path, dir string) (index v1.ImageIndex, version string, err error) {
	if err := unpack(path, dir); err != nil {
		return nil, "", err
	}
	named, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, "", err
	}
	manifest, err := named.IndexManifest()
	if err != nil {
		return nil, "", err
	}
	if len(manifest.Manifests) != 1 {
		return nil, "", fmt.Errorf("%s contains %d images", path, len(manifest.Manifests))
	}
	only := manifest.Manifests[0]
	index, err = named.ImageIndex(only.Digest)
	return index, only.Annotations["org.opencontainers.image.ref.name"], err
}

// unpack extracts a tar file.
func unpack(path, dir string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for r := tar.NewReader(f); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		name := strings.TrimSuffix(header.Name, "/")
		if header.Typeflag == tar.TypeDir {
			if err := root.MkdirAll(name, 0o755); err != nil {
				return err
			}
			continue
		}
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if err := root.WriteFile(name, data, fs.FileMode(header.Mode).Perm()); err != nil {
			return err
		}
	}
}
