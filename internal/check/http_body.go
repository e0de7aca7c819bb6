package check

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell/internal/check/bodytext"
	"github.com/allswell/allswell/internal/check/jsonpath"
	"github.com/allswell/allswell/internal/check/pattern"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/shared/redact"
)

// maxJSONPath is the maximum length of a JSONPath in characters.
const maxJSONPath = 200

// checkJSONPath parses a JSONPath.
func checkJSONPath(bad *kernel.ValidationError, path string) *jsonpath.Path {
	parsed, err := jsonpath.Parse(path)
	if err != nil {
		bad.Add("json_path", "must be a JSONPath (RFC 9535), such as $.status: %s", err)
	}
	return parsed
}

// checkPattern compiles a regular expression.
func checkPattern(bad *kernel.ValidationError, field, text string) *pattern.Pattern {
	compiled, err := pattern.Compile(text)
	switch {
	case errors.Is(err, pattern.ErrTooLarge):
		bad.Add(field, "may have at most %d characters and operators, where x{10} are ten", pattern.MaxSize)
	case err != nil:
		bad.Add(field, "must be a regular expression in RE2 syntax")
	}
	return compiled
}

// judgesText reports whether the check has an expectation of the text of the body.
func (p *httpProbe) judgesText() bool {
	return p.BodyContains != "" || p.BodyNotContains != "" || p.matches != nil || p.json != nil
}

// received is the body of a response.
type received struct {
	bodytext.Body
	response *http.Response
	limit    int    // bytes that were to be read
	release  func() // gives the place back; Raw must not be used any more
}

// receive reads up to MaxBodySize bytes of a body. It keeps the first freeBody bytes, or all of them if keep is set.
// More than freeBody bytes need a place, which limits the memory for the bodies of all checks.
func (p *httpProbe) receive(ctx context.Context, r *run, response *http.Response, keep bool) (received, error) {
	b := received{
		Body: bodytext.Body{Header: response.Header}, response: response, limit: p.MaxBodySize, release: func() {},
	}
	if isEndless(response) {
		return p.receiveSome(ctx, r, b, keep)
	}
	err := b.read(min(freeBody, p.MaxBodySize))
	if err == io.EOF {
		return b, nil
	}
	rest := int64(p.MaxBodySize - len(b.Raw))
	if err != nil || rest == 0 {
		return b, err
	}
	if !keep {
		b.Cut = true
		_, err = io.Copy(io.Discard, io.LimitReader(response.Body, rest))
		return b, err
	}
	size := p.MaxBodySize
	if length := response.ContentLength; length >= 0 {
		size = int(min(int64(size), length))
	}
	if response.ContentLength < 0 && size > smallBody { // it may be small
		err = b.readInPlace(ctx, r, smallBody)
	}
	if err == nil {
		err = b.readInPlace(ctx, r, size)
	}
	if err == io.EOF {
		return b, nil
	}
	return b, err
}

// isEndless reports whether a body has no end by its type, such as a stream of events.
func isEndless(response *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	return kind == "text/event-stream" || kind == "multipart/x-mixed-replace"
}

// receiveSome reads the beginning of a body without an end, if it is to be judged: up to freeBody bytes, in half of the
// time that is left. This does not count towards the time of the check.
func (p *httpProbe) receiveSome(ctx context.Context, r *run, b received, keep bool) (received, error) {
	b.Cut = true
	if !keep {
		return b, nil
	}
	began := time.Now()
	limit := r.timeout / 2
	if deadline, ok := ctx.Deadline(); ok {
		limit = time.Until(deadline) / 2
	}
	var over atomic.Bool
	timer := time.AfterFunc(limit, func() {
		over.Store(true)
		b.response.Body.Close()
	})
	defer timer.Stop()
	err := b.read(min(freeBody, p.MaxBodySize))
	r.wait(time.Since(began))
	if err == io.EOF || over.Load() {
		err = nil
	}
	return b, err
}

// readInPlace reads until Raw has size bytes, in a place for a body of that size.
func (b *received) readInPlace(ctx context.Context, r *run, size int) error {
	began := time.Now()
	buffer, release, err := r.network.room().reserve(ctx, size, r.keys)
	r.wait(time.Since(began))
	if err != nil {
		return errBusy
	}
	b.Raw = append(buffer, b.Raw...)
	b.release() // of a smaller place
	b.release = release
	return b.read(size)
}

// read reads until Raw has size bytes. The error is io.EOF at the end of the body.
func (b *received) read(size int) error {
	for len(b.Raw) < size {
		if len(b.Raw) == cap(b.Raw) {
			b.Raw = append(make([]byte, 0, min(size, max(4096, 4*cap(b.Raw)))), b.Raw...)
		}
		n, err := b.response.Body.Read(b.Raw[len(b.Raw):min(cap(b.Raw), size)])
		b.Raw = b.Raw[:len(b.Raw)+n]
		if err != nil {
			return err
		}
	}
	return nil
}

