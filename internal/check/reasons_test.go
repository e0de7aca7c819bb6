package check

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"
)

const okLine = "HTTP/1.1 200 OK\r\n"

// invalidAnswers are answers of servers, and the reason of the failed check; ADDRESS is the address of the server.
var invalidAnswers = []struct{ name, scheme, answer, failure string }{
	{"a control character in a value", "http", okLine + "X-Trace: a\x01b\r\n\r\n",
		`the header "X-Trace" of the response has a control character (0x01)`},
	{"a zero byte in a value", "http", okLine + "X-Trace: a\x00b\r\n\r\n",
		`the header "X-Trace" of the response has a control character (0x00)`},
	{"a DEL in a value", "http", okLine + "Set-Cookie: secret\x7f\r\n\r\n",
		`the header "Set-Cookie" of the response has a control character (0x7f)`},
	{"a return within a value", "http", okLine + "X-A: b\rX-C: d\r\n\r\n",
		`the header "X-A" of the response has a control character (0x0d)`},
	{"brackets in a name", "http", okLine + "X(Trace): a\r\n\r\n",
		`a header of the response has an invalid name: "X(Trace)"`},
	{"a name in another script", "http", okLine + "X-Tür: a\r\n\r\n",
		`a header of the response has an invalid name: "X-Tür"`},
	{"no name", "http", okLine + ": a\r\n\r\n", `a header of the response has an invalid name: ""`},
	{"an indented first header", "http", okLine + "  X: a\r\n\r\n",
		`the headers of the response begin with a space: "X: a"`},
	{"a large header", "http", okLine + "X: " + strings.Repeat("x", maxResponseHeader) + "\r\n\r\n",
		"the headers of the response are too large: more than the limit of 64 kB"},
	{"many headers", "http", okLine + strings.Repeat("X-Header: value\r\n", maxResponseHeader/16) + "\r\n",
		"the headers of the response are too large: more than the limit of 64 kB"},
	{"a control character in a Location", "http", "HTTP/1.1 302 Found\r\nLocation: http://a\x01b/\r\n\r\n",
		`the header "Location" of the response has a control character (0x01)`},
	{"a Location with an invalid port", "http",
		"HTTP/1.1 302 Found\r\nLocation: http://example.com:port/x?token=secret\r\n\r\n",
		`the target redirects to an invalid URL (Location): "http://example.com:port/x"`},
	{"a Location with an invalid escape", "http", "HTTP/1.1 301 Moved\r\nLocation: /%zz\r\n\r\n",
		`the target redirects to an invalid URL (Location): "/%zz"`},
	{"no Location", "http", "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n",
		"HTTP 302 (expected 200–299), without the header Location"},
	{"a word as a status", "http", "HTTP/1.1 OK\r\n\r\n",
		`the status line of the response has no valid status: "OK"`},
	{"an unknown version", "http", "HTTP/one 200 OK\r\n\r\n",
		`the status line of the response has no valid version of HTTP: "HTTP/one"`},
	{"another protocol", "http", "SSH-2.0-OpenSSH_9.9\r\n",
		`ADDRESS does not speak HTTP: its answer begins with "SSH-2.0-OpenSSH_9.9"`},
	{"an empty line", "http", "\r\n\r\n", "ADDRESS answered with an empty line instead of a status of HTTP"},
	{"a long line", "http", strings.Repeat("x", 200) + "\r\n",
		`ADDRESS does not speak HTTP: its answer begins with "` + strings.Repeat("x", 80) + `…"`},
	{"an alert of TLS", "http", "\x15\x03\x01\x00\x02\x02\x16\r\n",
		"ADDRESS speaks TLS, but the URL is one of http"},
	{"frames of HTTP/2", "http", "\x00\x00\x00\x04\x00\x00\x00\x00\x00\n",
		"ADDRESS speaks only HTTP/2, which a check with http_version 2 expects"},
	{"http to a port of https, by Go", "http",
		"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n",
		"HTTP 400 (expected 200–299): the port expects https"},
	{"http to a port of https, by nginx", "http",
		"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n<center>The plain HTTP request was sent to HTTPS " +
			"port</center>",
		"HTTP 400 (expected 200–299): the port expects https"},
	{"http to a port of https, by Apache", "http",
		"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\nReason: You're speaking plain HTTP to an " +
			"SSL-enabled server port.",
		"HTTP 400 (expected 200–299): the port expects https"},
	{"another 400", "http", "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\nno",
		"HTTP 400 (expected 200–299)"},
	{"headers of the request too large", "http", "HTTP/1.1 431 Too Large\r\nContent-Length: 0\r\n\r\n",
		"HTTP 431 (expected 200–299): the headers of the request are too large for the server"},
	{"an empty length", "http", okLine + "Content-Length: \r\n\r\n",
		"the header Content-Length of the response is empty"},
	{"another encoding", "http", okLine + "Transfer-Encoding: gzip\r\n\r\n",
		`the header Transfer-Encoding of the response is not supported: "gzip"`},
	{"two encodings", "http", okLine + "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
		"the response has several headers Transfer-Encoding"},
	{"a chunk without an end", "http", okLine + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n0\r\n\r\n",
		"the body is not valid: a chunk does not end where it should"},
	{"https to a port of http", "https", "HTTP/1.1 400 Bad Request\r\n\r\n",
		"ADDRESS does not speak TLS, but HTTP: the URL is one of https"},
	{"https to another protocol", "https", "220 mail.example.com ESMTP\r\n",
		`ADDRESS does not speak TLS: its answer begins with "220 m"`},
	{"https to a binary protocol", "https", "\x4a\x00\x00\x00\x0a8.0.36", "ADDRESS does not speak TLS"},
}

