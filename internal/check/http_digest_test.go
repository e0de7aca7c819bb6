package check

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
	"github.com/icholy/digest"
)

// digestServer is a web server whose path /x needs the user name me and the password secret. It computes answers
// itself.
func digestServer(
	t *testing.T, challenges []string, algorithm func() hash.Hash, qop string, handle http.HandlerFunc,
) (address string) {
	t.Helper()
	sum := func(parts ...string) string {
		h := algorithm()
		_, _ = io.WriteString(h, strings.Join(parts, ":"))
		return hex.EncodeToString(h.Sum(nil))
	}
	return webServer(t, false, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		given := r.Header.Get("Authorization")
		c, err := digest.ParseCredentials(given)
		if err == nil {
			end := sum(r.Method, r.URL.RequestURI())
			if qop == "auth-int" {
				end = sum(r.Method, r.URL.RequestURI(), sum(string(body)))
			}
			want := sum(sum("me", "a realm", "secret"), "n0nce", end)
			if qop != "" {
				want = sum(sum("me", "a realm", "secret"), "n0nce", fmt.Sprintf("%08x", c.Nc), c.Cnonce, qop, end)
			}
			if c.Username == "me" && c.URI == r.URL.RequestURI() && c.Response == want {
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				handle(w, r)
				return
			}
		}
		for _, challenge := range challenges {
			w.Header().Add("WWW-Authenticate", challenge)
		}
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, given)
	}).URL
}

// TestDigest checks answers to challenges of Digest authentication.
func TestDigest(t *testing.T) {
	t.Parallel()
	const challenge = `Digest realm="a realm", nonce="n0nce", opaque="o"`
	for _, c := range []struct {
		name       string
		challenges []string
		algorithm  func() hash.Hash
		qop        string
		more       []any
		failure    string
	}{
		{"without an algorithm", []string{challenge}, md5.New, "", nil, ""},
		{"MD5", []string{challenge + `, algorithm=MD5, qop="auth"`}, md5.New, "auth", nil, ""},
		{"SHA-256", []string{challenge + `, algorithm=SHA-256, qop="auth"`}, sha256.New, "auth", nil, ""},
		{"both", []string{challenge + `, algorithm=MD5, qop="auth"`, challenge + `, algorithm=SHA-256, qop="auth"`},
			sha256.New, "auth", nil, ""},
		{"after Basic", []string{`Basic realm="a realm"`, challenge + `, algorithm=SHA-256, qop="auth"`}, sha256.New,
			"auth", nil, ""},
		{"of the body", []string{challenge + `, algorithm=SHA-256, qop="auth-int"`}, sha256.New, "auth-int", nil, ""},
		{"a GET of the body", []string{challenge + `, algorithm=MD5, qop="auth-int"`}, md5.New, "auth-int",
			[]any{"method", "GET", "body", ""}, ""},
		{"a wrong password", []string{challenge + `, qop="auth"`}, md5.New, "auth", []any{"password", "wrong"},
			"HTTP 401 (expected 200–299): the server does not accept the user name and the password"},
		{"only Basic", []string{`Basic realm="a realm"`}, md5.New, "", nil,
			"HTTP 401 (expected 200–299): the server does not offer Digest authentication"},
		{"an unknown algorithm", []string{challenge + `, algorithm=TIGER, qop="auth"`}, md5.New, "auth", nil,
			"HTTP 401 (expected 200–299): the server requires an algorithm of Digest authentication other than MD5, " +
				"SHA-256 and SHA-512"},
		{"basic", []string{challenge}, md5.New, "", []any{"digest", false}, "HTTP 401 (expected 200–299)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got atomic.Value
			address := digestServer(t, c.challenges, c.algorithm, c.qop, func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got.Store(r.Method + " " + string(body))
			})
			all := append([]any{
				"url", address + "/x?a=b", "method", "POST", "body", "some text", "username", "me", "password",
				"secret", "digest", true,
			}, c.more...)
			o := runOnce(t, "http", fields(t, all...))
			expectFailure(t, o, c.failure)
			if want := "POST some text"; c.failure == "" && got.Load() != want && !slices.Contains(c.more, any("GET")) {
				t.Errorf("the server got %q", got.Load())
			}
			if strings.Contains(o.Body, "response=") {
				t.Errorf("the answer is shown: %s", o.Body)
			}
		})
	}
}

