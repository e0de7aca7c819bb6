package web_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/web"
)

// hold is a handler that reads its body as a whole and keeps it for a minute.
func hold(status *sync.Map, most *atomic.Int64) http.Handler {
	var held atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := web.ReadBody(w, r, web.MaxBody)
		status.Store(r.Header.Get("X-Name"), err)
		for n := held.Add(int64(len(body))); n > most.Load(); {
			most.Store(n)
		}
		time.Sleep(time.Minute)
		runtime.KeepAlive(body)
		held.Add(-int64(len(body)))
	})
}

func send(h http.Handler, name, from string, size int) {
	r := httptest.NewRequest("POST", "/", io.NopCloser(bytes.NewReader(make([]byte, size)))) // of unknown length
	r.ContentLength = -1
	r.RemoteAddr = from
	r.Header.Set("X-Name", name)
	h.ServeHTTP(httptest.NewRecorder(), r)
}

// TestBodiesInFlightAreBounded sends 1,000 bodies of 1 MiB at a time from one address and 100 networks: few are in
// memory at a time, and neither a small body nor a medium one of another client is refused.
func TestBodiesInFlightAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var result sync.Map
		var most atomic.Int64
		h := web.NewBodies().Handler(hold(&result, &most))
		for i := range 1000 {
			from := "192.0.2.1:1"
			if i%10 == 0 {
				from = fmt.Sprintf("198.51.%d.1:1", i/10)
			}
			go send(h, fmt.Sprint("bomb", i), from, web.MaxBody)
		}
		time.Sleep(10 * time.Second)
		go send(h, "small", "192.0.2.1:1", 4<<10)
		go send(h, "medium", "203.0.113.1:1", 64<<10)
		synctest.Wait()
		for _, name := range []string{"small", "medium"} {
			if err, _ := result.Load(name); err != nil {
				t.Errorf("a %s body: %v", name, err)
			}
		}
		refused := 0
		result.Range(func(_, err any) bool {
			if err, _ := err.(error); errors.Is(err, web.ErrBodies) && errors.Is(err, kernel.ErrBusy) {
				refused++
			} else if err != nil {
				t.Errorf("refused with %v", err)
			}
			return true
		})
		if most.Load() > 16*web.MaxBody+1<<20 || refused < 900 {
			t.Errorf("%d MiB were held at a time, and %d were refused", most.Load()>>20, refused)
		}
		time.Sleep(2 * time.Minute)
		send(h, "later", "192.0.2.1:1", web.MaxBody)
		if err, _ := result.Load("later"); err != nil {
			t.Errorf("when all is over: %v", err)
		}
		time.Sleep(2 * time.Minute)
	})
}

// TestPlacesOfBodiesAreFreeAgain sends more large bodies, one after another, than there are medium places.
func TestPlacesOfBodiesAreFreeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := web.NewBodies().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := web.ReadBody(w, r, web.MaxBody); err != nil {
				t.Fatalf("%s: %v", r.Header.Get("X-Name"), err)
			}
		}))
		for i := range 300 {
			send(h, fmt.Sprint("large body ", i), "192.0.2.1:1", 100<<10)
		}
	})
}

func TestReadBody(t *testing.T) {
	read := func(r *http.Request) ([]byte, error) { return web.ReadBody(httptest.NewRecorder(), r, web.MaxBody) }
	whole := bytes.Repeat([]byte("x"), web.MaxBody)
	body, err := read(httptest.NewRequest("POST", "/", bytes.NewReader(whole)))
	if err != nil || !bytes.Equal(body, whole) {
		t.Errorf("the largest body: %d bytes, %v", len(body), err)
	}
	_, err = read(httptest.NewRequest("POST", "/", bytes.NewReader(append(whole, 'x'))))
	if !errors.As(err, new(*web.TooLarge)) {
		t.Errorf("one byte more: %v", err)
	}
	broken := httptest.NewRequest("POST", "/", iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("{}"))))
	if _, err := read(broken); !strings.Contains(fmt.Sprint(err), "could not be read to its end") {
		t.Errorf("a body that breaks off: %v", err)
	}
}
