package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// recordedResponse is a response of Allswell, which the bare server repeats.
type recordedResponse struct {
	Status int
	Header http.Header
	Body   []byte
}

// withFewFields returns the response with only the header fields Content-Type, Content-Encoding and Etag, as far as it
// has them.
func (r recordedResponse) withFewFields() recordedResponse {
	header := make(http.Header)
	for _, name := range []string{"Content-Type", "Content-Encoding", "Etag"} {
		if values := r.Header[name]; values != nil {
			header[name] = values
		}
	}
	r.Header = header
	return r
}

// record requests a URL, with the header field "Name: value"; "": without.
func record(method, url, field string) (recordedResponse, error) {
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		return recordedResponse{}, err
	}
	req.Header.Set("Accept-Encoding", "identity") // set explicitly, so that the client does not decompress
	if name, value, ok := strings.Cut(field, ": "); ok {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return recordedResponse{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	res.Header.Del("Date") // net/http writes it
	return recordedResponse{res.StatusCode, res.Header, body}, err
}

// bare starts a server in its own process that answers pings and page requests with recorded responses: requests with
// If-None-Match with the response of status 304, and others with the response in the accepted encoding.
func (b *bench) bare(responses ...recordedResponse) (*process, error) {
	file := filepath.Join(b.dir, "responses.json")
	text, err := json.Marshal(responses)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return b.launch(exec.CommandContext(b.ctx, self, "bare", "127.0.0.1:"+port, file), port, "/readyz")
}

// serveBare runs in the process that bare starts. It is a plain net/http server with the timeouts of Allswell, because
// a server on the internet needs some.
func serveBare(addr, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var responses []recordedResponse
	if err := json.Unmarshal(text, &responses); err != nil {
		return err
	}
	byKind := make(map[string]recordedResponse)
	for _, r := range responses {
		kind := r.Header.Get("Content-Encoding")
		if r.Status == http.StatusNotModified {
			kind = "304"
		}
		byKind[kind] = r
	}
	plain, packed, unmodified := byKind[""], byKind["gzip"], byKind["304"]
	answer := func(w http.ResponseWriter, r *http.Request, plain, packed, unmodified *recordedResponse) {
		response := plain
		switch {
		case r.Header.Get("If-None-Match") != "":
			response = unmodified
		case r.Header.Get("Accept-Encoding") == "gzip":
			response = packed
		}
		header := w.Header()
		for name, values := range response.Header {
			header[name] = values
		}
		w.WriteHeader(response.Status)
		w.Write(response.Body)
	}
	all := func(w http.ResponseWriter, r *http.Request) { answer(w, r, &plain, &packed, &unmodified) }
	fewPlain, fewPacked, fewUnmodified := plain.withFewFields(), packed.withFewFields(), unmodified.withFewFields()
	mux := http.NewServeMux()
	mux.HandleFunc("/api/v1/heartbeat/{token}", all)
	mux.HandleFunc("/status/{slug}", all)
	mux.HandleFunc("/three/{slug}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, &fewPlain, &fewPacked, &fewUnmodified)
	})
	mux.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
	server := http.Server{
		Addr: addr, Handler: mux,
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute,
	}
	return server.ListenAndServe()
}
