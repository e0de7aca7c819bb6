package page

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/surface/page/view"
)

// serveEvents answers with the event stream of a page. An event has the tag of the status page.
func (s *Site) serveEvents(w http.ResponseWriter, r *http.Request, req pageRequest) {
	if err := s.events.Serve(w, r, req.entry.topic, streamKeys(r, req.entry)...); err != nil {
		s.failForAt(w, r, req, err)
	}
}

// maxStreamsPerAddress is how many event streams of pages one address may have open. An IPv6 network of 64 bits counts
// as one address.
const maxStreamsPerAddress = 100

func streamKeys(r *http.Request, e *entry) []fair.Key {
	keys := keysOf(r, e)
	keys[0] = keys[0].AtMost(maxStreamsPerAddress)
	return keys
}

// currentTag returns the tag of a status page as a request gets it now, and when it expires. While the page cannot be
// loaded, it returns the tag of the old snapshot, or "" if there is none. The error is kernel.ErrNotFound if the page
// is gone.
func (s *Site) currentTag(ctx context.Context, e *entry) (tag string, expires time.Time, err error) {
	now := s.index.Last().current(e)
	if !now {
		idx, err := s.index.Get(ctx)
		if now = idx.current(e); !now && err != nil {
			return "", time.Time{}, err
		}
	}
	if !now {
		return "", time.Time{}, kernel.ErrNotFound // deleted, or made private, or the slug belongs to another page
	}
	snap, err := e.snapshot.Get(ctx)
	if snap == nil || isNotFound(err) {
		return "", time.Time{}, err
	}
	tag = snap.tag
	if _, late := s.late(); late {
		tag = view.DelayedTag(tag)
	}
	return tag, e.snapshot.Expires(), err
}

// tagOf returns the tag of a status page: a hash of its contents, except for what changes merely because time passes.
// All replicas compute the same tag, and rendering again without a change gives the same tag.
func tagOf(ctx context.Context, m view.Model) (string, error) {
	html, err := m.WithoutTime().Render(ctx)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(html)
	return hex.EncodeToString(sum[:8]), nil
}

// Streams returns the number of open event streams.
func (s *Site) Streams() int { return s.events.Subscribers() }

// EndStreams ends all event streams and refuses new ones. Clients reconnect after a few seconds.
func (s *Site) EndStreams() { s.events.Close() }
