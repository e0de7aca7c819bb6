package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/allswell/allswell/internal/store/storetest"
)

const (
	mailSubscribers = 100_000
	mailCalls       = 3 // updates posted, each timed separately
	mailSpan        = 30 * time.Second
)

// mailSink is a mail server that counts mails.
type mailSink struct {
	mu    sync.Mutex
	count int
	first map[string]time.Time // when a recipient got the first mail
}

type sinkSession struct {
	sink *mailSink
	to   string
}

func (s *sinkSession) Mail(string, *smtp.MailOptions) error { return nil }
func (s *sinkSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = to
	return nil
}
func (s *sinkSession) Data(r io.Reader) error {
	if _, err := io.Copy(io.Discard, r); err != nil {
		return err
	}
	s.sink.mu.Lock()
	defer s.sink.mu.Unlock()
	s.sink.count++
	if _, ok := s.sink.first[s.to]; !ok {
		s.sink.first[s.to] = time.Now()
	}
	return nil
}
func (s *sinkSession) Reset()        {}
func (s *sinkSession) Logout() error { return nil }

func (s *mailSink) total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

func (s *mailSink) got(to string) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.first[to]
	return at, ok
}

// caller calls the API of the service.
type caller struct{ base string }

func (c caller) post(path string, body any) (id string, took time.Duration, err error) {
	data, err := json.Marshal(body)
	if err != nil {
		return "", 0, err
	}
	req, err := http.NewRequest(http.MethodPost, c.base+path, bytes.NewReader(data))
	if err != nil {
		return "", 0, err
	}
	req.Header.Set("Authorization", "Bearer "+benchToken)
	client := http.Client{Timeout: 10 * time.Second}
	began := time.Now()
	res, err := client.Do(req)
	if err != nil {
		return "", 0, err
	}
	defer res.Body.Close()
	var out struct{ Data struct{ ID string } }
	err = json.NewDecoder(res.Body).Decode(&out)
	took = time.Since(began)
	if res.StatusCode != http.StatusCreated {
		err = fmt.Errorf("POST %s: %s", path, res.Status)
	}
	return out.Data.ID, took, err
}

// mail measures the cost of 100,000 subscribers: the call that notifies them, their
// deliveries, the mails, and how long they delay a notification of another page.
func (b *bench) mail() ([]result, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	sink := &mailSink{first: make(map[string]time.Time)}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) {
		return &sinkSession{sink: sink}, nil
	}))
	server.Domain = "localhost"
	go server.Serve(l)
	defer server.Close()
	path := filepath.Join(b.dir, "mail.db")
	p, err := b.allswell(path, "ALLSWELL_SMTP_URL=smtp://"+l.Addr().String(), "ALLSWELL_MAIL_FROM=status@example.com",
		"ALLSWELL_BASE_URL=http://localhost")
	if err != nil {
		return nil, err
	}
	defer p.stop()
	api := caller{p.base}
	type object = map[string]any
	var incidents []string
	for _, slug := range []string{"none", "many", "other"} {
		_, _, err1 := api.post("/api/v1/pages", object{"name": slug, "slug": slug})
		id, _, err2 := api.post("/api/v1/pages/"+slug+"/incidents", object{
			"title": "Slow", "impact": "minor", "message": "We are looking into it.",
		})
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		incidents = append(incidents, id)
	}
	_, _, err = api.post("/api/v1/pages/other/subscribers",
		object{"channel": "email", "target": "other@example.com", "confirmed": true})
	if err != nil {
		return nil, err
	}
	if err := storetest.FillSubscribers(b.ctx, path, "many", mailSubscribers); err != nil {
		return nil, err
	}
	without, with, rows, err := b.updates(path, api, incidents[0], incidents[1])
	if err != nil {
		return nil, err
	}
	waits, err := behind(sink, api, incidents[2])
	if err != nil {
		return nil, err
	}
	before, began := sink.total(), time.Now()
	time.Sleep(mailSpan)
	rate := float64(sink.total()-before) / time.Since(began).Seconds()
	return []result{
		{"Posting an update for 100,000 subscribers, against one for a page without subscribers", "≤ 2",
			fmt.Sprintf("%.2f (%.1f ms against %.1f ms)",
				with.Seconds()/without.Seconds(), with.Seconds()*1e3, without.Seconds()*1e3)},
		{"All of their deliveries written", "≤ 60 s", fmt.Sprintf("%.1f s", rows.Seconds())},
		{"First attempt for another subscriber, behind 100,000 deliveries", "≤ 5 s",
			fmt.Sprintf("%.2f s", waits.Seconds())},
		{"Mails into a local sink", "≥ 2,000/s", fmt.Sprintf("%.0f/s", rate)},
	}, nil
}

// updates posts updates in pairs, one without and one with many subscribers. It returns the medians of both, and how
// long writing the deliveries of the last one took.
func (b *bench) updates(path string, api caller, none, many string) (without, with, rows time.Duration, err error) {
	var nones, manys []float64
	for range mailCalls {
		for _, c := range []struct {
			incident string
			to       *[]float64
		}{{none, &nones}, {many, &manys}} {
			_, took, err := api.post("/api/v1/incidents/"+c.incident+"/updates",
				map[string]any{"message": "Still looking."})
			if err != nil {
				return 0, 0, 0, err
			}
			*c.to = append(*c.to, took.Seconds())
		}
		began := time.Now()
		if err := b.written(path); err != nil {
			return 0, 0, 0, err
		}
		rows = time.Since(began)
	}
	seconds := func(v []float64) time.Duration { return time.Duration(median(v) * float64(time.Second)) }
	return seconds(nones), seconds(manys), rows, nil
}

// written waits until the deliveries of every event have been written, at most two minutes.
func (b *bench) written(path string) error {
	db, err := sql.Open("sqlite", "file:"+path+"?_busy_timeout=10000&_query_only=1")
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute)
	defer cancel()
	for open := 1; open > 0; time.Sleep(20 * time.Millisecond) {
		err := db.QueryRowContext(ctx, `SELECT count(*) FROM events WHERE fanned_out_at IS NULL`).Scan(&open)
		if err != nil {
			return err
		}
	}
	return nil
}

// behind returns how long a notification of one subscriber takes to reach the sink while many other deliveries are
// pending.
func behind(sink *mailSink, api caller, incident string) (time.Duration, error) {
	began := time.Now()
	_, _, err := api.post("/api/v1/incidents/"+incident+"/updates", map[string]any{"message": "Still looking."})
	if err != nil {
		return 0, err
	}
	for time.Since(began) < time.Minute {
		if at, ok := sink.got("other@example.com"); ok {
			return at.Sub(began), nil
		}
		time.Sleep(time.Millisecond)
	}
	return 0, errors.New("no mail arrived within a minute")
}
