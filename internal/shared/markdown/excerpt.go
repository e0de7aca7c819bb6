package markdown

import (
	"strings"
	"unicode/utf8"
)

const (
	// MaxExcerpt is the maximum length of an Excerpt in characters, without the ellipsis.
	MaxExcerpt = 280
	// ExcerptSource is the number of characters of a text that Excerpt reads.
	ExcerptSource = 1_000
)

// Excerpt returns the beginning of a text as one line, cut between words if possible.
func Excerpt(text string) string {
	source := Prefix(text, ExcerptSource)
	line := Prose(source)
	runes := []rune(line)
	switch {
	case len(runes) <= MaxExcerpt && len(source) == len(text):
		return line
	case len(runes) <= MaxExcerpt:
		return line + "…"
	}
	cut := string(runes[:MaxExcerpt])
	if space := strings.LastIndexByte(cut, ' '); space > len(cut)/2 {
		cut = cut[:space]
	}
	return cut + "…"
}

// Prefix returns the first n characters of a text.
func Prefix(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i]
		}
	}
	return text
}

// Clip shortens a line that has more than limit characters. A shortened line ends with an ellipsis.
func Clip(line string, limit int) string {
	if utf8.RuneCountInString(line) <= limit {
		return line
	}
	return strings.TrimRight(string([]rune(line)[:limit-1]), " ") + "…"
}
