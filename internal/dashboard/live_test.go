package dashboard

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/stream"
)

// TestLooksAreOneAtATime looks at two screens that take a second each, again and again for ten minutes.
func TestLooksAreOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(stream.Config{Now: time.Now})
		var looks, atATime atomic.Int32
		tag := func(context.Context) (string, error) {
			looks.Add(1)
			if atATime.Add(1) > 1 {
				t.Error("two screens are looked at at a time")
			}
			time.Sleep(time.Second)
			atATime.Add(-1)
			return "tag", nil
		}
		for _, key := range []string{"a", "b"} {
			s, err := l.screen(key, time.Now(), tag)
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				for range 300 {
					if got, err := s.currentTag(t.Context(), l.polling, tag); got != "tag" || err != nil {
						t.Errorf("look: %q, %v", got, err)
					}
					time.Sleep(2 * time.Second)
				}
			}()
		}
		time.Sleep(time.Hour)
		if n := looks.Load(); n > 2*600/pollPause+2 || n < 20 {
			t.Errorf("%d looks of a second each within ten minutes", n)
		}
	})
}

func TestScreensThatNobodyWatchesAreForgotten(t *testing.T) {
	l := newLive(stream.Config{Now: time.Now})
	tag := func(context.Context) (string, error) { return "tag", nil }
	now := time.Now()
	watched, err := l.screen("watched", now, tag)
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxScreens - 1 {
		if _, err := l.screen(time.Duration(i).String(), now, tag); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.screen("one more", now, tag); !errors.Is(err, allswell.ErrBusy) {
		t.Errorf("one screen more than may be open: %v", err)
	}
	watched.asked.Store(now.Add(2 * time.Minute).UnixMilli())
	l.poll(now.Add(2 * time.Minute))
	if len(l.screens) != 1 || l.screens["watched"] != watched {
		t.Errorf("%d screens are left, want the one that is watched", len(l.screens))
	}
	if _, err := l.screen("one more", now, tag); err != nil {
		t.Error(err)
	}
}
