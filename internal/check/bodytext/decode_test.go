package bodytext

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

func goOn() bool { return false }

const limit = 1 << 20

// packed returns a text with an encoding.
func packed(t testing.TB, name, text string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch name {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "zlib":
		w = zlib.NewWriter(&b)
	case "raw":
		w, _ = flate.NewWriter(&b, flate.BestSpeed)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		w, _ = zstd.NewWriter(&b)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func body(encodings, contentType, raw string) Body {
	h := http.Header{}
	if encodings != "" {
		h.Set("Content-Encoding", encodings)
	}
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	return Body{Header: h, Raw: []byte(raw)}
}

// TestContentEncodings checks what servers send, and that it is not taken for text when it cannot be decoded.
func TestContentEncodings(t *testing.T) {
	const hello = "hello ok, hello ok, grüße"
	gz := packed(t, "gzip", hello)
	for _, c := range []struct{ name, encodings, raw, want, failure string }{
		{"none", "", hello, hello, ""},
		{"identity", "Identity", hello, hello, ""},
		{"a charset by mistake", "UTF-8", hello, hello, ""},
		{"gzip", "gzip", gz, hello, ""},
		{"x-gzip", " X-GZIP ", gz, hello, ""},
		{"gzip in two members", "gzip", gz + packed(t, "gzip", "!"), hello + "!", ""},
		{"gzip with garbage behind it", "gzip", gz + "garbage", hello, ""},
		{"zlib", "deflate", packed(t, "zlib", hello), hello, ""},
		{"raw deflate", "deflate", packed(t, "raw", hello), hello, ""},
		{"raw deflate that begins like zlib", "deflate", "\xf8\x00\x00\xff\xff\x01\x01\x00\xfe\xffx", "x", ""},
		{"brotli", "br", packed(t, "br", hello), hello, ""},
		{"zstd", "zstd", packed(t, "zstd", hello), hello, ""},
		{"stacked", "br, gzip", packed(t, "gzip", packed(t, "br", hello)), hello, ""},
		{"empty", "gzip", "", "", ""},
		{"empty gzip", "gzip", packed(t, "gzip", ""), "", ""},
		{"not gzip", "gzip", hello, "", "cannot be decompressed (gzip): it is not valid"},
		{"not zlib", "deflate", "\xff\xff\xff", "", "cannot be decompressed (deflate): it is not valid"},
		{"not brotli", "br", hello, "", "cannot be decompressed (br): it is not valid"},
		{"not zstd", "zstd", hello, "", "cannot be decompressed (zstd): it is not valid"},
		{"gzip without its end", "gzip", gz[:len(gz)-9], "", "cannot be decompressed (gzip): it ends too early"},
		{"gzip without its checksum", "gzip", gz[:len(gz)-8], "", "cannot be decompressed (gzip): it ends too early"},
		{"gzip with a wrong checksum", "gzip", gz[:len(gz)-8] + "12345678", "",
			"cannot be decompressed (gzip): it is not valid"},
		{"one byte of gzip", "gzip", gz[:1], "", "cannot be decompressed (gzip): it ends too early"},
		{"brotli without its end", "br", packed(t, "br", hello)[:10], "",
			"cannot be decompressed (br): it ends too early"},
		{"in the wrong order", "gzip, br", packed(t, "gzip", packed(t, "br", hello)), "",
			"cannot be decompressed (gzip, br): it is not valid"},
		{"unknown", "compress", hello, "", `has the content encoding "compress", which cannot be decoded`},
		{"too many", strings.Repeat("gzip, ", 6), hello, "", "has 6 content encodings"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := body(c.encodings, "text/plain; charset=utf-8", c.raw).Decode(limit, goOn)
			expect(t, text, err, c.want, c.failure)
		})
	}
}

// TestNumberOfContentEncodings checks both sides of their limit.
func TestNumberOfContentEncodings(t *testing.T) {
	raw, names := "ok", []string(nil)
	for range maxEncodings {
		raw, names = packed(t, "gzip", raw), append(names, "gzip")
	}
	text, err := body(strings.Join(names, ", "), "", raw).Decode(limit, goOn)
	expect(t, text, err, "ok", "")
	text, err = body(strings.Join(append(names, "gzip"), ", "), "", packed(t, "gzip", raw)).Decode(limit, goOn)
	expect(t, text, err, "", "has 6 content encodings")
}

func expect(t *testing.T, text Text, err error, want, failure string) {
	t.Helper()
	if failure == "" {
		if err != nil || string(text.UTF8) != want || text.Cut {
			t.Errorf("text %q, cut %v, error %v, want %q", text.UTF8, text.Cut, err, want)
		}
		return
	}
	var why *Error
	if !errors.As(err, &why) || why.Error() != failure {
		t.Errorf("error %v, want %s", err, failure)
	}
}

func in(e encoding.Encoding, text string) string {
	converted, err := e.NewEncoder().String(text)
	if err != nil {
		panic(err)
	}
	return converted
}

// TestCharsets checks texts in the charsets of byte order marks, headers and documents.
func TestCharsets(t *testing.T) {
	const text = "Grüße, hello"
	latin1 := in(charmap.ISO8859_1, text)
	little, big := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM),
		unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	little32, big32 := utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM), utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
	meta := `<!doctype html><meta charset="iso-8859-2">`
	for _, c := range []struct{ name, contentType, raw, want, failure string }{
		{"UTF-8", "text/plain", text, text, ""},
		{"UTF-8 with a mark", "text/plain", "\ufeff" + text, text, ""},
		{"a mark and another header", "text/plain; charset=iso-8859-1", "\ufeff" + text, text, ""},
		{"UTF-16 with a mark", "", "\xff\xfe" + in(little, text), text, ""},
		{"UTF-16 in the other order with a mark", "application/json", "\xfe\xff" + in(big, text), text, ""},
		{"UTF-32 with a mark", "", "\xff\xfe\x00\x00" + in(little32, text), text, ""},
		{"UTF-32 in the other order with a mark", "", "\x00\x00\xfe\xff" + in(big32, text), text, ""},
		{"UTF-16 by header", "text/html; charset=UTF-16", in(little, text), text, ""},
		{"UTF-16 by header in the other order", "text/html; charset=utf-16be", in(big, text), text, ""},
		{"UTF-32 by header", "text/html; charset=utf-32be", in(big32, text), text, ""},
		{"JSON in UTF-16 without a mark", "application/json", in(big, `{"a": "ü"}`), `{"a": "ü"}`, ""},
		{"JSON in UTF-32 without a mark", "application/problem+json", in(little32, `{"a": "ü"}`), `{"a": "ü"}`, ""},
		{"ISO-8859-1", "text/plain; charset=ISO-8859-1", latin1, text, ""},
		{"quoted", `text/plain; charset="latin1"`, latin1, text, ""},
		{"a broken header", `text/plain; charset=latin1; charset=x; =`, latin1, text, ""},
		{"without a name", "text/plain", latin1, text, ""},
		{"Shift JIS", "text/html; charset=shift_jis", in(japanese.ShiftJIS, "日本"), "日本", ""},
		{"meta", "text/html", meta + in(charmap.ISO8859_2, "žluť"), meta + "žluť", ""},
		{"meta without a header", "", meta + in(charmap.ISO8859_2, "žluť"), meta + "žluť", ""},
		{"meta of a text", "text/plain", meta + text, meta + text, ""},
		{"a header and meta", "text/html; charset=utf-8", meta + text, meta + text, ""},
		{"XML", "application/xml", `<?xml version="1.0" encoding="iso-8859-2"?><a>` + in(charmap.ISO8859_2, "ž"),
			`<?xml version="1.0" encoding="iso-8859-2"?><a>ž`, ""},
		{"invalid UTF-8", "text/plain; charset=utf-8", "a\xffb", "a\ufffdb", ""},
		{"late invalid UTF-8", "text/html", strings.Repeat("a", 2000) + "\xfc", strings.Repeat("a", 2000) + "ü", ""},
		{"an unknown charset of ASCII", "text/plain; charset=nonsense", "hello", "hello", ""},
		{"an unknown charset", "text/plain; charset=nonsense", latin1, "",
			`has the charset "nonsense", which is not known`},
		{"a charset that browsers refuse", "text/plain; charset=iso-2022-kr", latin1, "",
			`has the charset "iso-2022-kr", which browsers do not decode`},
	} {
		t.Run(c.name, func(t *testing.T) {
			decoded, err := body("", c.contentType, c.raw).Decode(limit, goOn)
			expect(t, decoded, err, c.want, c.failure)
			if c.failure == "" {
				decoded, err = body("gzip", c.contentType, packed(t, "gzip", c.raw)).Decode(limit, goOn)
				expect(t, decoded, err, c.want, "")
			}
		})
	}
}

