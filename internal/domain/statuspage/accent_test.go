package statuspage

import (
	"math"
	"math/rand/v2"
	"testing"
)

// checkAccent checks the contrast of the colours that are derived from an accent.
func checkAccent(t *testing.T, c colour) {
	t.Helper()
	for name, s := range map[string]scheme{"light": lightScheme, "dark": darkScheme} {
		got := s.readable(c)
		for _, ground := range s.grounds {
			if ratio := contrast(got, ground); ratio < 4.5 {
				t.Errorf("%v becomes %v in the %s, which has %.2f on %v", c, got, name, ratio, ground)
			}
		}
		if ratio := contrast(got, s.button); ratio < 4.5 {
			t.Errorf("%v becomes %v in the %s, on which a button's text has %.2f", c, got, name, ratio)
		}
		if was, is := c.oklab(), got.oklab(); s.legible(c) && got != c {
			t.Errorf("%v can be read in the %s, and becomes %v", c, name, got)
		} else if chroma := math.Hypot(is.a, is.b); chroma > 0.05 && math.Hypot(was.a, was.b) > 0.05 {
			turn := math.Abs(math.Remainder(math.Atan2(was.b, was.a)-math.Atan2(is.b, is.a), 2*math.Pi))
			if turn > 0.25 { // of 6.28
				t.Errorf("%v becomes %v in the %s, a hue %.2f away", c, got, name, turn)
			}
		}
	}
}

func TestAccentsAreReadable(t *testing.T) {
	for r := 0; r < 256; r += 51 {
		for g := 0; g < 256; g += 51 {
			for b := 0; b < 256; b += 51 {
				checkAccent(t, colour{uint8(r), uint8(g), uint8(b)})
			}
		}
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		v := random.Uint32()
		checkAccent(t, colour{uint8(v), uint8(v >> 8), uint8(v >> 16)})
	}
}

// TestContrast compares contrasts with known values.
func TestContrast(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"#000000", "#ffffff", 21}, {"#777777", "#ffffff", 4.48}, {"#767676", "#ffffff", 4.54},
		{"#ff0000", "#ffffff", 4.0}, {"#0000ff", "#ffffff", 8.59}, {"#123456", "#123456", 1},
	} {
		a, okA := parseColour(c.a)
		b, okB := parseColour(c.b)
		if got := contrast(a, b); !okA || !okB || math.Abs(got-c.want) > 0.01 || got != contrast(b, a) {
			t.Errorf("contrast(%s, %s) = %.3f, want %.2f", c.a, c.b, got, c.want)
		}
	}
	for _, s := range []string{"", "#fff", "123456", "#12345g", "#1234567", "#-12345", "#+12345", "#12_345"} {
		if c, ok := parseColour(s); ok {
			t.Errorf("parseColour(%q) = %v, want none", s, c)
		}
	}
}
