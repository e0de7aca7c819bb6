package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Values of Cache-Control.
const (
	// CacheRevalidate makes caches revalidate each time, so that no cache hides a
	// change. A cache that cannot reach the server may serve its copy for a day.
	CacheRevalidate = "public, no-cache, stale-if-error=86400"
	// CacheForever is for documents whose URL changes with their content.
	CacheForever = "public, max-age=31536000, immutable"
	// CacheNever is for responses to one person.
	CacheNever = "no-store"
)

// Header values that all responses share. They are assigned to http.Header without a copy and must not be modified.
var (
	encodingGzip   = []string{"gzip"}
	nosniff        = []string{"nosniff"}
	referrerOrigin = []string{"strict-origin-when-cross-origin"}
	referrerNone   = []string{"no-referrer"}
	noIndex        = []string{"noindex"}
)

// DocumentHeader holds the headers that the creator of a Document chooses.
type DocumentHeader struct {
	ContentType  string
	CacheControl string
	Policy       Policy
	ByLanguage   bool // the response depends on Accept-Language
	Secret       bool // the URL may contain a key: no referrer, no search engine
}

// Document is a response body with its headers, compressed once and served
// many times. It is immutable and safe for concurrent use.
type Document struct {
	identity, gzip encoded // gzip is identity if compression does not help
	contentType    []string
	cacheControl   []string
	policy         []string
	vary           []string
	secret         bool
}

// encoded is a document in one content encoding. Each encoding has its own
// entity tag, because RFC 9110 requires it for strong tags.
type encoded struct {
	body   []byte
	length []string
	etag   []string
}

// NewDocument compresses and hashes body, which must not be modified afterwards. The entity tags depend on the body
// alone, so that replicas that render the same bytes agree.
func NewDocument(body []byte, h DocumentHeader) *Document {
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:12])
	d := &Document{
		identity:     newEncoded(body, hash),
		contentType:  []string{h.ContentType},
		cacheControl: []string{h.CacheControl},
		policy:       []string{string(h.Policy)},
		vary:         []string{"Accept-Encoding"},
		secret:       h.Secret,
	}
	if h.ByLanguage {
		d.vary = []string{"Accept-Encoding, Accept-Language"}
	}
	d.gzip = d.identity
	if small := compress(body); len(small) < len(body) {
		d.gzip = newEncoded(small, hash+"-gz")
	}
	return d
}

func newEncoded(body []byte, tag string) encoded {
	return encoded{body, []string{strconv.Itoa(len(body))}, []string{`"` + tag + `"`}}
}

// Body returns the uncompressed body. It must not be modified.
func (d *Document) Body() []byte { return d.identity.body }

// Compressed returns the gzip body, or the uncompressed one if gzip does not make it smaller. It must not be modified.
func (d *Document) Compressed() []byte { return d.gzip.body }

// Size returns the bytes of memory that the bodies take.
func (d *Document) Size() int { return len(d.identity.body) + len(d.gzip.body) }

// gzipWriters are pooled because a new one allocates most of a megabyte.
var gzipWriters = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

func compress(body []byte) []byte {
	var out bytes.Buffer
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	w.Reset(&out)
	w.Write(body) // a bytes.Buffer does not fail
	w.Close()
	return bytes.Clone(out.Bytes())
}

// ServeHTTP answers a GET or HEAD request with 200, or with 304 if the client has the document already.
func (d *Document) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := d.negotiate(r)
	h := w.Header()
	h["Etag"] = e.etag
	h["Cache-Control"] = d.cacheControl
	h["Vary"] = d.vary
	// The client keeps all other headers of the first response (RFC 9110, 15.4.5).
	if sent := r.Header["If-None-Match"]; len(sent) > 0 && d.matches(sent) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	d.setHeader(h, e)
	if r.Method != http.MethodHead {
		w.Write(e.body)
	}
}

// ServeStatus answers with a status and without an entity tag. It is for responses to forms and for error pages.
func (d *Document) ServeStatus(w http.ResponseWriter, r *http.Request, status int) {
	e := d.negotiate(r)
	h := w.Header()
	h["Cache-Control"] = d.cacheControl
	h["Vary"] = d.vary
	d.setHeader(h, e)
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(e.body)
	}
}

// negotiate returns the encoded document in the encoding that the client accepts.
func (d *Document) negotiate(r *http.Request) *encoded {
	if len(d.gzip.body) < len(d.identity.body) && acceptsGzip(r.Header["Accept-Encoding"]) {
		return &d.gzip
	}
	return &d.identity
}

// setHeader sets the headers that describe a body.
func (d *Document) setHeader(h http.Header, e *encoded) {
	if e == &d.gzip {
		h["Content-Encoding"] = encodingGzip
	}
	h["Content-Type"] = d.contentType
	h["Content-Length"] = e.length
	h["Content-Security-Policy"] = d.policy
	h["X-Content-Type-Options"] = nosniff
	h["Referrer-Policy"] = referrerOrigin
	if d.secret {
		h["Referrer-Policy"] = referrerNone
		h["X-Robots-Tag"] = noIndex
	}
}

// matches reports whether the values of If-None-Match name the document in
// either encoding. The comparison is weak (RFC 9110, 13.1.2).
func (d *Document) matches(fields []string) bool {
	for _, field := range fields {
		if strings.TrimSpace(field) == "*" {
			return true
		}
		for field != "" {
			var tag string
			tag, field = nextTag(field)
			if tag != "" && (tag == d.identity.etag[0] || tag == d.gzip.etag[0]) {
				return true
			}
		}
	}
	return false
}

// nextTag returns the first entity tag of a list, with its quotes and without W/, and the rest of the list. A tag may
// contain commas. Both results are empty if the list is malformed.
func nextTag(list string) (tag, rest string) {
	list = strings.TrimPrefix(strings.TrimLeft(list, " \t,"), "W/")
	if !strings.HasPrefix(list, `"`) {
		return "", ""
	}
	end := strings.IndexByte(list[1:], '"')
	if end < 0 {
		return "", ""
	}
	return list[:end+2], list[end+2:]
}

// acceptsGzip reports whether the values of Accept-Encoding allow gzip, by name
// or else by "*", with a weight other than zero (RFC 9110, 12.5.3).
func acceptsGzip(fields []string) bool {
	star := false
	for _, field := range fields {
		for field != "" {
			var item string
			item, field, _ = strings.Cut(field, ",")
			name, params, _ := strings.Cut(item, ";")
			name = strings.TrimSpace(name)
			switch {
			case strings.EqualFold(name, "gzip"), strings.EqualFold(name, "x-gzip"):
				return !zeroWeight(params)
			case name == "*":
				star = !zeroWeight(params)
			}
		}
	}
	return star
}

func zeroWeight(params string) bool {
	name, value, ok := strings.Cut(strings.TrimSpace(params), "=")
	if !ok || !strings.EqualFold(strings.TrimSpace(name), "q") {
		return false
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	return err == nil && q == 0
}
