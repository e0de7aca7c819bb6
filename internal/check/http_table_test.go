package check

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestOriginsAndLoops checks which URLs have the same origin, and which request repeats an earlier one.
func TestOriginsAndLoops(t *testing.T) {
	parse := func(text string) *url.URL {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for other, same := range map[string]bool{
		"https://shop.example/other?a": true, "https://SHOP.example:443": true, "https://shop.example:444": false,
		"http://shop.example:443": false,
		"http://shop.example":     false, "https://www.shop.example": false,
	} {
		if got := isSameOrigin(parse("https://shop.example/"), parse(other)); got != same {
			t.Errorf("%s: %t", other, got)
		}
	}
	request := func(method, text string) *http.Request { return &http.Request{Method: method, URL: parse(text)} }
	via := []*http.Request{request("GET", "https://a/1"), request("POST", "https://a/2")}
	for _, c := range []struct {
		method, url string
		loop        bool
	}{
		{"GET", "https://a/1", true}, {"POST", "https://a/2", true}, {"POST", "https://a/1", false},
		{"GET", "https://a/2", false}, {"GET", "https://a/1?", false},
	} {
		if got := isLoop(request(c.method, c.url), via); got != c.loop {
			t.Errorf("%s %s: %t", c.method, c.url, got)
		}
	}
}

// TestWhatStaysElsewhere checks which headers of a check are sent to another origin.
func TestWhatStaysElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		headers, secret map[string]string
		referer, body   string
		want            string
	}{
		"nothing": {nil, nil, "", "", "User-Agent:Allswell"},
		"what a browser sends": {map[string]string{"accept": "a", "Accept-Language": "b", "user-agent": "c"}, nil,
			"", "", "Accept-Language:b Accept:a User-Agent:c"},
		"anything else": {map[string]string{
			"X-Key": "a", "Authorization": "b", "Cookie": "c", "Content-Type": "d",
		}, nil, "", "", "User-Agent:Allswell"},
		"the type of a body": {map[string]string{"content-type": "a"}, nil, "", "body",
			"Content-Type:a User-Agent:Allswell"},
		"what is a secret, too": {map[string]string{"Accept": "a"}, map[string]string{"ACCEPT": "b"}, "", "",
			"User-Agent:Allswell"},
		"the redirect before": {nil, nil, "https://a/", "", "Referer:https://a/ User-Agent:Allswell"},
		"a referer of the check": {map[string]string{"referer": "https://b/"}, nil, "https://b/", "",
			"User-Agent:Allswell"},
		"a referer that is secret": {nil, map[string]string{"REFERER": "https://b/"}, "https://b/", "",
			"User-Agent:Allswell"},
	} {
		next, err := http.NewRequest(http.MethodPost, "https://other.example/", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		next.Host, next.Header = "shop.example", http.Header{"X-Key": {"a"}, "Authorization": {"b"}}
		if c.referer != "" {
			next.Header.Set("Referer", c.referer)
		}
		(&httpProbe{Headers: c.headers, SecretHeaders: c.secret}).startAfresh(next)
		var sent []string
		for header, values := range next.Header {
			sent = append(sent, header+":"+strings.Join(values, ","))
		}
		slices.Sort(sent)
		if got := strings.Join(sent, " "); got != c.want || next.Host != "" {
			t.Errorf("%s: %s of host %q, want %s", name, got, next.Host, c.want)
		}
	}
}

// TestWhereRedirectsLed checks what a reason says of redirects.
func TestWhereRedirectsLed(t *testing.T) {
	chain := func(urls ...string) (last *http.Request) {
		for i, text := range urls {
			next, err := http.NewRequest(http.MethodGet, text, nil)
			if err != nil {
				t.Fatal(err)
			}
			if i > 0 {
				next.Response = &http.Response{Request: last}
			}
			last = next
		}
		return last
	}
	long := "https://a.example/" + strings.Repeat("x", maxRedirectTarget-len("https://a.example/"))
	for want, last := range map[string]*http.Request{
		"": chain("https://a.example/"),
		", after a redirect to https://a.example/b%2f": chain(
			"https://a.example/", "https://user@a.example/b%2f?token=x#y",
		),
		", after 2 redirects, the last one to http://b.example:81": chain(
			"https://a.example/", "https://a.example/b", "http://b.example:81",
		),
		", after a redirect to " + long:       chain("https://a.example/", long),
		", after a redirect to " + long + "…": chain("https://a.example/", long+"y"),
	} {
		if got := afterRedirects(last); got != want {
			t.Errorf("afterRedirects: %q, want %q", got, want)
		}
	}
}

