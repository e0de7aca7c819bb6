package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"time"
)

// writeArchive writes the archive of a target: zip for Windows, a compressed tar file for the others. Its name has no
// version, so that the address of the latest release stays the same.
func (r release) writeArchive(t target, licenses []byte) error {
	binary, err := os.ReadFile(r.binary(t))
	if err != nil {
		return err
	}
	files := []file{{t.executable(), binary, 0o755}}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		text, err := os.ReadFile(filepath.Join(r.source, name))
		if err != nil {
			return err
		}
		files = append(files, file{name, text, 0o644})
	}
	files = append(files, file{"third-party-licenses.txt", licenses, 0o644})
	name := "allswell_" + t.os + "_" + t.arch
	if t.os == "windows" {
		data, err := zipOf(files, r.time)
		if err != nil {
			return err
		}
		return r.write(name+".zip", data)
	}
	var compressed bytes.Buffer
	z, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	for _, f := range files {
		header := &tar.Header{
			Name: f.name, Size: int64(len(f.data)), Mode: int64(f.mode), ModTime: r.time, Format: tar.FormatPAX,
		}
		if err := writeEntry(w, header, f.data); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return r.write(name+".tar.gz", compressed.Bytes())
}

// writeEntry appends a file or a folder to a tar file.
func writeEntry(w *tar.Writer, header *tar.Header, data []byte) error {
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

func zipOf(files []file, modified time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: modified}
		header.SetMode(f.mode)
		entry, err := w.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// write writes a file into the folder for results.
func (r release) write(name string, data []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}
