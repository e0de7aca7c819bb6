package pattern

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

func goOn() bool { return false }

// TestSize checks expressions just within the maximum size, and beyond it.
func TestSize(t *testing.T) {
	within := strings.Repeat("a", MaxSize-2) // and one instruction each to fail and to match
	if _, err := Compile(within); err != nil {
		t.Error(err)
	}
	for _, text := range []string{
		within + "a", "(?:a?){990}b$", strings.Repeat(".{1000}", 100), "((a{30}){30}){1}b{900}",
	} {
		if _, err := Compile(text); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%.20s: %v", text, err)
		}
	}
	if _, err := Compile("("); err == nil || errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v", err)
	}
}

// TestMatchStops checks that a long match ends when it is to stop.
func TestMatchStops(t *testing.T) {
	p, err := Compile("(?:a?){700}b$")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	_, err = p.Match([]byte(strings.Repeat("a", 10<<20)), func() bool { asked++; return asked == 5 })
	if !errors.Is(err, ErrStopped) || asked != 5 {
		t.Errorf("error %v after %d questions", err, asked)
	}
}

// TestMatchIsThatOfRegexp compares both ways to match with package regexp.
func TestMatchIsThatOfRegexp(t *testing.T) {
	wide := strings.Repeat("c?", 300) // makes the program large, so that a shorter text is long
	long := strings.Repeat(" ", directWork/500)
	for _, expression := range []string{
		`^ +b$`, `\bab`, `(?m)^b$`, ` .b`, `ä|c$`, `(?i)AB\z`, `c*$`, `^ +b$|^d` + wide, `(?m)^b$|d` + wide,
		` ä|d` + wide,
	} {
		p, err := Compile(expression)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"", "b", "ab", "xab", "a\nb", "\xff b", long + "b", long + "ä", long + "\nb\n"} {
			got, err := p.Match([]byte(text), goOn)
			if want := regexp.MustCompile(expression).MatchString(text); got != want || err != nil {
				t.Errorf("%s matches a text of %d bytes: %v, %v", expression, len(text), got, err)
			}
		}
	}
}