// TestStrongestDigest checks which challenge is answered, and what is said if none can be.
func TestStrongestDigest(t *testing.T) {
	challenge := func(algorithm string) string {
		return fmt.Sprintf(`Digest realm="r", nonce="%s", qop="auth", algorithm=%s`, algorithm, algorithm)
	}
	without := `Digest realm="r", nonce="", qop="auth"`
	const notOffered, others = ": the server does not offer Digest authentication",
		": the server requires an algorithm of Digest authentication other than MD5, SHA-256 and SHA-512"
	for _, c := range []struct {
		offered []string
		best    string // its nonce
		hint    string
	}{
		{[]string{`Basic realm="r"`}, "none", notOffered}, {nil, "none", notOffered},
		{[]string{"Digest realm"}, "none", others}, {[]string{challenge("XYZ")}, "none", others},
		{[]string{without}, "", ""}, {[]string{without, challenge("MD5")}, "MD5", ""},
		{[]string{challenge("MD5"), without}, "MD5", ""},
		{[]string{challenge("MD5"), challenge("SHA-256"), `Basic realm="r"`}, "SHA-256", ""},
		{[]string{challenge("SHA-512-256"), challenge("SHA-256")}, "SHA-512-256", ""},
		{[]string{challenge("XYZ"), challenge("MD5")}, "MD5", ""},
		{[]string{`Basic realm="a, b", ` + challenge("MD5")}, "MD5", ""},
		{[]string{`Negotiate, ` + challenge("MD5") + `, ` + challenge("SHA-256") + `,Basic realm="x"`}, "SHA-256", ""},
		{[]string{`Basic realm="a\", Digest realm=b"`}, "none", notOffered},
	} {
		header := http.Header{"Www-Authenticate": c.offered}
		best := "none"
		if s := strongest(header); s != nil {
			best = s.Nonce
		}
		if best != c.best {
			t.Errorf("strongest of %q: %s", c.offered, best)
		}
		request := &http.Request{Header: http.Header{}}
		response := &http.Response{StatusCode: http.StatusUnauthorized, Header: header, Request: request}
		if got := (&httpProbe{Digest: true}).authenticationHint(response); got != c.hint {
			t.Errorf("%q: hint %q", c.offered, got)
		}
		if got := new(httpProbe).authenticationHint(response); got != "" {
			t.Errorf("without Digest: hint %q", got)
		}
		request.Header.Set("Authorization", "Digest x")
		got := (&httpProbe{Digest: true}).authenticationHint(response)
		if got != ": the server does not accept the user name and the password" {
			t.Errorf("after an answer: hint %q", got)
		}
		if response.StatusCode = http.StatusForbidden; (&httpProbe{Digest: true}).authenticationHint(response) != "" {
			t.Error("a hint of another status")
		}
	}
	for value, want := range map[string]string{
		"": "[]", "token": "[]", "Bearer abcd": "[abcd]", "Basic YTpi": "[YTpi]",
		`Digest username="u", realm="r", nonce="n", uri="/", response="0123456789abcdef"`: `[username="u", realm="r",` +
			` nonce="n", uri="/", response="0123456789abcdef" 0123456789abcdef]`,
	} {
		if got := fmt.Sprint(answerOf(&http.Request{Header: http.Header{"Authorization": {value}}})); got != want {
			t.Errorf("answerOf %q: %s, want %s", value, got, want)
		}
	}
}