// TestLimit checks texts that are as long as the limit and longer, before and after they are converted.
func TestLimit(t *testing.T) {
	for _, c := range []struct {
		name string
		Body
		want string
		cut  bool
	}{
		{"as long", body("", "", "12345"), "12345", false},
		{"longer", body("", "", "123456"), "12345", true},
		{"as long, compressed", body("gzip", "", packed(t, "gzip", "12345")), "12345", false},
		{"longer, compressed", body("gzip", "", packed(t, "gzip", "123456")), "12345", true},
		{"longer in UTF-8", body("", "text/plain; charset=latin1", "123\xfc"), "123ü", false},
		{"too long in UTF-8", body("", "text/plain; charset=latin1", "1234\xfc"), "1234", true},
		{"received in part", Body{http.Header{}, []byte("123"), true}, "123", true},
		{"compressed and received in part",
			Body{http.Header{"Content-Encoding": {"gzip"}}, []byte(packed(t, "gzip", "123")[:14]), true}, "123", true},
	} {
		text, err := c.Decode(5, goOn)
		if err != nil || c.name != "compressed and received in part" && string(text.UTF8) != c.want ||
			text.Cut != c.cut {
			t.Errorf("%s: %q, cut %v, error %v", c.name, text.UTF8, text.Cut, err)
		}
	}
}

