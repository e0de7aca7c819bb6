package redact

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestHide(t *testing.T) {
	for _, c := range []struct{ secret, text, want string }{
		{"SEKRIT-long", "x SEKRIT-long y", "x [secret] y"},
		{"SEKRIT-long", "it ends in SEKR", "it ends in [secret]"},
		{"SEKRIT-long", "it is cut: SEKR…, and goes on", "it is cut: [secret]…, and goes on"},
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

func TestParts(t *testing.T) {
	for secret, want := range map[string]string{
		"short":                                   "",
		"Bearer 0123456789ab":                     "0123456789ab",
		"Basic bWU6MDEyMzQ1Njc4OQ==":              "bWU6MDEyMzQ1Njc4OQ== me:0123456789 0123456789",
		"https://x.test/a/0123456789ab":           "/a/0123456789ab /a/0123456789ab /a/0123456789ab 0123456789ab",
		"https://x.test/a?k=0123456789ab&l=short": "/a?k=0123456789ab&l=short /a /a 0123456789ab",
	} {
		if got := strings.Join(Parts(secret), " "); got != want {
			t.Errorf("%s: %q, want %q", secret, got, want)
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
