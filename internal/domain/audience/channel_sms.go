package audience

import (
	"regexp"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// MaxSMSSignUps is how often visitors can sign up with one phone number in a UTC day, on all pages together.
const MaxSMSSignUps = 5

// phoneNumber matches a number in the format of E.164.
var phoneNumber = regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`)

// checkPhone returns a phone number in the format of E.164: + and 7 to 15 digits that begin with a country's calling
// code. It removes spaces and punctuation between the digits, and the invisible direction marks that address books add.
// It adds an error to bad if the number is not valid.
func checkPhone(bad *kernel.ValidationError, field, number string) string {
	if strings.TrimSpace(number) == "" {
		bad.Add(field, kernel.Required)
		return ""
	}
	number = strings.ReplaceAll(number, "(0)", "") // the trunk prefix, which is dialled only within the country
	number = strings.Map(phoneRune, number)
	if rest, ok := strings.CutPrefix(number, "00"); ok {
		number = "+" + rest
	}
	if !phoneNumber.MatchString(number) {
		bad.Add(field, "must be a phone number with its country code, such as +4915112345678")
		return ""
	}
	return number
}

// phoneRune maps Arabic and Persian digits to ASCII, and returns -1 for spaces, punctuation and direction marks, which
// strings.Map removes.
func phoneRune(r rune) rune {
	switch {
	case r >= '٠' && r <= '٩': // Arabic
		return r - '٠' + '0'
	case r >= '۰' && r <= '۹': // Persian and Urdu
		return r - '۰' + '0'
	case strings.ContainsRune(" \t\u00a0\u202f-\u2010\u2011\u2012\u2013./()", r), r >= '\u200b' && r <= '\u200f',
		r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return -1
	}
	return r
}

// InCountries reports whether a valid phone number begins with one of the calling codes, such as "49". Without codes it
// is always true.
func InCountries(number string, codes []string) bool {
	return len(codes) == 0 || slices.ContainsFunc(codes, func(code string) bool {
		return strings.HasPrefix(number, "+"+code)
	})
}
