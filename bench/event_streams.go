package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	openPages = 10_000
	// perVisitor is the number of open pages per visitor. The service allows a hundred per client address; the
	// benchmark acts as a proxy that reports different addresses.
	perVisitor    = 50
	streamTimeout = time.Minute // to open a page, and to receive an event on all pages
)

// live opens many pages at the same time, like browsers, and measures the memory of each and when the last of them
// receives a change. It needs one open file per page in this process, and a third more in the service.
func (b *bench) live() ([]result, error) {
	p, err := b.allswell(filepath.Join(b.dir, "live.db"), "ALLSWELL_TRUSTED_PROXIES=127.0.0.1")
	if err != nil {
		return nil, err
	}
	defer p.stop()
	if err := fillPage(p); err != nil {
		return nil, err
	}
	if _, err := record(http.MethodGet, p.base+"/status/acme", "Accept-Encoding: gzip"); err != nil {
		return nil, err
	}
	component, err := p.firstComponent()
	if err != nil {
		return nil, err
	}
	time.Sleep(3 * time.Second)
	before, err := p.resident()
	if err != nil {
		return nil, err
	}
	pages, err := openAll(strings.TrimPrefix(p.base, "http://"))
	defer pages.close()
	if err != nil {
		return nil, err
	}
	time.Sleep(45 * time.Second) // until each stream has sent a keep-alive, and memory is released
	after, err := p.resident()
	if err != nil {
		return nil, err
	}
	var medians, lates, lasts []float64
	for i := range rounds {
		status := []string{"major_outage", "operational"}[i%2]
		began := time.Now()
		if err := p.setStatus(component, status); err != nil {
			return nil, err
		}
		took, err := pages.await(began)
		if err != nil {
			return nil, err
		}
		medians = append(medians, took[len(took)/2])
		lates = append(lates, took[len(took)*99/100])
		lasts = append(lasts, took[len(took)-1])
		time.Sleep(2 * time.Second) // two changes within half a second are one event
	}
	afterChanges, err := p.resident()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	p.stop()
	ended := time.Since(began)
	return []result{
		{fmt.Sprintf("Resident memory with %d open pages", openPages), "",
			fmt.Sprintf("%.1f MB (%.1f MB without): %.1f kB each; %.1f MB after %d changes on all", after, before,
				(after-before)*1000/openPages, afterChanges, rounds)},
		{"From sending a component's change to the API until half of them, 99 % and all have received it", "",
			fmt.Sprintf("%.0f ms, %.0f ms, %.0f ms", median(medians), median(lates), median(lasts))},
		{"SIGTERM to the end with all of them open", "≤ 10 s", fmt.Sprintf("%.2f s", ended.Seconds())},
	}, nil
}

// streams are the event streams of the open pages.
type streams struct {
	conns    []net.Conn
	received chan receipt
}

// receipt is the time at which a page received a change, or an error.
type receipt struct {
	at  time.Time
	err error
}

// openAll opens the pages, at most a hundred at a time.
func openAll(address string) (*streams, error) {
	c := &streams{received: make(chan receipt, openPages)}
	var mu sync.Mutex
	var failed error
	var opening sync.WaitGroup
	slots := make(chan struct{}, 100)
	for i := range openPages {
		slots <- struct{}{}
		opening.Go(func() {
			defer func() { <-slots }()
			conn, text, err := openPage(address, i/perVisitor)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = err
				return
			}
			c.conns = append(c.conns, conn)
			go c.listen(text)
		})
	}
	opening.Wait()
	return c, failed
}

// openPage requests the event stream of the page and reads up to the first event.
func openPage(address string, visitor int) (net.Conn, *bufio.Reader, error) {
	conn, err := net.DialTimeout("tcp", address, streamTimeout)
	if err != nil {
		return nil, nil, err
	}
	conn.SetDeadline(time.Now().Add(streamTimeout))
	_, err = fmt.Fprintf(conn,
		"GET /status/acme/events HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nAccept-Encoding: gzip, "+
			"deflate, br\r\n"+
			"Accept-Language: en-GB,en;q=0.9\r\nCache-Control: no-store\r\nReferer: http://%s/status/acme\r\n"+
			"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 "+
			"Safari/537.36\r\n"+
			"X-Forwarded-For: 192.0.%d.%d\r\n\r\n", address, address, visitor/256, visitor%256)
	text := bufio.NewReaderSize(conn, 256)
	if err == nil {
		var line string
		if line, err = text.ReadString('\n'); err == nil && !strings.Contains(line, " 200 ") {
			err = errors.New(strings.TrimSpace(line))
		}
	}
	if err == nil {
		_, err = textproto.NewReader(text).ReadMIMEHeader()
	}
	if err == nil {
		_, err = textproto.NewReader(text).ReadMIMEHeader() // "retry: …", "id: …", and a blank line
	}
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return conn, text, conn.SetDeadline(time.Time{})
}

// listen reports each change, and at the end of the connection its error.
func (c *streams) listen(text *bufio.Reader) {
	for {
		line, err := text.ReadSlice('\n')
		if err != nil {
			c.received <- receipt{err: err}
			return
		}
		if bytes.HasPrefix(line, []byte("event: change")) {
			c.received <- receipt{at: time.Now()}
		}
	}
}

// await waits until each page has received one change, and returns the delays in milliseconds, sorted.
func (c *streams) await(began time.Time) ([]float64, error) {
	timer := time.NewTimer(streamTimeout)
	defer timer.Stop()
	took := make([]float64, 0, openPages)
	for len(took) < openPages {
		select {
		case h := <-c.received:
			if h.err != nil {
				return nil, fmt.Errorf("a page was closed: %w", h.err)
			}
			took = append(took, float64(h.at.Sub(began).Microseconds())/1000)
		case <-timer.C:
			return nil, fmt.Errorf("%d of %d pages received the change within %v", len(took), openPages, streamTimeout)
		}
	}
	slices.Sort(took)
	return took, nil
}

func (c *streams) close() {
	for _, conn := range c.conns {
		conn.Close()
	}
}

// firstComponent returns the id of a component of the page.
func (p *process) firstComponent() (string, error) {
	var list struct{ Data []struct{ ID string } }
	err := p.ask(http.MethodGet, "/api/v1/pages/acme/components", nil, &list)
	if err == nil && len(list.Data) == 0 {
		err = errors.New("the page has no component")
	}
	if err != nil {
		return "", err
	}
	return list.Data[0].ID, nil
}

func (p *process) setStatus(component, status string) error {
	return p.ask(http.MethodPatch, "/api/v1/pages/acme/components/"+component, map[string]string{"status": status}, nil)
}

// ask sends a request to the API. A status other than 200, or 201 for a POST, is an error.
func (p *process) ask(method, path string, body, into any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(method, p.base+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	client := http.Client{Timeout: 10 * time.Second}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	want := http.StatusOK
	if method == http.MethodPost {
		want = http.StatusCreated
	}
	if err == nil && res.StatusCode != want {
		err = fmt.Errorf("%s %s: %s %s", method, path, res.Status, answer)
	}
	if err == nil && into != nil {
		err = json.Unmarshal(answer, into)
	}
	return err
}
