package domains

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/dnsserver"
	"golang.org/x/net/dns/dnsmessage"
)

const domain = "status.acme.example"

// world is a Checker with a store on virtual time, a DNS server, and a page whose workspace has to prove
// its domain.
type world struct {
	*testing.T
	*Checker
	dns   *dnsserver.Server
	clock *atomic.Int64 // milliseconds
	ws    kernel.Actor
	page  statuspage.Page
}

func run(t *testing.T, f func(w *world)) {
	storetest.Each(t, func(t *testing.T, dsn string) {
		w := &world{T: t, dns: dnsserver.New(t), clock: new(atomic.Int64)}
		w.clock.Store(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMilli())
		s := storetest.Open(t, dsn, store.Options{
			Hosts: statuspage.NewHosts("allswell.example"), Clock: func() time.Time {
				return time.UnixMilli(w.clock.Load())
			},
		})
		w.Checker = New(Config{Store: s, Server: w.dns.Address()})
		w.ws, _ = storetest.Workspace(t, s, "acme")
		name := domain
		p, err := s.CreatePage(t.Context(), w.ws, resource.Page.From(statuspage.Page{
			Name: "Acme", Slug: "acme", Domain: name,
		}))
		if w.page = p; err != nil {
			t.Fatal(err)
		}
		f(w)
	})
}

func (w *world) pass(d time.Duration) { w.clock.Add(d.Milliseconds()) }

// publish publishes the page's record.
func (w *world) publish() {
	r := statuspage.NewDomainRecord(w.page.ID, domain)
	w.dns.Set(r.Name, "v=spf1 -all", r.Value)
}

// expect checks the state of a page after a check.
func (w *world) expect(p statuspage.Page, err error) func(statuspage.DomainStatus, statuspage.DomainResult) {
	return func(status statuspage.DomainStatus, result statuspage.DomainResult) {
		w.Helper()
		if err != nil || p.DomainStatus != status || p.Claim.Result != result {
			w.Fatalf("status and result: %v, %q, %q; want %q, %q", err, p.DomainStatus, p.Claim.Result, status, result)
		}
	}
}

func (w *world) verify() (statuspage.Page, error) { return w.Verify(w.Context(), w.ws, "acme") }

// TestVerify queries a real DNS server.
func TestVerify(t *testing.T) {
	t.Parallel()
	run(t, func(w *world) {
		w.expect(w.verify())(statuspage.DomainPending, statuspage.DomainMissing) // the name does not exist
		asked := w.dns.Queries()
		w.publish()
		w.pass(statuspage.DomainCheckPause - time.Millisecond)
		w.expect(w.verify())(statuspage.DomainPending, statuspage.DomainMissing)
		if n := w.dns.Queries(); n != asked {
			w.Errorf("%d more queries within the pause", n-asked)
		}
		w.pass(time.Millisecond)
		w.dns.Set("_allswell-challenge."+domain, "allswell-verification=of-another-page")
		w.expect(w.verify())(statuspage.DomainPending, statuspage.DomainMissing)

		w.publish()
		for _, code := range []dnsmessage.RCode{
			dnsmessage.RCodeServerFailure, dnsmessage.RCodeRefused, dnsmessage.RCodeFormatError,
			dnsmessage.RCodeNotImplemented,
		} {
			w.pass(time.Minute)
			w.dns.Fail(code)
			w.expect(w.verify())(statuspage.DomainPending, statuspage.DomainNoAnswer)
		}
		w.dns.Fail(dnsmessage.RCodeSuccess)
		w.pass(time.Minute)
		w.expect(w.verify())(statuspage.DomainVerified, statuspage.DomainFound)

		// The DNS fails for a month, and the page keeps its domain.
		w.dns.Fail(dnsmessage.RCodeServerFailure)
		for range 31 {
			w.pass(24 * time.Hour)
			w.expect(w.verify())(statuspage.DomainVerified, statuspage.DomainNoAnswer)
		}
		w.dns.Fail(dnsmessage.RCodeSuccess)
		w.dns.Set("_allswell-challenge." + domain)
		w.pass(24 * time.Hour)
		w.expect(w.verify())(statuspage.DomainFailing, statuspage.DomainMissing)
		w.pass(statuspage.DomainGrace)
		w.expect(w.verify())(statuspage.DomainPending, statuspage.DomainMissing)
	})
}

// TestClockGoesBackBetweenChecks: a check of the future does not put off the next one.
func TestClockGoesBackBetweenChecks(t *testing.T) {
	t.Parallel()
	run(t, func(w *world) {
		w.publish()
		w.expect(w.verify())(statuspage.DomainVerified, statuspage.DomainFound)
		w.dns.Set("_allswell-challenge." + domain)
		w.expect(w.verify())(statuspage.DomainVerified, statuspage.DomainFound) // within the pause
		w.pass(-time.Millisecond)
		w.expect(w.verify())(statuspage.DomainFailing, statuspage.DomainMissing)
	})
}

// TestCheckDue checks that every claim that is due is checked once.
func TestCheckDue(t *testing.T) {
	run(t, func(w *world) {
		w.publish()
		due := func(want int) {
			w.Helper()
			if n := w.CheckDue(w.Context()); n != want {
				w.Fatalf("%d checks, want %d", n, want)
			}
		}
		due(1)
		due(0)
		p, err := w.store.Page(w.Context(), w.ws, "acme")
		w.expect(p, err)(statuspage.DomainVerified, statuspage.DomainFound)
		w.dns.Set("_allswell-challenge." + domain)
		w.pass(statuspage.DomainCheckInterval - time.Millisecond)
		due(0)
		w.pass(time.Millisecond)
		due(1)
		p, err = w.store.Page(w.Context(), w.ws, "acme")
		w.expect(p, err)(statuspage.DomainFailing, statuspage.DomainMissing)
	})
}

