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
	} {
		if got := New(c.secret).Hide(c.text); got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.secret, c.text, got, c.want)
		}
	}
}

// TestBeginningsTellNothing checks that a text is hidden alike whether it has the beginning of a secret or another text: who
// chooses both the text and where it is cut could otherwise guess a secret, one character after the other.
func TestBeginningsTellNothing(t *testing.T) {
	const secret, other = "SEKRIT-é-long", "another-ü-one"
	secrets := New(secret)
	for n := range len(secret) {
		for _, frame := range []string{"%s", "it ends in %s", "%s… and %s…, and %s"} {
			var lengths [2][3]int
			for i, guess := range []string{secret[:n], other[:n]} {
				text := strings.ReplaceAll(frame, "%s", guess)
				for j, hidden := range []string{secrets.HideShortened(text), secrets.HideCut(text), CutEnd(secrets, text)} {
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
		"Basic bWU6MDEyMzQ1Njc4OQ==": "0123456789 bWU6MDEyMzQ1Njc4OQ== me:0123456789",

		"https://x.test/hook/words-in-a-path": "/hook/words-in-a-path words-in-a-path",
		"https://x.test/hooks/T0AB":           "/hooks/T0AB T0AB",
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
			t.Errorf("%s: %q, want %q", secret, got, want)
		}
	}
}

// TestQueryIsHidden checks that no value of a secret URL's query is seen, however a service repeats it.
func TestQueryIsHidden(t *testing.T) {
	const typed = "a%2bb%20c"
	const secret = "https://sms.example.com/send?user=" + typed + "&key=k3y%C3%A9&to={to}&text={text}"
	hidden := New(append(Parts(secret), secret)...)
	for _, said := range []string{
		typed, "a+b c", "a%2Bb+c", "a%2Bb%20c", "a%252bb%2520c", "k3yé", "k3y%C3%A9", "k3y%25C3%25A9", `{"user":"a+b c"}`,
	} {
		if text := hidden.Hide("The key " + said + " is unknown, to={to}."); strings.ContainsAny(text, "b3") || !strings.Contains(text, "{to}") {
			t.Errorf("%s: %s", said, text)
		}
	}
}

func TestValues(t *testing.T) {
	for field, want := range map[string][]string{`"a"`: {"a"}, `{"A":"b","C":"d"}`: {"b", "d"}, `12`: nil} {
		if got := slices.Sorted(slices.Values(Values(json.RawMessage(field)))); !slices.Equal(got, want) {
			t.Errorf("%s: %q", field, got)
		}
	}
}