// TestReasons checks that what a broken server does is named, so that its first line is enough to mend it. ADDRESS
// stands for the server's.
func TestReasons(t *testing.T) {
	t.Parallel()
	for _, c := range invalidAnswers {
		t.Run(c.name, func(t *testing.T) {
			address := faulty(t, func(conn *net.TCPConn) {
				if c.scheme == "https" {
					afterHello(says(c.answer, halfClose))(conn)
					return
				}
				afterRequest(says(c.answer, halfClose))(conn)
			})
			o := runOnce(t, "http", fields(t, "url", c.scheme+"://"+address+"/"))
			expectFailure(t, o, strings.ReplaceAll(c.failure, "ADDRESS", address))
			o.Failure, _, _ = strings.Cut(o.Failure, `"`) // without what the server sent
			expectPlain(t, o)
		})
	}
}

// TestAlerts checks that each alert of TLS that ends a handshake is named, for every type that speaks TLS.
func TestAlerts(t *testing.T) {
	t.Parallel()
	for alert := range 130 {
		if alert == 0 || alertTexts[uint8(alert)] == "" && alert != 99 {
			continue
		}
		address := faulty(t, afterHello(says("\x15\x03\x03\x00\x02\x02"+string([]byte{byte(alert)}), halfClose)))
		host, port, _ := net.SplitHostPort(address)
		want := address + " refused the TLS handshake: " + alertText(uint8(alert))
		o := runOnce(t, "http", fields(t, "url", "https://"+address+"/"))
		expectFailure(t, o, want)
		expectPlain(t, o)
		o = runOnce(t, "tls", fmt.Sprintf(`{"host": %q, "port": %s}`, host, port))
		expectFailure(t, o, want)
	}
	if len(alertTexts) < 30 {
		t.Error("there are no alerts")
	}
}

// headerBlock encodes literal fields without a table (RFC 7541, section 6.2.2).
func headerBlock(fields ...string) []byte {
	var b []byte
	for i := 0; i < len(fields); i += 2 {
		b = append(append(b, 0, byte(len(fields[i]))), fields[i]...)
		b = append(append(b, byte(len(fields[i+1]))), fields[i+1]...)
	}
	return b
}

