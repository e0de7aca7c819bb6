package jsonpath

import (
	"cmp"
	"strconv"
	"strings"
)

// number is an exact decimal number: 0.DIGITS times ten to the power of exponent.
type number struct {
	negative bool
	digits   string // without zeros at either end; "": 0
	exponent int64
}

// maxExponent is the maximum absolute value of an exponent. Larger ones are replaced by it.
const maxExponent = 1 << 60

// parseNumber parses a decimal number, which may also have leading zeros, a plus sign, or no digits on one side of the
// point.
func parseNumber(text string) (n number, ok bool) {
	text, n.negative = strings.CutPrefix(text, "-")
	if !n.negative {
		text = strings.TrimPrefix(text, "+")
	}
	mantissa, power := text, ""
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, power = text[:i], text[i+1:]
		if n.exponent, ok = parseExponent(power); !ok {
			return number{}, false
		}
	}
	integer, fraction, _ := strings.Cut(mantissa, ".")
	if integer+fraction == "" || !isDigits(integer) || !isDigits(fraction) {
		return number{}, false
	}
	digits := integer + fraction
	n.exponent += int64(len(integer))
	n.digits = strings.TrimLeft(digits, "0")
	n.exponent -= int64(len(digits) - len(n.digits))
	if n.digits = strings.TrimRight(n.digits, "0"); n.digits == "" {
		return number{}, true
	}
	return n, true
}

func parseExponent(text string) (int64, bool) {
	digits := strings.TrimLeft(text, "+-")
	if len(text)-len(digits) > 1 || digits == "" || !isDigits(digits) {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > maxExponent || n < -maxExponent {
		n = maxExponent
		if text[0] == '-' {
			n = -maxExponent
		}
	}
	return n, true
}

func isDigits(text string) bool { return strings.Trim(text, "0123456789") == "" }

// compare returns -1 if n is less than m, 1 if it is greater, and 0 if they are equal.
func (n number) compare(m number) int {
	a, b := n.sign(), m.sign()
	if a != b || a == 0 {
		return cmp.Compare(a, b)
	}
	return a * cmp.Or(cmp.Compare(n.exponent, m.exponent), strings.Compare(n.digits, m.digits))
}

func (n number) sign() int {
	switch {
	case n.digits == "":
		return 0
	case n.negative:
		return -1
	}
	return 1
}
