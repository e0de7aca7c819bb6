package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/clientaddr"
	"github.com/allswell/allswell/internal/stream"
)

const (
	// maxStreams is the maximum number of open event streams.
	maxStreams = 500
	// maxTopics is the maximum number of screens that are watched closely.
	maxTopics = 2 * maxStreams
	// watchInterval is the time between two looks at a screen that somebody has open.
	watchInterval = 2 * time.Second
)

// live tells open screens when they have changed. Monitors change by pings and by time, on any replica, so it looks
// regularly, and only while somebody watches.
type live struct {
	streams *stream.Broadcaster

	mu     sync.Mutex
	topics map[string]*stream.Topic // by session and path
}

func newLive(c stream.Config) *live {
	c.Gone = func(err error) bool { return errors.Is(err, errNoScreen) }
	return &live{streams: stream.New(c), topics: map[string]*stream.Topic{}}
}

// look makes all topics look at their screens, and forgets them if nobody watches.
func (l *live) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.streams.Subscribers() == 0 || len(l.topics) > maxTopics {
		clear(l.topics) // one that is still watched looks rarely until its browser connects again
	}
	for _, t := range l.topics {
		t.Changed()
	}
}

// topic returns the topic with a key.
func (l *live) topic(key string, tag func(context.Context) (string, time.Time, error)) *stream.Topic {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.topics[key]
	if t == nil {
		t = stream.NewTopic(tag)
		l.topics[key] = t
	}
	return t
}

// errNoScreen means that a screen cannot be shown any more: it is gone, or the session has ended.
var errNoScreen = errors.New("there is no such screen")

// serveLive answers with the event stream of a screen, whose path is in the query.
func (v *visit) serveLive() error {
	of, err := url.Parse(localPath(v.r.URL.Query().Get("of")))
	if err != nil || of.Path == Path+"/live" {
		return allswell.ErrNotFound
	}
	d, r := v.Dashboard, v.r
	topic := d.live.topic(v.in.ID+" "+of.String(), func(ctx context.Context) (string, time.Time, error) {
		tag, err := d.tagOf(ctx, r, of)
		return tag, time.Time{}, err
	})
	err = d.live.streams.Serve(v.w, v.r, topic, clientaddr.Of(v.r))
	if errors.Is(err, errNoScreen) {
		return allswell.ErrNotFound
	}
	return err
}

// tagOf returns the tag of a screen as the session of r sees it now.
func (d *Dashboard) tagOf(ctx context.Context, r *http.Request, of *url.URL) (string, error) {
	request := r.Clone(ctx)
	request.Method, request.URL, request.RequestURI, request.Pattern = http.MethodGet, of, of.RequestURI(), ""
	response := &headerRecorder{header: http.Header{}}
	d.handler.ServeHTTP(response, request)
	switch {
	case response.status == http.StatusOK && response.header.Get("ETag") != "":
		return strings.Trim(response.header.Get("ETag"), `"`), nil
	case response.status >= http.StatusInternalServerError:
		return "", allswell.ErrBusy
	default:
		return "", errNoScreen
	}
}

// headerRecorder is a http.ResponseWriter that discards the body.
type headerRecorder struct {
	header http.Header
	status int
}

func (w *headerRecorder) Header() http.Header { return w.header }

func (w *headerRecorder) WriteHeader(status int) { w.status = status }

func (w *headerRecorder) Write(p []byte) (int, error) { return len(p), nil }
