package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"testing"
)

// fakeConn remembers what was written to it.
type fakeConn struct {
	net.Conn
	got bytes.Buffer
}

func (c *fakeConn) Write(p []byte) (int, error) { return c.got.Write(p) }

// TestGathererKeepsBack: a full buffer waits for what follows while the
// connection gathers, and only then.
func TestGathererKeepsBack(t *testing.T) {
	full, rest := bytes.Repeat([]byte("a"), netHTTPBuffer), []byte("rest")
	for _, c := range []struct {
		on     bool
		writes [][]byte
		sent   []int // bytes that have gone out after each write
	}{
		{false, [][]byte{full, rest}, []int{4096, 4100}},
		{true, [][]byte{rest, full, rest}, []int{4, 4, 4104}},
		{true, [][]byte{full, full, rest}, []int{0, 8192, 8196}},
		{true, [][]byte{full, nil}, []int{0, 4096}},
	} {
		conn := new(fakeConn)
		g := &gatherer{Conn: conn, on: c.on}
		for i, p := range c.writes {
			if n, err := g.Write(p); n != len(p) || err != nil || conn.got.Len() != c.sent[i] {
				t.Errorf("write %d of %v: %d, %v, and %d have gone out", i, c.sent, n, err, conn.got.Len())
			}
		}
		if !bytes.Equal(conn.got.Bytes(), bytes.Join(c.writes, nil)) {
			t.Errorf("%v: not what was written", c.sent)
		}
	}
}

// TestGatherer asks for answers of many sizes over one connection: each arrives
// whole.
func TestGatherer(t *testing.T) {
	body := make([]byte, 100_000)
	for i := range body {
		body[i] = byte('a' + i%23)
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size, _ := strconv.Atoi(r.URL.Query().Get("size"))
		if r.URL.Query().Has("length") {
			w.Header().Set("Content-Length", strconv.Itoa(size))
		}
		if r.URL.Query().Has("halves") {
			w.Write(body[:size/2])
			w.Write(body[size/2 : size])
			return
		}
		w.Write(body[:size])
		if r.URL.Query().Has("abort") {
			panic(http.ErrAbortHandler)
		}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Handler:     http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { gathered(handler, w, r) }),
		ConnContext: rememberConn,
	}
	go server.Serve(gatheringListener{l})
	defer server.Close()
	get := func(method, query string) ([]byte, error) {
		req, err := http.NewRequest(method, "http://"+l.Addr().String()+"/?"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		return io.ReadAll(res.Body)
	}
	sizes := []int{0, 1, 2000, 2048, 2049, 5000, 8191, 8192, 8193, 18_000, 100_000}
	for size := 3800; size <= 4200; size++ { // with the headers, one of them fills the buffer exactly
		sizes = append(sizes, size)
	}
	for _, size := range sizes {
		for _, how := range []string{"", "&length", "&halves", "&halves&length"} {
			got, err := get("GET", fmt.Sprintf("size=%d%s", size, how))
			if err != nil || !bytes.Equal(got, body[:size]) {
				t.Fatalf("%d bytes%s: %d arrived, %v", size, how, len(got), err)
			}
		}
		if got, err := get("HEAD", fmt.Sprintf("size=%d&length", size)); err != nil || len(got) > 0 {
			t.Fatalf("HEAD of %d bytes: %d arrived, %v", size, len(got), err)
		}
	}
	if _, err := get("GET", "size=18000&abort"); err == nil {
		t.Error("an aborted answer looks whole")
	}
	if got, err := get("GET", "size=9&length"); err != nil || len(got) != 9 {
		t.Errorf("after an aborted answer: %q, %v", got, err)
	}
}
