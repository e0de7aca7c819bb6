package check

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Errors of HTTP. The standard library has no types for them, so they are recognized by their texts. Other errors get
// the general reason of their stage. TestFaults fails if a version of Go changes the texts.
var (
	goAway      = regexp.MustCompile(`GOAWAY .*ErrCode[:=](\w+)(?:, debug="((?:[^"\\]|\\.)*)")?`)
	streamError = regexp.MustCompile(`stream error: stream ID \d+; (\w+)`)
	connError   = regexp.MustCompile(`connection error: (\w+)`)
)

// httpFaults are texts of errors, with what they mean. A %s of the meaning is what the server sent, in quotes.
var httpFaults = []struct{ text, meaning string }{
	{"malformed HTTP status code ", "the status line of the response has no valid status: %s"},
	{"malformed HTTP version ", "the status line of the response has no valid version of HTTP: %s"},
	{"malformed MIME header: missing colon: ", "a header of the response has no colon: %s"},
	{"malformed MIME header initial line: ", "the headers of the response begin with a space: %s"},
	{"bad Content-Length ", "the header Content-Length of the response is not valid: %s"},
	{"invalid empty Content-Length", "the header Content-Length of the response is empty"},
	{"cannot contain multiple Content-Length headers", "the response has two different headers Content-Length"},
	{"unsupported transfer encoding: ", "the header Transfer-Encoding of the response is not supported: %s"},
	{"too many transfer encodings: ", "the response has several headers Transfer-Encoding"},
	{"invalid byte in chunk length", "the body is not valid: the length of a chunk is not a number"},
	{"http chunk length too large", "the body is not valid: the length of a chunk is too large"},
	{"malformed chunked encoding", "the body is not valid: a chunk does not end where it should"},
	{"server response headers exceeded ", tooLargeHeaders},
	{"response header list larger than advertised limit", tooLargeHeaders},
	{"message too large", tooLargeHeaders},
	{"invalid header field name ", "a header of the response has an invalid name: %s"},
	{"invalid header field value for ", "the header %s of the response has a control character"},
	{"invalid pseudo-header ", "the response has an invalid header %s of HTTP/2"},
	{"failed to parse Location header ", "the target redirects to an invalid URL (Location): %s"},
	{"frame header looked like an HTTP/1.1 header", "%A answered in HTTP/1.1, expected HTTP/2"},
	{"client conn could not be established", "%A does not speak HTTP/2"}, // it said something else before the request
}

var tooLargeHeaders = fmt.Sprintf("the headers of the response are too large: more than the limit of %d kB",
	maxResponseHeader>>10)

// httpReason returns what an error of HTTP means, or "". address is the target's.
func httpReason(err error, address string) string {
	text := err.Error()
	if sent, ok := quotedAfter(text, "malformed HTTP response "); ok {
		return notHTTP(sent, address)
	}
	if line, ok := quotedAfter(text, "malformed MIME header line: "); ok {
		return badHeader(line)
	}
	if m := goAway.FindStringSubmatch(text); m != nil {
		why, _ := strconv.Unquote(`"` + m[2] + `"`)
		return address + " closed the connection of HTTP/2 (GOAWAY): " + strings.TrimSpace(m[1]+" "+shorten(why))
	}
	for _, f := range httpFaults {
		if !strings.Contains(text, f.text) {
			continue
		}
		sent, _ := quotedAfter(text, f.text)
		if f.text == "failed to parse Location header " {
			sent, _, _ = strings.Cut(sent, "?") // the query may have secrets
		}
		return strings.Replace(strings.Replace(f.meaning, "%A", address, 1), "%s", quote(sent), 1)
	}
	if m := streamError.FindStringSubmatch(text); m != nil {
		return address + " ended the request of HTTP/2: " + m[1]
	}
	if m := connError.FindStringSubmatch(text); m != nil {
		return "the connection of HTTP/2 with " + address + " failed: " + m[1]
	}
	return ""
}

// notHTTP says what a server speaks whose response does not begin with a status line.
func notHTTP(sent, address string) string {
	switch {
	case strings.HasPrefix(sent, "\x15\x03"), strings.HasPrefix(sent, "\x16\x03"): // an alert or a handshake
		return address + " speaks TLS, but the URL is one of http"
	case strings.HasPrefix(sent, "\x00\x00") && len(sent) >= 4 && sent[3] == 4: // the frame SETTINGS
		return address + " speaks only HTTP/2, which a check with http_version 2 expects"
	case sent == "":
		return address + " answered with an empty line instead of a status of HTTP"
	}
	return address + " does not speak HTTP: its answer begins with " + quote(sent)
}

// badHeader says why a line of a header is not valid. It does not repeat the value.
func badHeader(line string) string {
	name, value, _ := strings.Cut(line, ":")
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return fmt.Sprintf("the header %s of the response has a control character (0x%02x)", quote(name), c)
		}
	}
	return "a header of the response has an invalid name: " + quote(name)
}

// quotedAfter returns the text that an error quotes after some words.
func quotedAfter(text, words string) (string, bool) {
	_, rest, ok := strings.Cut(text, words)
	if !ok {
		return "", false
	}
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return "", true
	}
	sent, err := strconv.Unquote(quoted)
	return sent, err == nil
}

// quote quotes the beginning of what a server sent, on one line.
func quote(sent string) string {
	const limit = 80
	if utf8.RuneCountInString(sent) > limit {
		sent = string([]rune(sent)[:limit]) + "…"
	}
	return `"` + shorten(sent) + `"`
}

// expectsHTTPS are what web servers answer to a request of http on a port of https, with the status 400.
var expectsHTTPS = []string{
	"HTTP request to an HTTPS server", "HTTP request was sent to HTTPS port", "speaking plain HTTP to an SSL-enabled",
}

// statusHint says what a response with an unexpected status means, to follow the failure, or "".
func statusHint(response *http.Response, body string) string {
	switch {
	case response.StatusCode == http.StatusBadRequest && response.Request.URL.Scheme == "http":
		for _, text := range expectsHTTPS {
			if strings.Contains(body, text) {
				return ": the port expects https"
			}
		}
	case response.StatusCode >= 301 && response.StatusCode <= 308 && response.StatusCode != http.StatusNotModified &&
		response.Header.Get("Location") == "":
		return ", without the header Location"
	case response.StatusCode == http.StatusRequestHeaderFieldsTooLarge:
		return ": the headers of the request are too large for the server"
	}
	return ""
}
