package frame

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/surface/page/stream"
)

const (
	// maxStreams is the maximum number of open event streams.
	maxStreams = 500
	// The maximum numbers of open streams of a user, and of an IPv4 address or an IPv6 network of 64 bits.
	maxStreamsPerUser    = 30
	maxStreamsPerAddress = 100
	// maxScreens is the maximum number of screens that are watched. A workspace can open another screen only while it
	// has fewer screens than are free.
	maxScreens        = 2 * maxStreams
	maxScreensPerUser = 2 * maxStreamsPerUser
)

// live notifies open screens when their contents have changed. Because monitors change by pings and by time, on any
// replica, it renders open screens again at intervals. It renders one screen at a time, so that many open screens do
// not keep the database busy. Users and workspaces take turns.
type live struct {
	streams *stream.Broadcaster
	polling *fair.Pool // admits one screen at a time

	mu      sync.Mutex
	screens map[string]*openScreen // by session and path
}

// viewer is the user and the workspace of an open screen.
type viewer struct{ user, workspace string }

func (w viewer) keys() []fair.Key { return []fair.Key{fair.User(w.user), fair.Workspace(w.workspace)} }

// openScreen is a screen that is open in a session.
type openScreen struct {
	viewer   viewer
	topic    *stream.Topic
	asked    atomic.Int64 // when its state was last asked for, in Unix milliseconds
	mu       sync.Mutex
	tag      string // when it was last rendered
	nextPoll time.Time
}

// pollPause is the pause after rendering a screen, as a multiple of the time that rendering took.
const pollPause = 20

func newLive(c stream.Config) *live {
	c.Gone = func(err error) bool { return errors.Is(err, ErrNoScreen) }
	return &live{streams: stream.New(c), polling: fair.NewPool(1, 2*maxScreens), screens: map[string]*openScreen{}}
}

// poll checks all open screens for changes. It forgets screens whose tag nobody has requested for a minute; an open
// stream requests the tag of its screen at least every 30 seconds.
func (l *live) poll(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, s := range l.screens {
		if now.UnixMilli()-s.asked.Load() > time.Minute.Milliseconds() {
			delete(l.screens, key)
			continue
		}
		s.topic.Changed()
	}
}

// checkSpace returns kernel.ErrBusy if a viewer can open no more screens.
func (l *live) checkSpace(w viewer) error {
	users, workspaces := 0, 0
	for _, s := range l.screens {
		if s.viewer.user == w.user {
			users++
		}
		if s.viewer.workspace == w.workspace {
			workspaces++
		}
	}
	if users >= maxScreensPerUser || workspaces >= maxScreens-len(l.screens) {
		return kernel.ErrBusy
	}
	return nil
}

// screen returns the open screen with a key. tag returns the current tag of the screen. The error is kernel.ErrBusy if
// too many screens are open, in total, by the user or in the workspace.
func (l *live) screen(
	w viewer, key string, now time.Time, tag func(context.Context) (string, error),
) (*openScreen, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.screens[key]; s != nil {
		return s, nil
	}
	if err := l.checkSpace(w); err != nil {
		return nil, err
	}
	s := &openScreen{viewer: w}
	s.asked.Store(now.UnixMilli())
	s.topic = stream.NewTopic(func(ctx context.Context) (string, time.Time, error) {
		tag, err := s.currentTag(ctx, l.polling, tag)
		return tag, time.Time{}, err
	})
	l.screens[key] = s
	return s, nil
}

// currentTag returns the tag of the screen. It renders the screen unless that was done recently; see pollPause.
func (s *openScreen) currentTag(
	ctx context.Context, polling *fair.Pool, tag func(context.Context) (string, error),
) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	began := time.Now()
	s.asked.Store(began.UnixMilli())
	if s.tag != "" && began.Before(s.nextPoll) {
		return s.tag, nil
	}
	end, err := polling.Acquire(ctx, s.viewer.keys()...)
	if errors.Is(err, fair.ErrFull) {
		err = kernel.ErrBusy
	}
	if err != nil {
		return s.tag, err
	}
	defer end()
	began = time.Now()
	now, err := tag(ctx)
	s.nextPoll = time.Now().Add(pollPause * time.Since(began))
	if err == nil {
		s.tag = now
	}
	return now, err
}

// ErrNoScreen means that a screen can no longer be shown: its object was deleted, or the session has ended.
var ErrNoScreen = errors.New("there is no such screen")

// serveLive answers with the event stream of a screen, whose path is in the query.
func (r *Request) serveLive() error {
	of, err := url.Parse(LocalPath(r.URL.Query().Get("of")))
	if err != nil || of.Path == Path+"/live" {
		return kernel.ErrNotFound
	}
	viewer := viewer{r.SignedIn.User.ID, r.SignedIn.WorkspaceID}
	tag := func(ctx context.Context) (string, error) { return r.Frame.TagOf(ctx, r.Request, of) }
	open, err := r.live.screen(viewer, r.SignedIn.ID+" "+of.String(), time.Now(), tag)
	if err != nil {
		return err
	}
	err = r.live.streams.Serve(r.W, r.Request, open.topic, r.streamKeys()...)
	if errors.Is(err, ErrNoScreen) {
		return kernel.ErrNotFound
	}
	return err
}

// streamKeys returns the address, user and workspace among which event streams are shared fairly.
func (r *Request) streamKeys() []fair.Key {
	keys := fair.Client(clientaddr.Of(r.Request))
	keys[0] = keys[0].AtMost(maxStreamsPerAddress)
	return append(keys, fair.User(r.SignedIn.User.ID).AtMost(maxStreamsPerUser), fair.Workspace(r.SignedIn.WorkspaceID))
}

// TagOf returns the entity tag of a screen as the session of r would get it now.
func (f *Frame) TagOf(ctx context.Context, r *http.Request, of *url.URL) (string, error) {
	request := r.Clone(ctx)
	request.Method, request.URL, request.RequestURI, request.Pattern = http.MethodGet, of, of.RequestURI(), ""
	response := &headerRecorder{header: http.Header{}}
	f.Polling.ServeHTTP(response, request)
	switch {
	case response.status == http.StatusOK && response.header.Get("ETag") != "":
		return strings.Trim(response.header.Get("ETag"), `"`), nil
	case response.status >= http.StatusInternalServerError:
		return "", kernel.ErrBusy
	default:
		return "", ErrNoScreen
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
