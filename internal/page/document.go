package page

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

const (
	typeHTML = "text/html; charset=utf-8"

	// A browser always asks, so that no cache hides a change; one that cannot
	// reach us may show what it has for a day (design section 9).
	cachePage = "public, no-cache, stale-if-error=86400"
	// The name of an asset changes with its content.
	cacheAsset = "public, max-age=31536000, immutable"
	cacheNone  = "no-store"
)

// policy allows our own style sheet and pictures, our own script where there is
// one, and nothing else. Nobody may frame a page: it is to be read with its
// address above it.
const (
	policyHead = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'; "
	policyLive = policyHead + "script-src 'self'; connect-src 'self'; "
	noForm     = "form-action 'none'"
	ownForm    = "form-action 'self'" // where there is a form

	policy         = policyHead + noForm
	policyForm     = policyHead + ownForm
	policyLiveForm = policyLive + ownForm
)

// The values of header fields that all answers share. They are put into
// http.Header as they are, which must not change them.
var (
	varyEncoding  = []string{"Accept-Encoding"}
	varyLanguage  = []string{"Accept-Encoding, Accept-Language"}
	encodingGzip  = []string{"gzip"}
	policyValue   = []string{policy}
	formValue     = []string{policyForm}
	liveValue     = []string{policyLive + noForm}
	liveFormValue = []string{policyLiveForm}
	nosniffValue  = []string{"nosniff"}
	referrerValue = []string{"strict-origin-when-cross-origin"}
	noReferrer    = []string{"no-referrer"}
	noIndex       = []string{"noindex"}
	allowGetHead  = []string{"GET, HEAD"}
	allowForm     = []string{"GET, HEAD, POST"}
	retryAfter    = []string{"2"}
)

// document is an answer ready to be written: the bytes, plain and compressed,
// and the header fields of both. It is not changed once made.
type document struct {
	plain, packed variant // packed is plain where compression makes nothing smaller
	contentType   []string
	cacheControl  []string
	policy        []string
	vary          []string
	secret        bool // its address may hold a key: told to no other host and to no search engine
}

// variant is a document in one encoding. Each has an entity tag of its own, as
// strong tags demand.
type variant struct {
	body   []byte
	length []string
	etag   []string
}

// newDocument compresses body and takes its hash. The entity tags depend on the
// content alone, so replicas that render the same agree.
func newDocument(body []byte, contentType, cacheControl string) *document {
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:12])
	plain := newVariant(body, hash)
	packed := plain
	if small := compress(body); len(small) < len(body) {
		packed = newVariant(small, hash+"-gz")
	}
	return &document{
		plain: plain, packed: packed,
		contentType:  []string{contentType},
		cacheControl: []string{cacheControl},
		policy:       policyOf(body),
		vary:         varyOf(contentType),
	}
}

// policyOf returns the policy of a body: only one with a form may send it, and
// to us alone, and only one with a script may run it. What people have typed
// cannot look like either: it is escaped.
func policyOf(body []byte) []string {
	form, live := bytes.Contains(body, []byte("<form ")), bytes.Contains(body, []byte("<script "))
	switch {
	case form && live:
		return liveFormValue
	case form:
		return formValue
	case live:
		return liveValue
	}
	return policyValue
}

// varyOf returns what an answer depends on: pages are in the visitor's language.
func varyOf(contentType string) []string {
	if contentType == typeHTML {
		return varyLanguage
	}
	return varyEncoding
}

func newVariant(body []byte, tag string) variant {
	return variant{body, []string{strconv.Itoa(len(body))}, []string{`"` + tag + `"`}}
}

// size returns how many bytes the document keeps in memory.
func (d *document) size() int { return len(d.plain.body) + len(d.packed.body) }

// packers are kept because a new one takes most of a megabyte.
var packers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

func compress(body []byte) []byte {
	var out bytes.Buffer
	w := packers.Get().(*gzip.Writer)
	defer packers.Put(w)
	w.Reset(&out)
	w.Write(body) // a bytes.Buffer does not fail
	w.Close()
	return bytes.Clone(out.Bytes())
}

// serve answers a GET or HEAD with the document, or with 304 if the client has
// it already.
func (d *document) serve(w http.ResponseWriter, r *http.Request) {
	v, packed := d.choose(r)
	h := w.Header()
	h["Etag"] = v.etag
	h["Cache-Control"] = d.cacheControl
	h["Vary"] = d.vary
	// All else the client has from the first time (RFC 9110, 15.4.5).
	if sent := r.Header["If-None-Match"]; len(sent) > 0 && d.known(sent) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	d.describe(h, v, packed)
	if r.Method != http.MethodHead {
		w.Write(v.body)
	}
}

// serveAs answers with any status and without an entity tag: for the pages that
// answer a form, and those that say why there is nothing else to see.
func (d *document) serveAs(w http.ResponseWriter, r *http.Request, status int) {
	v, packed := d.choose(r)
	h := w.Header()
	h["Cache-Control"] = d.cacheControl
	h["Vary"] = d.vary
	d.describe(h, v, packed)
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(v.body)
	}
}

// choose picks the encoding.
func (d *document) choose(r *http.Request) (v *variant, packed bool) {
	if len(d.packed.body) < len(d.plain.body) && acceptsGzip(r.Header["Accept-Encoding"]) {
		return &d.packed, true
	}
	return &d.plain, false
}

// describe sets the header fields that go with a body.
func (d *document) describe(h http.Header, v *variant, packed bool) {
	if packed {
		h["Content-Encoding"] = encodingGzip
	}
	h["Content-Type"] = d.contentType
	h["Content-Length"] = v.length
	h["Content-Security-Policy"] = d.policy
	h["X-Content-Type-Options"] = nosniffValue
	h["Referrer-Policy"] = referrerValue
	if d.secret {
		h["Referrer-Policy"] = noReferrer
		h["X-Robots-Tag"] = noIndex
	}
}

// known reports whether a client that sent these If-None-Match fields has the
// document, in whichever encoding: the comparison is weak (RFC 9110, 13.1.2).
func (d *document) known(fields []string) bool {
	for _, field := range fields {
		if strings.TrimSpace(field) == "*" {
			return true
		}
		for field != "" {
			var tag string
			tag, field = nextTag(field)
			if tag != "" && (tag == d.plain.etag[0] || tag == d.packed.etag[0]) {
				return true
			}
		}
	}
	return false
}

// nextTag takes the first entity tag, quotes included and W/ left out, off a
// list. A tag may hold commas. An unreadable list ends.
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

// acceptsGzip reports whether the Accept-Encoding fields allow gzip (RFC 9110,
// 12.5.3): named, or else by the star, with a weight other than zero.
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
