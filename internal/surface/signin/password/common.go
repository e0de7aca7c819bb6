package password

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// commonPasswords are the passwords that people use most, from the list of zxcvbn (MIT licence),
// in lower case, sorted, one per line.
//
//go:embed common.txt
var commonPasswords string

var common = sync.OnceValue(func() []string { return strings.Fields(commonPasswords) })

// isCommon reports whether a password is common. It looks at the password in lower case, at the part from its first to
// its last letter, and at the shortest texts that, repeated, give these two: one of them is in the list, or has fewer
// than four bytes.
func isCommon(password string) bool {
	lower := strings.ToLower(password)
	core := strings.TrimFunc(lower, func(r rune) bool { return !unicode.IsLetter(r) })
	for _, p := range []string{lower, core, unit(lower), unit(core)} {
		if _, found := slices.BinarySearch(common(), p); found || len(p) < 4 {
			return true
		}
	}
	return false
}

// unit returns the shortest text that, repeated, is s.
func unit(s string) string {
	for n := 1; n <= len(s)/2; n++ {
		if len(s)%n == 0 && strings.Repeat(s[:n], len(s)/n) == s {
			return s[:n]
		}
	}
	return s
}
