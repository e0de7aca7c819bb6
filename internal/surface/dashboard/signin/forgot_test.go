package signin_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/signin"
)

// sentMail is a mail that a test's site has sent.
type sentMail struct{ to, subject, text string }

// withMail makes the site send mail, into the channel that it returns.
func withMail(s *dashboardtest.Site) chan sentMail {
	s.Helper()
	sent := make(chan sentMail, 100)
	s.Dashboard.SignIn.SendMail = func(_ context.Context, to, subject, text string) error {
		sent <- sentMail{to, subject, text}
		return nil
	}
	ctx, stop := context.WithCancel(s.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.Dashboard.SignIn.SendResetMails(ctx) }()
	s.Cleanup(func() { stop(); <-done })
	return sent
}

func TestForgottenPassword(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		v := s.Visitor()
		v.Wants(v.Get("/admin/forgot"), http.StatusNotFound) // mail is off
		if strings.Contains(v.Get("/admin/sign-in").Text, "/admin/forgot") {
			s.Error("the sign-in offers a mail, and mail is off")
		}
		sent := withMail(s)
		v.Wants(v.Get("/admin/sign-in"), http.StatusOK, `href="/admin/forgot"`)
		v.Wants(v.Get("/admin/forgot"), http.StatusOK, `action="/admin/forgot"`)
		v.Wants(v.Post("/admin/forgot", "email", "ada"), http.StatusUnprocessableEntity, "must be an email address",
			`value="ada"`)
		unknown := v.Wants(v.Post("/admin/forgot", "email", "nobody@example.com"), http.StatusOK,
			"If there is an account").Text
		for range signin.ResetsPerAccount + 2 {
			known := v.Wants(v.Post("/admin/forgot", "email", "Ada@example.com"), http.StatusOK).Text
			if strings.ReplaceAll(known, "Ada@example.com", "") != strings.ReplaceAll(
				unknown, "nobody@example.com", "",
			) {
				s.Fatalf("the answers differ:\n%s\n%s", known, unknown)
			}
		}
		var mails []sentMail
		for range signin.ResetsPerAccount {
			mails = append(mails, <-sent)
		}
		v.Post("/admin/forgot", "email", "nobody@example.com")
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
		v.Wants(v.Post("/admin/reset", "code", code, "password", "another set of words"), http.StatusSeeOther, "/admin")
		v.Wants(v.Get("/admin"), http.StatusOK)
		owner.Wants(owner.Get("/admin"), http.StatusSeeOther, "/admin/sign-in") // all sessions have ended
		v.Wants(v.Post("/admin/reset", "code", code, "password", "a third set of words"), http.StatusNotFound)
		s.Dashboard.Now = func() time.Time { return time.Now().Add(time.Hour + time.Minute) }
		v.Wants(v.Post("/admin/forgot", "email", "ada@example.com"), http.StatusOK)
		<-sent
	})
}

// TestResetsAreLimitedByMailbox checks that addresses that differ only in a tag share a limit.
func TestResetsAreLimitedByMailbox(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		s.Owner()
		s.Dashboard.SignIn.SendMail = func(context.Context, string, string, string) error { return nil }
		v := s.Visitor()
		for _, email := range []string{
			"ada@example.com", "Ada+1@example.com", "ada+two@example.com", "ada+3@example.com", "ada@example.com",
		} {
			v.Wants(v.Post("/admin/forgot", "email", email), http.StatusOK)
		}
		if n := s.Dashboard.SignIn.QueuedResets(); n != signin.ResetsPerAccount {
			s.Errorf("%d mails are asked for", n)
		}
	})
}

func TestInvitationByMail(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner := s.Owner()
		sent := withMail(s)
		screen := owner.Wants(owner.Post("/admin/members/invite", "email", "grace@example.com", "role", "editor"),
			http.StatusCreated, "The link was mailed")
		m := <-sent
		if m.to != "grace@example.com" || m.subject != "Invitation to a workspace of Allswell" ||
			!strings.Contains(m.text, "Ada Lovelace invites you") ||
			!strings.Contains(m.text, account.InvitationURL(s.Base, codeIn(s, screen.Text))) {
			s.Errorf("mailed %+v", m)
		}
		s.Dashboard.SignIn.SendMail = func(context.Context, string, string, string) error {
			return errors.New("it is down")
		}
		owner.Wants(owner.Post("/admin/members/invite", "email", "eve@example.com", "role", "editor"),
			http.StatusCreated, "send this link yourself", "/admin/accept?code=")
	})
}

// TestInvitationsByMailAreLimited invites an address, and many addresses, as often as mails are sent and once more, and
// again a day later.
func TestInvitationsByMailAreLimited(t *testing.T) {
	const tooMany = "No mail was sent, so send this link yourself: in a day, 3 invitations are mailed to an address, " +
		"and 100 for a workspace."
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		owner, mails, at := s.Owner(), 0, time.Now()
		s.Dashboard.SignIn.SendMail = func(context.Context, string, string, string) error { mails++; return nil }
		s.Dashboard.Now = func() time.Time { return at }
		invite := func(email, outcome string, want int) {
			t.Helper()
			owner.Wants(owner.Post("/admin/members/invite", "email", email, "role", "viewer", signin.ConfirmField,
				dashboardtest.GoodPassword), http.StatusCreated, "/admin/accept?code=", outcome)
			if mails != want {
				t.Fatalf("%d mails, want %d", mails, want)
			}
		}
		// one mailbox
		for n, email := range []string{"grace@example.com", "Grace+1@example.com", "grace+two@example.com"} {
			invite(email, "The link was mailed", n+1)
		}
		invite("grace@example.com", tooMany, signin.InvitesPerAddress)
		invite("grace+3@example.com", tooMany, signin.InvitesPerAddress)
		workspace, left := owner.Actor().WorkspaceID, 0
		for s.Dashboard.SignIn.TakeInvitation(workspace, at) {
			left++
		}
		if left != signin.InvitesPerWorkspace-signin.InvitesPerAddress {
			s.Errorf("%d mails of the workspace are left: those that an address did not get count", left)
		}
		for range signin.InvitesPerAddress {
			invite("eve@example.com", tooMany, signin.InvitesPerAddress)
		}
		s.Dashboard.SignIn.ForgetInvitations() // what was not mailed to an address did not count
		invite("eve@example.com", "The link was mailed", signin.InvitesPerAddress+1)
		at = at.Add(24*time.Hour + time.Second)
		invite("grace@example.com", "The link was mailed", signin.InvitesPerAddress+2)
	})
}
