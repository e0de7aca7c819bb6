package frame

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/page/stream"
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
			s, err := l.screen(viewer{key, "w"}, key, time.Now(), tag)
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

// TestUsersTakeTurnsToLook lets one user have many slow screens open: the screen of another one waits for one look.
func TestUsersTakeTurnsToLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(stream.Config{Now: time.Now})
		tag := func(context.Context) (string, error) {
			time.Sleep(time.Second)
			return "tag", nil
		}
		look := func(user, workspace string, n int) time.Duration {
			s, err := l.screen(viewer{user, workspace}, fmt.Sprint(user, n), time.Now(), tag)
			if err != nil {
				t.Error(err)
				return 0
			}
			began := time.Now()
			if _, err := s.currentTag(t.Context(), l.polling, tag); err != nil {
				t.Error(err)
			}
			return time.Since(began)
		}
		for i := range maxScreensPerUser {
			go look("hog", "big", i)
		}
		time.Sleep(10*time.Second + time.Millisecond)
		if took := look("ann", "small", 0); took > 2*time.Second {
			t.Errorf("the screen of another user waited for %v", took)
		}
		time.Sleep(time.Hour)
	})
}

func TestScreensThatNobodyWatchesAreForgotten(t *testing.T) {
	l := newLive(stream.Config{Now: time.Now})
	tag := func(context.Context) (string, error) { return "tag", nil }
	now := time.Now()
	watched, err := l.screen(viewer{"ada", "w"}, "watched", now, tag)
	if err != nil {
		t.Fatal(err)
	}
	open := func(user, workspace string, n int) error {
		_, err := l.screen(viewer{user, workspace}, fmt.Sprint(user, workspace, n), now, tag)
		return err
	}
	for i := range maxScreensPerUser {
		if err := open("hog", "w", i); err != nil {
			t.Fatal(err)
		}
	}
	if err := open("hog", "another", 0); !errors.Is(err, kernel.ErrBusy) {
		t.Errorf("one screen more than a user may have open: %v", err)
	}
	for i := range maxScreens/2 - maxScreensPerUser - 1 {
		if err := open(fmt.Sprint(i/10), "w", i); err != nil {
			t.Fatal(err)
		}
	}
	if err := open("bob", "w", 0); !errors.Is(err, kernel.ErrBusy) {
		t.Errorf("one screen more than a workspace may have open: %v", err)
	}
	n := 0
	for ; len(l.screens) < maxScreens; n++ {
		for i := 0; ; i++ {
			err := open(fmt.Sprint(i/10, " of ", n), fmt.Sprint("x", n), i)
			if err != nil && i == 0 {
				t.Fatalf("a workspace finds no screen, %d are open: %v", len(l.screens), err)
			}
			if err != nil {
				break
			}
		}
	}
	if n < 5 {
		t.Errorf("%d workspaces have all screens that another one left", n)
	}
	if err := open("eve", "y", 0); !errors.Is(err, kernel.ErrBusy) {
		t.Errorf("one screen more than may be open: %v", err)
	}
	watched.asked.Store(now.Add(2 * time.Minute).UnixMilli())
	l.poll(now.Add(2 * time.Minute))
	if len(l.screens) != 1 || l.screens["watched"] != watched {
		t.Errorf("%d screens are left, want the one that is watched", len(l.screens))
	}
	if _, err := l.screen(viewer{"eve", "y"}, "one more", now, tag); err != nil {
		t.Error(err)
	}
}
