package notify

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// BenchmarkMails sends mails to a server in the same process that reads as little as it can. Each tells four events of
// an incident.
func BenchmarkMails(b *testing.B) {
	dsn := storetest.SQLite(b)
	st := storetest.Open(b, dsn, store.Options{})
	actor, _ := storetest.Workspace(b, st, "default")
	ok := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	_, err := st.CreatePage(b.Context(), actor, resource.Page.From(statuspage.Page{Name: "Acme", Slug: "acme"}))
	ok(err)
	ok(storetest.FillSubscribers(b.Context(), storetest.Path(dsn), "acme", b.N))
	message := "Still looking."
	incident, err := st.CreateIncident(b.Context(), actor, "acme", statuspage.Incident{Title: "Slow"},
		statuspage.IncidentUpdate{Message: message}, nil)
	ok(err)
	for range 3 {
		_, err = st.PostUpdate(b.Context(), actor, incident.ID, statuspage.IncidentUpdate{Message: message}, nil)
		ok(err)
	}
	for more := true; more; {
		more, err = st.FanOut(b.Context())
		ok(err)
	}
	host, mails := countMails(b)
	n := New(Config{
		Store: st, BaseURL: "https://status.example.com", SMTP: &url.URL{Scheme: "smtp", Host: host},
		From: mail.Address{Address: "status@example.com"},
	})
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	b.ResetTimer()
	go func() {
		defer close(done)
		n.Run(ctx)
	}()
	for mails.Load() < int64(b.N) {
		time.Sleep(time.Millisecond)
	}
	b.StopTimer()
	cancel()
	<-done
}

// countMails starts a mail server that accepts all mails, and counts them.
func countMails(b *testing.B) (host string, mails *atomic.Int64) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	mails = new(atomic.Int64)
	serve := func(conn net.Conn) {
		defer conn.Close()
		fmt.Fprint(conn, "220 sink\r\n")
		data := false
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			line := lines.Text()
			switch {
			case data && line != ".":
				continue
			case data:
				mails.Add(1)
				data = false
				fmt.Fprint(conn, "250 OK\r\n")
			case strings.HasPrefix(line, "EHLO"):
				fmt.Fprint(conn, "250-sink\r\n250 8BITMIME\r\n")
			case line == "DATA":
				data = true
				fmt.Fprint(conn, "354 Go on\r\n")
			default:
				fmt.Fprint(conn, "250 OK\r\n")
			}
		}
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	return l.Addr().String(), mails
}
