package redact

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestHide(t *testing.T) {
	for _, c := range []struct{ secret, text, want string }{
		{"SEKRIT-long", "x SEKRIT-long y", "x [secret] y"},
		{"SEKRIT-long", "SEK", "SEK"},
		{"secret", "the secret and [secret]", "the [secret] and [[secret]]"},
		{"abc", "abc", "abc"},
		{"a b  c\nd", "on one line: a b c d", "on one line: [secret]"},
		{"a/b+c", "a%2Fb%2Bc a%2Fb+c", "[secret] [secret]"},
		{"abcd", "abcd", "[secret]"},
	} {
		if got := New(c.secret).Hide(c.text); got != c.want {
			t.Errorf("hiding %q in %q: %q, want %q", c.secret, c.text, got, c.want)
		}
	}
}

// TestEveryWayToWrite checks that a secret is hidden in whatever form a document repeats it.
func TestEveryWayToWrite(t *testing.T) {
	const secret = "Ab1 -._é\"'<&>/\\*!()+\n%"
	for way, written := range map[string]string{
		"typed":                            secret,
		"on one line":                      strings.Join(strings.Fields(secret), " "),
		"html.EscapeString":                "Ab1 -._é&#34;&#39;&lt;&amp;&gt;/\\*!()+\n%",
		"HTML of Python":                   "Ab1 -._é&quot;&#x27;&lt;&amp;&gt;/\\*!()+\n%",
		"HTML of PHP":                      "Ab1 -._é&quot;&#039;&lt;&amp;&gt;/\\*!()+\n%",
		"HTML without quotes":              "Ab1 -._é\"'&lt;&amp;&gt;/\\*!()+\n%",
		"JSON":                             `Ab1 -._é\"'<&>/\\*!()+\n%`,
		"JSON of PHP":                      `Ab1 -._é\"'<&>\/\\*!()+\n%`,
		"JSON of Go":                       `Ab1 -._é\"'\u003c\u0026\u003e/\\*!()+\n%`,
		"a form":                           "Ab1+-._%C3%A9%22%27%3C%26%3E%2F%5C%2A%21%28%29%2B%0A%25",
		"a path":                           "Ab1%20-._%C3%A9%22%27%3C&%3E%2F%5C%2A%21%28%29+%0A%25",
		"a query of %20":                   "Ab1%20-._%C3%A9%22%27%3C%26%3E%2F%5C%2A%21%28%29%2B%0A%25",
		"a form in small letters":          "Ab1+-._%c3%a9%22%27%3c%26%3e%2f%5c%2a%21%28%29%2b%0a%25",
		"a path in small letters":          "Ab1%20-._%c3%a9%22%27%3c&%3e%2f%5c%2a%21%28%29+%0a%25",
		"a query of %20 in small letters":  "Ab1%20-._%c3%a9%22%27%3c%26%3e%2f%5c%2a%21%28%29%2b%0a%25",
		"encodeURIComponent":               "Ab1%20-._%C3%A9%22'%3C%26%3E%2F%5C*!()%2B%0A%25",
		"decimal references":               "Ab1 -._é&#34;&#39;&#60;&#38;&#62;&#47;&#92;&#42;&#33;&#40;&#41;&#43;&#10;&#37;",
		"hexadecimal references":           "Ab1 -._é&#x22;&#x27;&#x3c;&#x26;&#x3e;&#x2f;&#x5c;&#x2a;&#x21;&#x28;&#x29;&#x2b;&#xa;&#x25;",
		"hexadecimal references, capitals": "Ab1 -._é&#x22;&#x27;&#x3C;&#x26;&#x3E;&#x2F;&#x5C;&#x2A;&#x21;&#x28;&#x29;&#x2B;&#xA;&#x25;",
		"JavaScript":                       `Ab1 -._é\u0022\u0027\u003c\u0026\u003e\u002f\u005c\u002a\u0021\u0028\u0029\u002b\u000a\u0025`,
		"JavaScript, capitals":             `Ab1 -._é\u0022\u0027\u003C\u0026\u003E\u002F\u005C\u002A\u0021\u0028\u0029\u002B\u000A\u0025`,
		"quoted-printable":                 "Ab1 -._é=22=27=3C=26=3E=2F=5C=2A=21=28=29=2B=0A=25",
	} {
		if got := New(secret).Hide("x " + written + " y"); got != "x [secret] y" {
			t.Errorf("hiding a secret written as %s: %q", way, got)
		}
	}
}

// TestLongestSecretIsHiddenFirst checks that nothing is left of a secret that contains another one.
func TestLongestSecretIsHiddenFirst(t *testing.T) {
	for _, values := range [][]string{{"abcd", "abcdefgh"}, {"abcdefgh", "abcd"}, {"zzzz", "abcdefgh", "efgh"}} {
		if got := New(values...).Hide("abcdefgh"); got != "[secret]" {
			t.Errorf("hiding the secrets %q: %q", values, got)
		}
	}
}

