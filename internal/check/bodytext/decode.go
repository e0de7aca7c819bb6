// Package bodytext decodes the body of a response to the text that a browser would show: it undoes compression, and
// converts the text to UTF-8.
package bodytext

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Body is a body as it was received.
type Body struct {
	Header http.Header // of the response
	Raw    []byte
	Cut    bool // Raw is only the beginning
}

// Text is the text of a body.
type Text struct {
	UTF8 []byte // without a byte order mark; invalid characters are replaced
	Cut  bool   // UTF8 is only the beginning
}

// Error says in plain English why a body cannot be decoded. Its text continues "the body".
type Error struct{ text string }

func (e *Error) Error() string { return e.text }

func failed(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// ErrStopped is returned if the decoding was stopped.
var ErrStopped = errors.New("the decoding was stopped")

// maxEncodings is the maximum number of content encodings of a body.
const maxEncodings = 5

// Encoded reports whether a body has a content encoding other than identity.
func (b Body) Encoded() bool { return len(b.encodings()) > 0 && len(b.Raw) > 0 }

// Decode returns the first limit bytes of the text of a body. It calls stop repeatedly; when stop returns true, the
// error wraps ErrStopped. If the body cannot be decoded, the error wraps an *Error, and the text is what was decoded
// before.
func (b Body) Decode(limit int, stop func() bool) (Text, error) {
	if stop() {
		return Text{}, ErrStopped
	}
	plain, cut, err := b.decompress(limit, stop)
	if err != nil && plain == nil {
		return Text{}, err
	}
	text, why := toUTF8(plain, b.Header, limit, stop)
	text.Cut = text.Cut || cut
	return text, errors.Join(err, why)
}

// encodings returns the content encodings in the order in which they were applied.
func (b Body) encodings() (all []string) {
	for _, name := range strings.Split(strings.Join(b.Header.Values("Content-Encoding"), ","), ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); !slices.Contains(identity, name) {
			all = append(all, name)
		}
	}
	return all
}

// identity are names that mean that nothing was encoded, among them some that servers send by mistake.
var identity = []string{
	"", "identity", "none", "utf-8", "utf8", "iso-8859-1", "us-ascii", "binary", "8bit", "7bit", "chunked",
	"aws-chunked",
}

// decompress returns the first limit bytes of the body without its content encodings.
func (b Body) decompress(limit int, stop func() bool) (plain []byte, cut bool, err error) {
	names := b.encodings()
	if len(names) == 0 || len(b.Raw) == 0 {
		return b.Raw[:min(limit, len(b.Raw))], b.Cut || len(b.Raw) > limit, nil
	}
	if len(names) > maxEncodings {
		return nil, false, failed("has %d content encodings", len(names))
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, false, failed("has the content encoding %q, which cannot be decoded", shorten(name))
		}
	}
	plain, cut, err = b.read(names, decoders, limit, stop)
	if err != nil && !errors.Is(err, ErrStopped) && slices.Contains(names, "deflate") {
		// what looked like a header of zlib may be compressed data
		if raw, isCut, whyNot := b.read(names, rawDecoders, limit, stop); whyNot == nil {
			return raw, isCut, nil
		}
	}
	if err == nil || errors.Is(err, ErrStopped) {
		return plain, cut, err
	}
	if b.Cut && errors.Is(err, io.ErrUnexpectedEOF) {
		return plain, true, nil
	}
	return plain, true, failed("cannot be decompressed (%s): %s", strings.Join(names, ", "), plainReason(err))
}

func plainReason(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ends too early"
	}
	return "it is not valid"
}

// read returns the first limit bytes that decoders make of the body.
func (b Body) read(
	names []string, decoders map[string]decoder, limit int, stop func() bool,
) (plain []byte, cut bool, err error) {
	var source io.Reader = bytes.NewReader(b.Raw)
	for _, name := range slices.Backward(names) {
		r, release, err := decoders[name](source)
		if err != nil {
			return nil, false, err
		}
		defer release()
		source = r
	}
	return readAll(source, limit, stop)
}

// readSize is how many bytes are decoded between two questions whether to stop.
const readSize = 64 << 10

// readAll reads up to limit bytes. cut reports whether there are more.
func readAll(r io.Reader, limit int, stop func() bool) (plain []byte, cut bool, err error) {
	defer func() {
		if recover() != nil { // a bug of a decoder
			err = errors.New("the decoder failed")
		}
	}()
	plain = make([]byte, 0, min(limit+1, readSize))
	for len(plain) <= limit {
		if stop() {
			return nil, false, ErrStopped
		}
		if len(plain) == cap(plain) {
			next := min(limit+1, 4*cap(plain))
			if next > 1<<20 { // no more garbage by growing
				next = limit + 1
			}
			plain = append(make([]byte, 0, next), plain...)
		}
		n, err := r.Read(plain[len(plain):min(cap(plain), len(plain)+readSize)])
		plain = plain[:len(plain)+n]
		if err == io.EOF {
			return plain[:min(len(plain), limit)], len(plain) > limit, nil
		}
		if err != nil {
			return plain[:min(len(plain), limit)], false, err
		}
	}
	return plain[:limit], true, nil
}

func shorten(text string) string {
	if len(text) > 40 {
		return text[:40] + "…"
	}
	return text
}