// TestDigestOfOthers checks that a server elsewhere gets no answer to its challenge, also not after a way back.
func TestDigestOfOthers(t *testing.T) {
	t.Parallel()
	var answers atomic.Int32
	ask := func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			answers.Add(1)
		}
		w.Header().Set("WWW-Authenticate", `Digest realm="a realm", nonce="n0nce"`)
		w.WriteHeader(http.StatusUnauthorized)
	}
	var home string
	elsewhere := webServer(t, false, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/back" {
			http.Redirect(w, r, home+"/asks", http.StatusFound)
			return
		}
		ask(w, r)
	})
	home = webServer(t, false, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away", "/back":
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusFound)
		case "/here":
			http.Redirect(w, r, "/asks", http.StatusFound)
		default:
			ask(w, r)
		}
	}).URL
	for path, want := range map[string]int32{"/away": 0, "/back": 0, "/here": 1, "/asks": 1} {
		answers.Store(0)
		runOnce(t, "http", fields(t, "url", home+path, "username", "me", "password", "secret", "digest", true))
		if got := answers.Load(); got != want {
			t.Errorf("%s: %d answers, expected %d", path, got, want)
		}
	}
}

// TestDigestKeepsItsPassword checks that a kept password is not sent in clear text instead.
func TestDigestKeepsItsPassword(t *testing.T) {
	destination := func(value bool) configfield.Destination {
		return probe(t, "http",
			fields(t, "url", "http://a/", "username", "me", "password", "secret", "digest", value)).Destination()
	}
	if slices.Equal(destination(true), destination(false)) {
		t.Error("basic authentication keeps the password of Digest")
	}
	typ, _ := TypeOf("http")
	for field, text := range map[string]string{
		"digest":          `{"url": "http://a/", "digest": true}`,
		"oauth2_audience": `{"url": "http://a/", "oauth2_audience": "x"}`,
		"oauth2_resource": `{"url": "http://a/", "oauth2_token_url": "http://a/", "oauth2_client_id": "c", ` +
			`"oauth2_resource": "https://a/#b"}`,
	} {
		_, _, err := typ.Read(object(t, text))
		if bad, ok := err.(*kernel.ValidationError); !ok || len(bad.Messages()[field]) != 1 {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestOAuthParameters checks what the token URL is asked for, and that it is asked again for another audience.
func TestOAuthParameters(t *testing.T) {
	t.Parallel()
	var asked []string
	s := webServer(t, false, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			asked = append(asked, r.FormValue("audience")+" "+r.FormValue("resource"))
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"access_token": "t", "token_type": "bearer", "expires_in": 3600}`)
		}
	})
	n := new(Network)
	for _, more := range [][]any{
		{}, {"oauth2_audience", "orders"}, {"oauth2_resource", "https://api.example.com/"},
		{"oauth2_audience", "orders"}, {"oauth2_audience", "a", "oauth2_resource", "urn:b"},
	} {
		p := probe(t, "http",
			fields(t,
				append([]any{
					"url", s.URL, "oauth2_token_url", s.URL + "/token", "oauth2_client_id", "c",
					"oauth2_client_secret", "s",
				}, more...)...))
		expectGood(t, Run(t.Context(), n, p, testTimeout))
	}
	if want := []string{" ", "orders ", " https://api.example.com/", "a urn:b"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q", asked)
	}
}

// TestBodiesWithoutEnd checks that a stream of events is judged by what came, and other bodies must end.
func TestBodiesWithoutEnd(t *testing.T) {
	t.Parallel()
	s := webServer(t, false, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.URL.Query().Get("type"))
		fmt.Fprint(w, "data: hello\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	for _, c := range []struct {
		kind, field, text, failure string
	}{
		{"text/event-stream", "body_contains", "", ""},
		{"text/event-stream; charset=utf-8", "body_contains", "hello", ""},
		{"multipart/x-mixed-replace; boundary=b", "body_matches", "hel+o", ""},
		{"text/event-stream", "body_contains", "bye", "the body does not contain the expected text"},
		{"text/event-stream", "body_not_contains", "hello", "the body contains a text that it must not contain"},
		{"text/plain", "body_contains", "hello",
			"the response from " + s.Listener.Addr().String() + " did not end within 1 s"},
	} {
		o := Run(t.Context(), new(Network),
			probe(t, "http", fields(t, "url", s.URL+"/?type="+url.QueryEscape(c.kind), c.field, c.text)), 1e9)
		expectFailure(t, o, c.failure)
	}
}

// webSocketServer starts a server that switches to WebSocket with the headers and says hello, and returns its URL.
func webSocketServer(t *testing.T, headers func(key, offered string) string) string {
	t.Helper()
	return "ws" + strings.TrimPrefix(webServer(t, false, func(w http.ResponseWriter, r *http.Request) {
		conn, stream, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\n%s\r\n",
			headers(r.Header.Get("Sec-WebSocket-Key"), r.Header.Get("Sec-WebSocket-Protocol")))
		fmt.Fprint(conn, "\x81\x05hello")
		_, _ = io.Copy(io.Discard, stream)
	}).URL, "http")
}

const upgradeHeaders = "Connection: Upgrade\r\nUpgrade: websocket\r\n"

func acceptHeaders(key string) string {
	return upgradeHeaders + "Sec-WebSocket-Accept: " + acceptOf(key) + "\r\n"
}

func withoutProof(string, string) string { return upgradeHeaders }

func withWrongProof(string, string) string { return upgradeHeaders + "Sec-WebSocket-Accept: x\r\n" }

// choosing returns headers with a subprotocol.
func choosing(name string) func(string, string) string {
	return func(key, offered string) string {
		return acceptHeaders(key) + "Sec-WebSocket-Protocol: " + name + "\r\nX-Offered: " + offered + "\r\n"
	}
}

// TestWebSocketServers checks servers that choose among subprotocols, and servers that break the protocol.
func TestWebSocketServers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		headers func(key, offered string) string
		more    []any
		failure string
	}{
		{"the first of two", choosing("a"), []any{"subprotocol", "a, b"}, ""},
		{"the second of two", choosing("b"), []any{"subprotocol", "a,b"}, ""},
		{"another", choosing("c"), []any{"subprotocol", "a, b"},
			`the server chose a subprotocol that was not offered: "c"`},
		{"none", func(key, _ string) string {
			return acceptHeaders(key)
		}, []any{"subprotocol", "a, b"}, "the server did not choose the subprotocol a or b"},
		{"one without an offer", choosing("c"), nil, `the server chose a subprotocol that was not offered: "c"`},
		{"no proof", withoutProof, nil,
			"the response does not accept a WebSocket: it has no header Sec-WebSocket-Accept, which a check with " +
				"allow_missing_accept accepts"},
		{"no proof, accepted", withoutProof, []any{"allow_missing_accept", true}, ""},
		{"a wrong proof", withWrongProof, []any{"allow_missing_accept", true},
			"the response does not accept a WebSocket: its header Sec-WebSocket-Accept is wrong"},
		{"no upgrade", func(string, string) string {
			return "Connection: Upgrade\r\nUpgrade: h2c\r\n"
		}, nil, "the response does not accept a WebSocket: it has no header Upgrade: websocket"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := runOnce(t, "websocket",
				fields(t, append([]any{"url", webSocketServer(t, c.headers), "expect", "hello"}, c.more...)...))
			expectFailure(t, o, c.failure)
		})
	}
}

// TestAcceptOf has the example of RFC 6455, section 1.3.
func TestAcceptOf(t *testing.T) {
	if got, want := acceptOf("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="; got != want {
		t.Errorf("the proof is %s, want %s", got, want)
	}
}

func TestInvalidSubprotocolsAreRefused(t *testing.T) {
	typ, _ := TypeOf("websocket")
	for _, bad := range []string{"a,,b", "a b", "a, a", ",", "a\r\nX: y"} {
		if _, _, err := typ.Read(object(t, fields(t, "url", "ws://a/", "subprotocol", bad))); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