// TestReasonsOfHTTP2 checks that the errors of HTTP/2 are named.
func TestReasonsOfHTTP2(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		answer  func(*http2.Framer)
		ends    bool // the server closes the connection then
		failure string
	}{
		{"GOAWAY", func(f *http2.Framer) {
			_ = f.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, nil)
		}, false, "ADDRESS closed the connection of HTTP/2 (GOAWAY): ENHANCE_YOUR_CALM"},
		{"GOAWAY and the end", func(f *http2.Framer) {
			_ = f.WriteGoAway(1, http2.ErrCodeProtocol, []byte("too many\npings"))
		}, true, "ADDRESS closed the connection of HTTP/2 (GOAWAY): PROTOCOL_ERROR too many pings"},
		{"a reset", func(f *http2.Framer) {
			_ = f.WriteRSTStream(1, http2.ErrCodeInternal)
		}, false, "ADDRESS ended the request of HTTP/2: INTERNAL_ERROR"},
		{"HTTP_1_1_REQUIRED", func(f *http2.Framer) {
			_ = f.WriteRSTStream(1, http2.ErrCodeHTTP11Required)
		}, false, "ADDRESS ended the request of HTTP/2: HTTP_1_1_REQUIRED"},
		{"a name in capitals", func(f *http2.Framer) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{
				StreamID: 1, BlockFragment: headerBlock(":status", "200", "X-A", "b"), EndHeaders: true,
				EndStream: true,
			})
		}, false, `a header of the response has an invalid name: "X-A"`},
		{"a control character", func(f *http2.Framer) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{
				StreamID: 1, BlockFragment: headerBlock(":status", "200", "x-a", "b\x01"), EndHeaders: true,
				EndStream: true,
			})
		}, false, `the header "x-a" of the response has a control character`},
		{"a frame of the wrong size", func(f *http2.Framer) {
			_ = f.WriteRawFrame(http2.FramePing, 0, 0, []byte("x"))
		}, false, "the connection of HTTP/2 with ADDRESS failed: FRAME_SIZE_ERROR"},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := faulty(t, func(conn *net.TCPConn) {
				f, err := untilRequest(conn)
				if err != nil {
					return
				}
				_ = f.WriteSettings()
				if c.answer(f); c.ends {
					_ = conn.CloseWrite()
				}
				hang(conn)
			})
			o := runOnce(t, "http", fields(t, "url", "http://"+address+"/", "http_version", "2"))
			expectFailure(t, o, strings.ReplaceAll(c.failure, "ADDRESS", address))
			expectPlain(t, o)
		})
	}
}

// TestHTTP1InsteadOfHTTP2 checks what is said of a server that answers in HTTP/1.1.
func TestHTTP1InsteadOfHTTP2(t *testing.T) {
	t.Parallel()
	address := faulty(t, func(conn *net.TCPConn) {
		if _, err := untilRequest(conn); err == nil {
			says("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", hang)(conn)
		}
	})
	expectFailure(t, runOnce(t, "http", fields(t, "url", "http://"+address+"/", "http_version", "2")),
		address+" answered in HTTP/1.1, expected HTTP/2")
	expectFailure(t, runOnce(t, "grpc", fmt.Sprintf(`{"host": "127.0.0.1", "port": %s}`, address[len("127.0.0.1:"):])),
		address+" answered in HTTP/1.1, expected HTTP/2")
}

// untilRequest reads from a connection of HTTP/2 until the client has sent its request. What a server says before, the
// client may read too early to name it.
func untilRequest(conn *net.TCPConn) (*http2.Framer, error) {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(conn, preface); err != nil {
		return nil, err
	}
	f := http2.NewFramer(conn, bufio.NewReader(conn))
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return nil, err
		}
		if _, ok := frame.(*http2.HeadersFrame); ok {
			return f, nil
		}
	}
}

// TestReasonsHideSecrets checks that a server which repeats a secret where it breaks the protocol does not publish it.
func TestReasonsHideSecrets(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		"%s\r\n", "HTTP/1.1 %s\r\n\r\n", "HTTP/1.1 302 Found\r\nLocation: http://a:%s/\r\n\r\n",
	} {
		address := faulty(t, func(conn *net.TCPConn) {
			request, err := http.ReadRequest(bufio.NewReader(conn))
			if err == nil {
				fmt.Fprintf(conn, answer, strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer "))
				halfClose(conn)
			}
		})
		tokens := webServer(t, false, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"access_token": "of-this-run-only", "token_type": "bearer"}`)
		})
		o := runOnce(t, "http",
			fields(t, "url", "http://"+address+"/", "oauth2_token_url", tokens.URL, "oauth2_client_id", "c",
				"oauth2_client_secret", "s"))
		if o.Failure == "" || strings.Contains(o.Failure+o.Body, "of-this-run-only") {
			t.Errorf("outcome: %+v", o)
		}
	}
}