// TestFieldsOfOAuth checks which fields of OAuth2 are valid together.
func TestFieldsOfOAuth(t *testing.T) {
	const token = "https://login.example.com/token"
	for _, c := range []struct {
		oauth oauth
		want  []string
	}{
		{oauth{}, nil}, {oauth{OAuthAudience: "a"}, []string{"oauth2_audience"}},
		{oauth{OAuthResource: "urn:a"}, []string{"oauth2_resource"}},
		{oauth{OAuthTokenURL: token}, []string{"oauth2_client_id"}},
		{oauth{OAuthTokenURL: token, OAuthClientID: "c"}, nil},
		{oauth{OAuthTokenURL: "login.example.com", OAuthClientID: "c"}, []string{"oauth2_token_url"}},
		{oauth{OAuthTokenURL: token, OAuthClientID: "c", OAuthResource: "urn:a"}, nil},
		{oauth{OAuthTokenURL: token, OAuthClientID: "c", OAuthResource: "a"}, []string{"oauth2_resource"}},
		{oauth{OAuthTokenURL: token, OAuthClientID: "c", OAuthResource: "urn:a#b"}, []string{"oauth2_resource"}},
		{oauth{OAuthTokenURL: token, OAuthClientID: "c", OAuthResource: "https://%zz"}, []string{"oauth2_resource"}},
	} {
		var bad kernel.ValidationError
		c.oauth.checkOAuth(&bad)
		var got []string
		for field := range bad.Messages() {
			got = append(got, field)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("problems of %+v: %v, want %v", c.oauth, bad.Messages(), c.want)
		}
	}
	if got := (&oauth{OAuthAudience: "a"}).parameters().Encode(); got != "audience=a" {
		t.Errorf("parameters %s", got)
	}
}

// TestWhatBeginningsMean checks what a server speaks by how its answer begins, and how much of that is shown.
func TestWhatBeginningsMean(t *testing.T) {
	full := strings.Repeat("é", 80)
	for sent, want := range map[string]string{
		"\x15\x03\x01":     "SERVER speaks TLS, but the URL is one of http",
		"\x16\x03\x03":     "SERVER speaks TLS, but the URL is one of http",
		"\x00\x00\x00\x04": "SERVER speaks only HTTP/2, which a check with http_version 2 expects",
		"":                 "SERVER answered with an empty line instead of a status of HTTP",
		"\x00\x00\x00\x03": `SERVER does not speak HTTP: its answer begins with ""`,
		"\x00\x00\x00":     `SERVER does not speak HTTP: its answer begins with ""`,
		"abc\x04":          `SERVER does not speak HTTP: its answer begins with "abc"`,
		full:               `SERVER does not speak HTTP: its answer begins with "` + full + `"`,
		full + "x":         `SERVER does not speak HTTP: its answer begins with "` + full + `…"`,
	} {
		if got := notHTTP(sent, "SERVER"); got != want {
			t.Errorf("notHTTP %q: %s, want %s", sent, got, want)
		}
	}
	for line, want := range map[string]string{
		"X-A: a\x1fb":  `the header "X-A" of the response has a control character (0x1f)`,
		"X-A: \tb\x7f": `the header "X-A" of the response has a control character (0x7f)`,
		"X A: a\tb ~":  `a header of the response has an invalid name: "X A"`,
	} {
		if got := badHeader(line); got != want {
			t.Errorf("badHeader %q: %s, want %s", line, got, want)
		}
	}
}

// TestHintsOfStatuses checks which statuses have a hint, and which neighbours have none.
func TestHintsOfStatuses(t *testing.T) {
	const https, body = ": the port expects https", "Client sent an HTTP request to an HTTPS server."
	for _, c := range []struct {
		status           int
		scheme, location string
		want             string
	}{
		{400, "http", "", https}, {400, "https", "", ""}, {401, "http", "", ""}, {300, "http", "", ""},
		{301, "http", "", ", without the header Location"},
		{301, "http", "/", ""}, {303, "https", "", ", without the header Location"}, {304, "http", "", ""},
		{308, "http", "", ", without the header Location"},
		{309, "http", "", ""}, {431, "http", "", ": the headers of the request are too large for the server"},
		{430, "http", "", ""},
	} {
		response := &http.Response{
			StatusCode: c.status, Header: http.Header{}, Request: &http.Request{URL: &url.URL{Scheme: c.scheme}},
		}
		if c.location != "" {
			response.Header.Set("Location", c.location)
		}
		if got := statusHint(response, body); got != c.want {
			t.Errorf("%d of %s, Location %q: %q", c.status, c.scheme, c.location, got)
		}
	}
	got := statusHint(&http.Response{StatusCode: 400, Request: &http.Request{URL: &url.URL{Scheme: "http"}}}, "no")
	if got != "" {
		t.Errorf("another 400: %q", got)
	}
}
