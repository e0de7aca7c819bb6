package signin

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestMailsAreTriedAgain fails any number of times, and ends in the middle.
func TestMailsAreTriedAgain(t *testing.T) {
	down := errors.New("it is down")
	for failures := range mailAttempts + 2 {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), mailAttempts*mailPause)
			defer cancel()
			began, tries := time.Now(), 0
			err := tryMail(ctx, func() error {
				if tries++; tries <= failures {
					return down
				}
				return nil
			})
			want := min(failures+1, mailAttempts)
			if (err == nil) != (failures < mailAttempts) || tries != want ||
				time.Since(began) != time.Duration(want-1)*mailPause {
				t.Errorf("%d failures: %d attempts in %v, %v", failures, tries, time.Since(began), err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), mailPause/2)
		defer cancel()
		tries := 0
		if err := tryMail(ctx, func() error {
			tries++
			return down
		}); !errors.Is(err, context.DeadlineExceeded) || tries != 1 {
			t.Errorf("a stop between two attempts: %d, %v", tries, err)
		}
	})
}

// TestNamesInInvitationsAreNoText checks that a mail to a stranger has no text and no link that a member has chosen.
func TestNamesInInvitationsAreNoText(t *testing.T) {
	for name, want := range map[string]string{
		"Ada Lovelace": "Ada Lovelace", "Zoë O'Neill-Smith": "Zoë O'Neill-Smith", "東京 監視": "東京 監視", "": "Someone",
		"://":                        "Someone",
		"https://evil.example/x?a=b": "https evil example x a b", "www.evil.example": "www evil example",
		"eve@evil.example": "eve evil example", "a\r\nBcc: b": "a Bcc b",
		"evil。example": "evil example",
	} {
		if got := plainName(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
	for n, want := range map[int]int{maxMailedName: maxMailedName, maxMailedName + 1: maxMailedName} {
		if got := plainName(strings.Repeat("x", n)); len([]rune(got)) != want {
			t.Errorf("%d characters become %q", n, got)
		}
	}
}
