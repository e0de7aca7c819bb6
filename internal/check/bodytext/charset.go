package bodytext

import (
	"bytes"
	"errors"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/transform"
)

// sniffed is how many bytes of a document are searched for its charset, as by browsers.
const sniffed = 1024

// marks are byte order marks. A mark comes before shorter ones that it begins with.
var marks = []struct {
	bytes string
	encoding.Encoding
}{
	{"\xef\xbb\xbf", unicode.UTF8},
	{"\xff\xfe\x00\x00", utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)},
	{"\x00\x00\xfe\xff", utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)},
	{"\xff\xfe", unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)},
	{"\xfe\xff", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)},
}

// otherCharsets are charsets that browsers do not know.
var otherCharsets = map[string]encoding.Encoding{
	"utf-32":   utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM),
	"utf-32le": utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM),
	"utf-32be": utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM),
}

// toUTF8 returns the first limit bytes of a text in UTF-8.
func toUTF8(plain []byte, h http.Header, limit int, stop func() bool) (Text, error) {
	from, rest, err := charsetOf(plain, h)
	if err != nil {
		return Text{}, err
	}
	if from == nil || from == unicode.UTF8 {
		if utf8.Valid(rest) {
			return Text{UTF8: rest}, nil
		}
		from = unicode.UTF8
	}
	return convert(rest, from, limit, stop)
}

// convert converts a text, and replaces invalid characters.
func convert(text []byte, from encoding.Encoding, limit int, stop func() bool) (Text, error) {
	decoder := transform.NewReader(bytes.NewReader(text), from.NewDecoder())
	converted, cut, err := readAll(decoder, limit, stop)
	switch {
	case errors.Is(err, ErrStopped):
		return Text{}, err
	case err != nil:
		return Text{}, failed("cannot be converted to UTF-8")
	}
	for cut {
		if c, size := utf8.DecodeLastRune(converted); c != utf8.RuneError || size != 1 {
			break
		}
		converted = converted[:len(converted)-1] // a part of a character
	}
	return Text{converted, cut}, nil
}

// charsetOf returns the charset of a text, and the text without its byte order mark; nil: UTF-8. A byte order mark
// takes precedence over the header of the response, and the header over the document.
func charsetOf(plain []byte, h http.Header) (encoding.Encoding, []byte, error) {
	for _, mark := range marks {
		if rest, ok := bytes.CutPrefix(plain, []byte(mark.bytes)); ok {
			return mark.Encoding, rest, nil
		}
	}
	mediaType, label := contentType(h)
	found, isKnown := lookup(label)
	if label == "" || !isKnown && utf8.Valid(plain) {
		found, isKnown = sniff(plain, mediaType), true
	}
	switch {
	case !isKnown:
		return nil, nil, failed("has the charset %q, which is not known", shorten(label))
	case found == encoding.Replacement:
		return nil, nil, failed("has the charset %q, which browsers do not decode", shorten(label))
	}
	return found, plain, nil
}

// lookup returns the encoding of a label, as browsers understand it.
func lookup(label string) (encoding.Encoding, bool) {
	if e, ok := otherCharsets[strings.ToLower(label)]; ok {
		return e, true
	}
	e, err := htmlindex.Get(label)
	return e, err == nil
}

// contentType returns the media type and the charset of a response.
func contentType(h http.Header) (mediaType, label string) {
	values := h.Values("Content-Type")
	if len(values) == 0 {
		return "", ""
	}
	last := values[len(values)-1]
	if mediaType, parameters, err := mime.ParseMediaType(last); err == nil {
		return mediaType, strings.TrimSpace(parameters["charset"])
	}
	mediaType, _, _ = strings.Cut(last, ";")
	if m := charsetParameter.FindStringSubmatch(last); m != nil {
		label = m[1]
	}
	return strings.ToLower(strings.TrimSpace(mediaType)), label
}

var (
	charsetParameter = regexp.MustCompile(`(?i);\s*charset\s*=\s*["']?([^\s;"',]+)`)
	xmlDeclaration   = regexp.MustCompile(`^\s*<\?xml\s[^>]*\bencoding\s*=\s*["']([A-Za-z0-9._-]+)["']`)
)

// sniff returns the charset of a document without one in its header: the charset that the document names, else UTF-8 if
// it is valid, else the charset of old documents.
func sniff(plain []byte, mediaType string) encoding.Encoding {
	if e := sniffJSON(plain, mediaType); e != nil {
		return e
	}
	begin := plain[:min(sniffed, len(plain))]
	if m := xmlDeclaration.FindSubmatch(begin); m != nil {
		if e, ok := lookup(string(m[1])); ok && !strings.HasPrefix(strings.ToLower(string(m[1])), "utf-") {
			return e
		}
	}
	if slices.Contains([]string{"", "text/html", "application/xhtml+xml"}, mediaType) {
		if e, name, _ := charset.DetermineEncoding(begin, "text/html"); name != "utf-8" && name != "windows-1252" {
			return e
		}
	}
	if validPart(plain) {
		return unicode.UTF8
	}
	return charmap.Windows1252
}

// validPart reports whether a text is valid UTF-8, except that its last character may be cut off.
func validPart(text []byte) bool {
	for i := 0; i < utf8.UTFMax && i <= len(text); i++ {
		if utf8.Valid(text[:len(text)-i]) {
			return i == 0 || !utf8.FullRune(text[len(text)-i:])
		}
	}
	return false
}

// sniffJSON returns the charset of JSON in UTF-16 or UTF-32 without a byte order mark: its first character is ASCII.
func sniffJSON(plain []byte, mediaType string) encoding.Encoding {
	if !strings.HasSuffix(mediaType, "json") || len(plain) < 4 {
		return nil
	}
	zero := [4]bool{plain[0] == 0, plain[1] == 0, plain[2] == 0, plain[3] == 0}
	switch zero {
	case [4]bool{true, true, true, false}:
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
	case [4]bool{false, true, true, true}:
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	case [4]bool{true, false, true, false}:
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case [4]bool{false, true, false, true}:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	}
	return nil
}
