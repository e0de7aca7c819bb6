package console

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// screen is a terminal.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

// take returns what was written since the last time.
func (s *screen) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.text.Reset()
	return s.text.String()
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		terminal := new(screen)
		show, end := (&Console{Err: terminal, ErrWidth: 80}).Progress()
		show("copying", func() (int64, int64) { return 30, 60 })
		after := func(d time.Duration, want string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := terminal.take(); got != want {
				t.Errorf("the progress after %v: %q, want %q", d, got, want)
			}
		}
		after(progressDelay-time.Millisecond, "")
		after(time.Millisecond, "\rcopying  [===============               ]  50 %")
		show("checking", nil)
		after(progressInterval,
			"\r"+fmt.Sprintf("%-*s", len("copying  [===============               ]  50 %"), "checking  1s"))
		show("counting", func() (int64, int64) { return 7, 5 })
		after(progressInterval, "\rcounting  [==============================] 100 %")
		end()
		after(time.Hour, "\r"+strings.Repeat(" ", len("counting  [==============================] 100 %"))+"\r")
	})
}

func TestProgressOfShortWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		terminal := new(screen)
		show, end := (&Console{Err: terminal, ErrWidth: 80}).Progress()
		show("copying", nil)
		time.Sleep(progressDelay - time.Millisecond)
		end()
		if got := terminal.take(); got != "" {
			t.Errorf("shown: %q", got)
		}
	})
}

func TestProgressWithoutTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := new(screen)
		show, end := (&Console{Err: file}).Progress()
		show("copying", func() (int64, int64) { t.Error("measured"); return 1, 2 })
		time.Sleep(time.Hour)
		end()
		if got := file.take(); got != "" {
			t.Errorf("shown: %q", got)
		}
	})
}

func TestProgressInANarrowTerminal(t *testing.T) {
	p := &progress{width: 12, began: time.Now(), step: "copying", measure: func() (int64, int64) { return 1, 2 }}
	if got := p.line(); got != "copying  [=" {
		t.Errorf("the line in a narrow terminal: %q", got)
	}
}