// TestRun checks a claim when it is made.
func TestRun(t *testing.T) {
	run(t, func(w *world) {
		w.publish()
		verified := make(chan string, 10)
		w.store.OnPageChange(func(id string) { verified <- id })
		ctx, stop := context.WithCancel(w.Context())
		ended := make(chan struct{})
		go func() { w.Checker.Run(ctx); close(ended) }()
		if id := <-verified; id != w.page.ID {
			w.Errorf("%s was verified", id)
		}
		second, other := "www.acme.example", statuspage.NewDomainRecord(w.page.ID, "www.acme.example")
		w.dns.Set(other.Name, other.Value)
		if _, err := w.store.ChangePage(w.Context(), w.ws, "acme", func(p *statuspage.Page) error {
			p.Domain = second
			return nil
		}); err != nil {
			w.Fatal(err)
		}
		<-verified // the change itself
		<-verified
		if p, err := w.store.Page(w.Context(), w.ws, "acme"); err != nil || p.Host != second {
			w.Errorf("page that is served at the domain: %+v, %v", p, err)
		}
		stop()
		<-ended
	})
}

// TestNoAnswerInTime checks that a DNS server that does not answer delays nothing and proves nothing.
func TestNoAnswerInTime(t *testing.T) {
	run(t, func(w *world) {
		w.timeout = 50 * time.Millisecond
		w.dns.Silence()
		w.expect(w.verify())(statuspage.DomainPending, statuspage.DomainNoAnswer)

		w.pass(time.Minute)
		gone, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			w.Fatal(err)
		}
		gone.Close()
		w.Checker = New(Config{Store: w.store, Server: gone.LocalAddr().String()})
		w.expect(w.verify())(statuspage.DomainPending, statuspage.DomainNoAnswer)

		w.pass(time.Minute)
		ctx, cancel := context.WithCancel(w.Context())
		cancel()
		before, err := w.store.Page(w.Context(), w.ws, "acme")
		if err != nil {
			w.Fatal(err)
		}
		_, err = w.check(ctx, store.DomainCheck{PageID: w.page.ID, Domain: domain})
		if !errors.Is(err, context.Canceled) {
			w.Errorf("interrupted: %v", err)
		}
		if after, err := w.store.Page(w.Context(), w.ws, "acme"); err != nil || after.Claim != before.Claim {
			w.Errorf("an interrupted check was recorded: %+v, %v", after.Claim, err)
		}
	})
}

// TestVerifyWithoutAnythingToDo checks pages without a domain, unknown pages, and claims without a proof.
func TestVerifyWithoutAnythingToDo(t *testing.T) {
	run(t, func(w *world) {
		none, own := "", "own.example"
		if _, err := w.store.ChangePage(w.Context(), w.ws, "acme", func(p *statuspage.Page) error {
			p.Domain = none
			return nil
		}); err != nil {
			w.Fatal(err)
		}
		var bad *kernel.ValidationError
		if _, err := w.verify(); !errors.As(err, &bad) {
			w.Errorf("without a domain: %v", err)
		}
		_, err := w.Verify(w.Context(), kernel.Actor{WorkspaceID: "ws_nobody"}, "acme")
		if !errors.Is(err, kernel.ErrNotFound) {
			w.Errorf("page of another workspace: %v", err)
		}
		first, _ := storetest.Workspace(w.T, w.store, account.DefaultWorkspace)
		_, err = w.store.CreatePage(w.Context(), first,
			resource.Page.From(statuspage.Page{Name: "x", Slug: "x", Domain: own}))
		if err != nil {
			w.Fatal(err)
		}
		if n := w.dns.Queries(); n != 0 {
			w.Errorf("%d queries", n)
		}
		p, err := w.Verify(w.Context(), first, "x") // only looks up where the domain points to
		w.expect(p, err)(statuspage.DomainVerified, statuspage.DomainUnchecked)
		if p.Lookup == nil || p.Lookup.Result != statuspage.LookupNotFound {
			w.Errorf("lookup: %+v", p.Lookup)
		}
		asked := w.dns.Queries()
		w.expect(w.Verify(w.Context(), first, "x"))(statuspage.DomainVerified, statuspage.DomainUnchecked)
		if n := w.dns.Queries(); asked == 0 || n != asked {
			w.Errorf("%d queries, then %d more within the pause", asked, n-asked)
		}
	})
}

// TestWorkspaceLeavesPlaces checks that a workspace whose lookups hang leaves places to others, and that a check does
// not wait for ever for one.
func TestWorkspaceLeavesPlaces(t *testing.T) {
	run(t, func(w *world) {
		w.publish()
		w.timeout = 50 * time.Millisecond
		for {
			if _, ok := w.lookups.TryAcquire(fair.Workspace(w.ws.WorkspaceID)); !ok {
				break
			}
		}
		w.expect(w.verify())(statuspage.DomainPending, statuspage.DomainNoAnswer)
		w.timeout = lookupTimeout
		other := store.DomainCheck{PageID: w.page.ID, WorkspaceID: "another", Domain: domain}
		if got := w.lookUpAll(w.Context(), &other); got != statuspage.DomainFound {
			w.Errorf("a check of another workspace: %v", got)
		}
	})
}
