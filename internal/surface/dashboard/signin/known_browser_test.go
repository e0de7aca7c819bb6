package signin_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/surface/dashboard"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// known returns the value of the cookie with which an answer makes the browser known, or "".
func known(a dashboardtest.Answer) string {
	for _, c := range a.Cookies() {
		if strings.HasSuffix(c.Name, "-known") {
			return c.Value
		}
	}
	return ""
}

func signInAs(v *dashboardtest.Visitor, email, secret string) dashboardtest.Answer {
	v.Helper()
	return v.Post("/admin/sign-in", "email", email, "password", secret)
}

// TestKnownBrowsersHaveTheirOwnLimit checks that strangers at the same address cannot use up the attempts of a browser
// that has signed in before, and that its attempts have a limit too.
func TestKnownBrowsersHaveTheirOwnLimit(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		s.Owner()
		v, stranger := s.Visitor(), s.Visitor()
		first := v.Wants(signInAs(v, "ada@example.com", dashboardtest.GoodPassword), http.StatusSeeOther, "/admin")
		if known(first) == "" {
			s.Fatal("the browser is not remembered")
		}
		if known(signInAs(stranger, "ada@example.com", "not this one")) != "" {
			s.Error("a wrong password makes a browser known")
		}
		for i := range 2 * frame.SignInsPerAddress {
			signInAs(stranger, fmt.Sprintf("nobody%d@example.com", i/5), "not this one")
		}
		stranger.Wants(signInAs(stranger, "ada@example.com", dashboardtest.GoodPassword), http.StatusTooManyRequests)
		s.Dashboard = restarted(s)
		v.Wants(signInAs(v, "ada@example.com", dashboardtest.GoodPassword), http.StatusSeeOther, "/admin")
		// it is not known to others
		v.Wants(signInAs(v, "eve@example.com", dashboardtest.GoodPassword), http.StatusTooManyRequests)
		for range frame.SignInsPerAccount {
			signInAs(v, "ada@example.com", "not this one")
		}
		v.Wants(signInAs(v, "ada@example.com", "not this one"), http.StatusTooManyRequests)
	})
}

// restarted returns a dashboard of the same store that knows only what is stored, apart from its limits.
func restarted(s *dashboardtest.Site) *dashboard.Dashboard {
	limits := s.Dashboard.SignIns
	d := dashboard.New(dashboard.Config{Store: s.Store, BaseURL: s.Base})
	d.SignIns = limits
	s.Cleanup(d.EndStreams)
	s.Server.Config.Handler = clientaddr.NewResolver(clientaddr.Config{}).Middleware(d.Handler())
	return d
}