// excerpt returns the beginning of the text of a body that is not judged, and whether there may be more.
func (b *received) excerpt(ctx context.Context, r *run) (beginning string, cut bool) {
	begin := b.Body
	begin.Cut = true
	text, stop := bodytext.Text{}, func() bool { return ctx.Err() != nil }
	if !begin.Encoded() {
		text, _ = begin.Decode(maxExcerpt, stop) // what cannot be decoded is not shown
		return string(text.UTF8), b.isCut()
	}
	_ = r.inTurn(ctx, func(stop func() bool) error { // without a turn there is no excerpt
		text, _ = begin.Decode(maxExcerpt, stop)
		return nil
	})
	return string(text.UTF8), b.isCut()
}

// isCut reports whether the body may have more than what was read.
func (b *received) isCut() bool { return b.Cut || len(b.Raw) == b.limit }

// maxExcerpt is how many bytes of a text are decoded to keep some of them.
const maxExcerpt = 4 * monitor.MaxFailedBody

// judgeBody compares the text of a body with what is expected, until ctx ends.
func (p *httpProbe) judgeBody(ctx context.Context, r *run, b *received, o *Outcome) {
	b.Cut = b.Encoded() && len(b.Raw) == b.limit // then it may have an end that was not read
	err := r.inTurn(ctx, func(stop func() bool) error {
		text, err := b.Decode(b.limit, stop)
		o.Body, o.BodyCut = string(text.UTF8[:min(len(text.UTF8), maxExcerpt)]), text.Cut || b.isCut()
		var bad *bodytext.Error
		switch {
		case errors.As(err, &bad):
			o.Failure = "the body " + bad.Error()
			return nil
		case err != nil:
			return err
		}
		isLonger := sync.OnceValue(b.isLonger)
		secrets := p.guard(b.response.Request)
		judged := secrets.hide(text.UTF8)
		if len(secrets.Secrets) > 0 {
			if !bytes.Equal(judged, text.UTF8) {
				o.Failure = p.judgesAbsence()
			}
			if text.Cut || isLonger() {
				judged = redact.CutEnd(secrets.Secrets, judged)
			}
		}
		why, err := p.judgeText(judged, stop)
		if err != nil {
			return err
		}
		o.Failure = cmp.Or(why, o.Failure)
		if o.Failure == "" && p.BodyNotContains != "" && text.Cut && b.Encoded() {
			o.Failure = "the body may contain a text that it must not contain"
		}
		if o.Failure != "" && (text.Cut || isLonger()) {
			o.Failure += fmt.Sprintf("; it is longer than the %d bytes that are read (max_body_size)", b.limit)
		}
		return nil
	})
	if err != nil {
		r.notJudged(ctx, err, o)
	}
}

// isLonger reports whether the body has more than what was read.
func (b *received) isLonger() bool {
	if len(b.Raw) < b.limit {
		return false
	}
	n, _ := io.ReadFull(b.response.Body, make([]byte, 1))
	return n > 0
}

// judgesAbsence returns the failure of an expectation that cannot be judged on a text with hidden secrets, because the
// secrets may contain what the text must not contain; "" if there is no such expectation.
func (p *httpProbe) judgesAbsence() string {
	switch {
	case p.BodyNotContains != "":
		return "the body contains a secret of the check, which was hidden, so it may contain the text that it must " +
			"not contain"
	case p.json != nil && strings.Contains(p.JSONPath, "?"):
		return "the body contains a secret of the check, which was hidden, so the filter of the json_path cannot " +
			"judge it"
	}
	return ""
}

// judgeText returns why a text is not the expected one, or "".
func (p *httpProbe) judgeText(text []byte, stop func() bool) (why string, err error) {
	switch {
	case p.BodyContains != "" && !bytes.Contains(text, []byte(p.BodyContains)):
		return "the body does not contain the expected text", nil
	case p.BodyNotContains != "" && bytes.Contains(text, []byte(p.BodyNotContains)):
		return "the body contains a text that it must not contain", nil
	}
	if p.matches != nil {
		if matched, err := p.matches.Match(text, stop); err != nil || !matched {
			return "the body does not match the regular expression", err
		}
	}
	if p.json != nil {
		return judgeJSON(text, p.json, p.JSONPath, p.JSONValue, stop)
	}
	return "", nil
}

// judgeJSON returns why a text does not have the expected value at a path, or "".
func judgeJSON(text []byte, path *jsonpath.Path, name, expected string, stop func() bool) (why string, err error) {
	name = shorten(name)
	document, err := jsonpath.ParseDocument(text)
	if errors.Is(err, jsonpath.ErrDepth) {
		return "the body has " + err.Error(), nil
	}
	if err != nil {
		return "the body is not valid JSON", nil
	}
	defer document.Release()
	found, ok, err := path.First(document, stop)
	switch {
	case errors.Is(err, jsonpath.ErrWork):
		return "finding " + name + " in the body takes too long; use a simpler path", nil
	case err != nil:
		return "", err
	case !ok:
		return "the body has no value at " + name, nil
	case expected == "" || found.Is(expected):
		return "", nil
	}
	return "the value at " + name + " is " + cmp.Or(shorten(found.Beginning(maxExcerpt)), `""`) + ", expected " +
		expected, nil
}