// TestBombs checks that little is kept of bodies that become a thousand times as long, in one step or in several.
func TestBombs(t *testing.T) {
	zeros := strings.Repeat("\x00", 64<<20)
	for _, names := range [][]string{
		{"gzip"}, {"zlib"}, {"br"}, {"zstd"}, {"gzip", "gzip", "gzip"}, {"br", "zstd", "gzip"},
	} {
		raw := zeros
		for _, name := range names {
			raw = packed(t, name, raw)
		}
		b := body(strings.ReplaceAll(strings.Join(names, ","), "zlib", "deflate"), "", raw)
		raw = ""
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		text, err := b.Decode(limit, goOn)
		runtime.ReadMemStats(&after)
		used := after.TotalAlloc - before.TotalAlloc
		if err != nil || len(text.UTF8) != limit || !text.Cut || used > 40<<20 {
			t.Errorf("%s: %d bytes, cut %v, error %v, %d bytes of memory", names, len(text.UTF8), text.Cut, err, used)
		}
		asked := 0
		if _, err := b.Decode(64<<20, func() bool {
			asked++
			return asked == 10
		}); !errors.Is(err, ErrStopped) || asked != 10 {
			t.Errorf("%s: error %v after %d questions", names, err, asked)
		}
	}
}

// FuzzDecode checks that no body breaks the decoding.
func FuzzDecode(f *testing.F) {
	for _, name := range known[2:] {
		f.Add(name, "text/html", []byte("\x1f\x8b"))
	}
	f.Add("br, gzip", `text/html; charset="utf-16"`, []byte(packed(f, "gzip", packed(f, "br", "x"))))
	f.Fuzz(func(t *testing.T, encodings, contentType string, raw []byte) {
		text, err := Body{
			http.Header{"Content-Encoding": {encodings}, "Content-Type": {contentType}}, raw, len(raw)%2 == 0,
		}.Decode(1000, goOn)
		var why *Error
		if err != nil && !errors.As(err, &why) || len(text.UTF8) > 1000 {
			t.Errorf("%d bytes, error %v", len(text.UTF8), err)
		}
	})
}

// TestWindowOfZstd checks that a body whose decoder would need more memory than browsers give it is refused.
func TestWindowOfZstd(t *testing.T) {
	for _, window := range []int{maxWindow, 2 * maxWindow} {
		var b bytes.Buffer
		w, err := zstd.NewWriter(&b, zstd.WithWindowSize(window), zstd.WithSingleSegment(false))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			io.WriteString(w, strings.Repeat("hello ", 1000))
			w.Flush() // before the end, so that the frame names the window and not its size
		}
		w.Close()
		text, err := body("zstd", "", b.String()).Decode(limit, goOn)
		if failed := err != nil; failed != (window > maxWindow) || !failed && len(text.UTF8) != 12_000 {
			t.Errorf("a window of %d MiB: %d bytes, %v", window>>20, len(text.UTF8), err)
		}
	}
}
