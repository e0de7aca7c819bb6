package kernel

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// MaxSlugLength is the maximum length of a slug.
const MaxSlugLength = 63

// ValidSlug reports whether s matches [a-z0-9-]{1,63}. No id is a valid slug, because ids contain an underscore.
func ValidSlug(s string) bool {
	if len(s) < 1 || len(s) > MaxSlugLength {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// CheckSlug adds an error if slug is empty or not valid.
func CheckSlug(bad *ValidationError, slug string) {
	if slug == "" {
		bad.Add("slug", Required)
	} else {
		CheckOptionalSlug(bad, slug)
	}
}

// CheckOptionalSlug is like CheckSlug but accepts "", in which case the slug is made from the name.
func CheckOptionalSlug(bad *ValidationError, slug string) {
	if slug != "" && !ValidSlug(slug) {
		bad.Add("slug", "may only have lower-case letters, digits and hyphens, at most %d", MaxSlugLength)
	}
}

// SlugOf makes a slug from a name: its Latin letters and digits, in lower case and in ASCII, with hyphens in
// place of everything else. It returns fallback for a name without Latin letters and digits.
func SlugOf(name, fallback string) string {
	words := strings.FieldsFunc(ToASCII(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	slug := strings.Join(words, "-")
	slug = strings.TrimRight(slug[:min(len(slug), MaxSlugLength)], "-")
	if slug == "" {
		return fallback
	}
	return slug
}

// latinLetters are the letters in lower case that are written as a, b, and so on in a slug. Umlauts only lose their
// dots, as in most slug libraries: in most languages ä is not ae.
var latinLetters = map[string]string{
	"a": "àáâãäåāăąǎǟǡǻȁȃȧḁẚạảấầẩẫậắằẳẵặ", "ae": "æǣǽ", "b": "ƀḃḅḇ", "c": "çćĉċčƈḉ", "d": "ðďđɖɗḋḍḏḑḓ", "dz": "ǆǳ",
	"e": "èéêëēĕėęěǝəȅȇȩḕḗḙḛḝẹẻẽếềểễệ", "f": "ƒḟ", "g": "ĝğġģǥǧǵɠḡ", "h": "ĥħȟḣḥḧḩḫẖ", "i": "ìíîïĩīĭįıǐȉȋḭḯỉị",
	"ij": "ĳ", "j": "ĵǰ", "k": "ķĸƙǩḱḳḵ", "l": "ĺļľŀłḷḹḻḽ", "lj": "ǉ", "m": "ḿṁṃ", "n": "ñńņňŉŋǹɲṅṇṉṋ", "nj": "ǌ",
	"o": "òóôõöøōŏőơǒǫǭǿȍȏȫȭȯȱɔṍṏṑṓọỏốồổỗộớờởỡợ", "oe": "œ", "p": "ƥṕṗ", "r": "ŕŗřȑȓṙṛṝṟ", "s": "śŝşšſșṡṣṥṧṩẛ",
	"ss": "ß", "t": "ţťŧƭțṫṭṯṱẗ", "th": "þ", "u": "ùúûüũūŭůűųưǔǖǘǚǜȕȗṳṵṷṹṻụủứừửữự", "v": "ṽṿ", "w": "ŵẁẃẅẇẉẘ",
	"x": "ẋẍ", "y": "ýÿŷƴȳẏẙỳỵỷỹ", "z": "źżžƶẑẓẕ", "": "'’",
}

// latin replaces latinLetters.
var latin = func() *strings.Replacer {
	var pairs []string
	for ascii, letters := range latinLetters {
		for _, letter := range letters {
			pairs = append(pairs, string(letter), ascii)
		}
	}
	return strings.NewReplacer(pairs...)
}()

// ToASCII returns a text in lower case with its Latin letters written in ASCII, without marks and apostrophes. Other
// letters remain.
func ToASCII(text string) string {
	return latin.Replace(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, strings.ToLower(text)))
}

// FreeSlug returns slug if it is not in taken. Otherwise it appends the lowest number, from 2, that makes it free: api,
// api-2, api-3.
func FreeSlug(slug string, taken []string) string {
	free := slug
	for n := 2; slices.Contains(taken, free); n++ {
		free = NumberedSlug(slug, n)
	}
	return free
}

// NumberedSlug appends a number to slug, which it shortens if necessary.
func NumberedSlug(slug string, n int) string {
	number := fmt.Sprintf("-%d", n)
	return slug[:min(len(slug), MaxSlugLength-len(number))] + number
}
