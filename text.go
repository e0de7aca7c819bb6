package allswell

import (
	"strings"
	"unicode/utf8"
)

// The longest texts taken, in characters. Title: contract section 8; the
// others: design section 4.
const (
	MaxTitle       = 255
	MaxName        = 255
	MaxDescription = 1_000
	MaxMessage     = 25_000
)

// CheckText complains in bad if text is blank, longer than most characters, or
// holds what no database of ours can store.
func CheckText(bad *Invalid, field, text string, most int) {
	if strings.TrimSpace(text) == "" {
		bad.Add(field, "The %s field is required.", field)
		return
	}
	CheckLength(bad, field, text, most)
}

// CheckLength is CheckText for a text that may be blank.
func CheckLength(bad *Invalid, field, text string, most int) {
	if utf8.RuneCountInString(text) > most {
		bad.Add(field, "The %s may not be longer than %d characters.", field, most)
	}
	if strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
		bad.Add(field, "The %s must be text without NUL characters.", field)
	}
}

// list joins the values of an enumeration for a sentence.
func list[T ~string](values []T) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return strings.Join(words, ", ")
}
