package bodytext

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// decoder returns a reader that decodes, and what releases it.
type decoder func(io.Reader) (r io.Reader, release func(), err error)

// maxWindow is the maximum size of the window of zstd in bytes: the limit of RFC 9659, which browsers have.
const maxWindow = 8 << 20

var known = []string{"gzip", "x-gzip", "deflate", "br", "zstd"}

var decoders = map[string]decoder{"gzip": gunzip, "x-gzip": gunzip, "deflate": inflate, "br": unbrotli, "zstd": unzstd}

// rawDecoders never take the beginning of deflate for a header of zlib.
var rawDecoders = map[string]decoder{
	"gzip": gunzip, "x-gzip": gunzip, "deflate": inflateRaw, "br": unbrotli, "zstd": unzstd,
}

func nothing() {}

// members reads the members of a gzip file. What follows them is ignored, as by browsers.
type members struct {
	source *bufio.Reader
	*gzip.Reader
}

func gunzip(source io.Reader) (io.Reader, func(), error) {
	buffered := bufio.NewReader(source)
	r, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, nil, unexpected(err)
	}
	r.Multistream(false)
	return &members{buffered, r}, nothing, nil
}

// Read reads from the current member, or the next one.
func (m *members) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if err == io.EOF && n == 0 && m.Reset(m.source) == nil {
		m.Multistream(false)
		return 0, nil
	}
	if err == io.EOF && n > 0 {
		err = nil
	}
	return n, err
}

// unexpected returns io.ErrUnexpectedEOF for the end of a body within a header.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// inflate decodes deflate, with the header of zlib or, as some servers send it, without.
func inflate(source io.Reader) (io.Reader, func(), error) {
	buffered := bufio.NewReader(source)
	if head, err := buffered.Peek(2); err == nil && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		r, err := zlib.NewReader(buffered)
		return r, nothing, unexpected(err)
	}
	return flate.NewReader(buffered), nothing, nil
}

func inflateRaw(source io.Reader) (io.Reader, func(), error) {
	return flate.NewReader(source), nothing, nil
}

func unbrotli(source io.Reader) (io.Reader, func(), error) {
	return brotli.NewReader(source), nothing, nil
}

func unzstd(source io.Reader) (io.Reader, func(), error) {
	r, err := zstd.NewReader(source, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, nil, err
	}
	return r, r.Close, nil
}