// TestCutEnd checks that exactly the bytes are removed that the longest secret may have without being whole.
func TestCutEnd(t *testing.T) {
	secrets := New("abcd", "abcdefgh")
	for text, want := range map[string]string{
		"": "", "1234567": "", "12345678": "1", "123456789": "12", "1é2345678": "1é", "1é345678": "1",
		"\xa9\xa9345678": "",
	} {
		if got := CutEnd(secrets, text); got != want {
			t.Errorf("CutEnd(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestBeginningsTellNothing checks that a text is hidden alike whether it has the beginning of a secret or another
// text: who chooses both the text and where it is cut could otherwise guess a secret, one character after the other.
func TestBeginningsTellNothing(t *testing.T) {
	const secret, other = "SEKRIT-é-long", "another-ü-one"
	secrets := New(secret)
	for n := range len(secret) {
		for _, frame := range []string{"%s", "it ends in %s", "%s… and %s…, and %s"} {
			var lengths [2][3]int
			for i, guess := range []string{secret[:n], other[:n]} {
				text := strings.ReplaceAll(frame, "%s", guess)
				for j, hidden := range []string{
					secrets.HideShortened(text), secrets.HideCut(text), CutEnd(secrets, text),
				} {
					lengths[i][j] = len(hidden)
				}
			}
			if lengths[0] != lengths[1] {
				t.Errorf("%d bytes of the secret in %q can be told from others: %v", n, frame, lengths)
			}
		}
		if got := secrets.HideCut("it ends in " + secret[:n]); n > 0 && strings.HasSuffix(got, secret[:1]) {
			t.Errorf("%d bytes of the secret are left: %q", n, got)
		}
		if got := secrets.HideShortened(secret[:n] + "…" + secret[:n] + "…, and goes on"); got != "……, and goes on" {
			t.Errorf("%d bytes of the secret are left: %q", n, got)
		}
	}
	if got := secrets.HideCut(strings.Repeat("é", 100)); got == "" || !utf8.ValidString(got) {
		t.Errorf("a text is cut to %q", got)
	}
	if got := New().HideShortened("whole…"); got != "whole…" {
		t.Errorf("without secrets: %q", got)
	}
}

func TestParts(t *testing.T) {
	for secret, want := range map[string]string{
		"short":                      "",
		"one two":                    "",
		"one two three four":         "two three four",
		"Bearer 0123456789ab":        "0123456789ab",
		"bearer 0123":                "0123",
		"Bearer 012":                 "",
		"one 01234567890":            "",
		"one 012345678901":           "012345678901",
		"Basic YWJjZGVm!":            "YWJjZGVm!",
		"Basic bWU6MDEyMzQ1Njc4OQ==": "0123456789 bWU6MDEyMzQ1Njc4OQ== me:0123456789",

		"https://x.test/hook/words-in-a-path": "/hook/words-in-a-path words-in-a-path",
		"https://x.test/hooks/T0AB":           "/hooks/T0AB T0AB",
		"https://x.test/a/%54okn":             "%54okn /a/%54okn /a/Tokn Tokn",
		"https://x.test/abcdefghijk":          "/abcdefghijk",
		"https://x.test/abcdefghijkl":         "/abcdefghijkl abcdefghijkl",
		"https://x.test/%zz/T0AB":             "",
		"https://x.test/a/p%2fQ":              "/a/p%2fQ /a/p/Q p%2fQ",

		"https://x.test/a?k=abcd&l=abc":          "/a?k=abcd&l=abc abcd",
		" https://x.test/?k=abcd ":               "/?k=abcd abcd",
		"https://x.test/?abcd":                   "/?abcd abcd",
		"https://x.test/?k=p%2fq+r":              "/?k=p%2fq+r p%2fq+r p/q r p/q+r",
		"https://x.test/?k=100%zz":               "/?k=100%zz 100%zz",
		"https://x.test/?k=abc;def":              "/?k=abc;def abc;def",
		"https://x.test/?k=abcd;l=efgh":          "/?k=abcd;l=efgh abcd abcd;l=efgh efgh",
		"https://x.test/?to={to}&t={text}&k=abc": "/?to={to}&t={text}&k=abc",
		"https://x.test/?to={to}&k=abcd{secret}": "/?to={to}&k=abcd{secret} abcd",
	} {
		if got := strings.Join(Parts(secret), " "); got != want {
			t.Errorf("Parts(%s) = %q, want %q", secret, got, want)
		}
	}
}

// TestQueryIsHidden checks that no value of a secret URL's query is seen, however a service repeats it.
func TestQueryIsHidden(t *testing.T) {
	const typed = "a%2bb%20c"
	const secret = "https://sms.example.com/send?user=" + typed + "&key=k3y%C3%A9&to={to}&text={text}"
	hidden := New(append(Parts(secret), secret)...)
	for _, said := range []string{
		typed, "a+b c", "a%2Bb+c", "a%2Bb%20c", "a%252bb%2520c", "k3yé", "k3y%C3%A9", "k3y%25C3%25A9",
		`{"user":"a+b c"}`,
	} {
		text := hidden.Hide("The key " + said + " is unknown, to={to}.")
		if strings.ContainsAny(text, "b3") || !strings.Contains(text, "{to}") {
			t.Errorf("hiding a query in %s: %s", said, text)
		}
	}
}

func TestBasicAuth(t *testing.T) {
	if got := BasicAuth("me", "0123456789"); got != "bWU6MDEyMzQ1Njc4OQ==" {
		t.Errorf("BasicAuth = %q", got)
	}
}

func TestValues(t *testing.T) {
	for field, want := range map[string][]string{`"a"`: {"a"}, `{"A":"b","C":"d"}`: {"b", "d"}, `12`: nil} {
		if got := slices.Sorted(slices.Values(Values(json.RawMessage(field)))); !slices.Equal(got, want) {
			t.Errorf("Values(%s) = %q", field, got)
		}
	}
}
