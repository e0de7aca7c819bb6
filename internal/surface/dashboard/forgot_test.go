package dashboard

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
)

// sentMail is a mail that a test's site has sent.
type sentMail struct{ to, subject, text string }

// withMail makes the site send mail, into the channel that it returns.
func (s *site) withMail() chan sentMail {
	s.Helper()
	sent := make(chan sentMail, 100)
	s.dashboard.sendMail = func(_ context.Context, to, subject, text string) error {
		sent <- sentMail{to, subject, text}
		return nil
	}
	ctx, stop := context.WithCancel(s.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.dashboard.sendResetMails(ctx) }()
	s.Cleanup(func() { stop(); <-done })
	return sent
}

func TestForgottenPassword(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		v := s.visitor()
		v.wants(v.get("/admin/forgot"), http.StatusNotFound) // mail is off
		if strings.Contains(v.get("/admin/sign-in").body, "/admin/forgot") {
			s.Error("the sign-in offers a mail, and mail is off")
		}
		sent := s.withMail()
		v.wants(v.get("/admin/sign-in"), http.StatusOK, `href="/admin/forgot"`)
		v.wants(v.get("/admin/forgot"), http.StatusOK, `action="/admin/forgot"`)
		v.wants(v.post("/admin/forgot", "email", "ada"), http.StatusUnprocessableEntity, "must be an e-mail address",
			`value="ada"`)
		unknown := v.wants(v.post("/admin/forgot", "email", "nobody@example.com"), http.StatusOK,
			"If there is an account").body
		for range resetsPerAccount + 2 {
			known := v.wants(v.post("/admin/forgot", "email", "Ada@example.com"), http.StatusOK).body
			if strings.ReplaceAll(known, "Ada@example.com", "") != strings.ReplaceAll(
				unknown, "nobody@example.com", "",
			) {
				s.Fatalf("the answers differ:\n%s\n%s", known, unknown)
			}
		}
		var mails []sentMail
		for range resetsPerAccount {
			mails = append(mails, <-sent)
		}
		v.post("/admin/forgot", "email", "nobody@example.com")
		select {
		case m := <-sent:
			s.Errorf("one mail more: %+v", m)
		default:
		}
		last := mails[len(mails)-1]
		if last.to != "ada@example.com" {
			s.Errorf("mailed %+v", last)
		}
		code := regexp.MustCompile(`/admin/reset\?code=(\w+)`).FindStringSubmatch(last.text)[1]
		v.wants(v.post("/admin/reset", "code", code, "password", "another set of words"), http.StatusSeeOther, "/admin")
		v.wants(v.get("/admin"), http.StatusOK)
		owner.wants(owner.get("/admin"), http.StatusSeeOther, "/admin/sign-in") // all sessions have ended
		v.wants(v.post("/admin/reset", "code", code, "password", "a third set of words"), http.StatusNotFound)
		s.dashboard.now = func() time.Time { return time.Now().Add(time.Hour + time.Minute) }
		v.wants(v.post("/admin/forgot", "email", "ada@example.com"), http.StatusOK)
		<-sent
	})
}

// TestResetsAreLimitedByMailbox checks that addresses that differ only in a tag share a limit.
func TestResetsAreLimitedByMailbox(t *testing.T) {
	onEachEngine(t, func(s *site) {
		s.owner()
		s.dashboard.sendMail = func(context.Context, string, string, string) error { return nil }
		v := s.visitor()
		for _, email := range []string{
			"ada@example.com", "Ada+1@example.com", "ada+two@example.com", "ada+3@example.com", "ada@example.com",
		} {
			v.wants(v.post("/admin/forgot", "email", email), http.StatusOK)
		}
		if n := len(s.dashboard.forgot.queue); n != resetsPerAccount {
			s.Errorf("%d mails are asked for", n)
		}
	})
}

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

func TestInvitationByMail(t *testing.T) {
	onEachEngine(t, func(s *site) {
		owner := s.owner()
		sent := s.withMail()
		screen := owner.wants(owner.post("/admin/members/invite", "email", "grace@example.com", "role", "editor"),
			http.StatusCreated, "The link was mailed")
		m := <-sent
		if m.to != "grace@example.com" || m.subject != "Invitation to a workspace of Allswell" ||
			!strings.Contains(m.text, "Ada Lovelace invites you") ||
			!strings.Contains(m.text, account.InvitationURL(s.base, s.codeIn(screen.body))) {
			s.Errorf("mailed %+v", m)
		}
		s.dashboard.sendMail = func(context.Context, string, string, string) error { return errors.New("it is down") }
		owner.wants(owner.post("/admin/members/invite", "email", "eve@example.com", "role", "editor"),
			http.StatusCreated, "send this link yourself", "/admin/accept?code=")
	})
}

// TestNamesInInvitationsAreNoText checks that a mail to a stranger has no text and no link that a member has chosen.
func TestNamesInInvitationsAreNoText(t *testing.T) {
	for name, want := range map[string]string{
		"Ada Lovelace": "Ada Lovelace", "Zoë O'Neill-Smith": "Zoë O'Neill-Smith", "東京 監視": "東京 監視", "": "Somebody",
		"://":                        "Somebody",
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

// TestInvitationsByMailAreLimited invites an address, and many addresses, as often as mails are sent and once more, and
// again a day later.
func TestInvitationsByMailAreLimited(t *testing.T) {
	const tooMany = "No mail was sent, so send this link yourself: in a day, 3 invitations are mailed to an address, " +
		"and 100 for a workspace."
	onEachEngine(t, func(s *site) {
		owner, mails, at := s.owner(), 0, time.Now()
		s.dashboard.sendMail = func(context.Context, string, string, string) error { mails++; return nil }
		s.dashboard.now = func() time.Time { return at }
		invite := func(email, outcome string, want int) {
			t.Helper()
			owner.wants(owner.post("/admin/members/invite", "email", email, "role", "viewer", confirmField,
				goodPassword), http.StatusCreated, "/admin/accept?code=", outcome)
			if mails != want {
				t.Fatalf("%d mails, want %d", mails, want)
			}
		}
		// one mailbox
		for n, email := range []string{"grace@example.com", "Grace+1@example.com", "grace+two@example.com"} {
			invite(email, "The link was mailed", n+1)
		}
		invite("grace@example.com", tooMany, invitesPerAddress)
		invite("grace+3@example.com", tooMany, invitesPerAddress)
		workspace, left := owner.actor().WorkspaceID, 0
		for s.dashboard.invited.workspaces.Take(workspace, at).Allowed {
			left++
		}
		if left != invitesPerWorkspace-invitesPerAddress {
			s.Errorf("%d mails of the workspace are left: those that an address did not get count", left)
		}
		for range invitesPerAddress {
			invite("eve@example.com", tooMany, invitesPerAddress)
		}
		s.dashboard.invited.workspaces = newInvited().workspaces // what was not mailed to an address did not count
		invite("eve@example.com", "The link was mailed", invitesPerAddress+1)
		at = at.Add(24*time.Hour + time.Second)
		invite("grace@example.com", "The link was mailed", invitesPerAddress+2)
	})
}
