package kernel

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Maximum lengths of texts, in characters.
const (
	MaxTitleLength       = 255
	MaxNameLength        = 255
	MaxDescriptionLength = 1_000
	MaxMessageLength     = 25_000
)

// MaxUpdates is the maximum number of updates that people can add to one incident or maintenance.
// Updates written by the service are always added.
const MaxUpdates = 1_000

// Maximum numbers of objects on one page. Incidents opened by monitors do not count, because an
// outage must always be reported.
const (
	MaxComponents       = 500
	MaxGroups           = 100
	MaxOpenIncidents    = 200 // opened by people and not resolved
	MaxOpenMaintenances = 200 // not completed
)

// CheckLimit returns a *ValidationError for field if a page that has count objects cannot have
// another. what is their name in the plural.
func CheckLimit(field, what string, count, limit int) error {
	if count < limit {
		return nil
	}
	var bad ValidationError
	bad.Add(field, "A page can have no more than %d %s.", limit, what)
	return bad.Err()
}

// CheckUpdates returns a *ValidationError if an incident or maintenance with the given number of
// updates cannot have another.
func CheckUpdates(written int) error {
	if written < MaxUpdates {
		return nil
	}
	var bad ValidationError
	bad.Add("message", "No more than %d updates can be added to one timeline.", MaxUpdates)
	return bad.Err()
}

// CheckText adds an error to bad if text has no visible character, is longer than maxLength
// characters, or contains characters that cannot be stored.
func CheckText(bad *ValidationError, field, text string, maxLength int) {
	switch {
	case strings.TrimSpace(text) == "":
		bad.Add(field, Required)
	case !strings.ContainsFunc(text, isVisible):
		bad.Add(field, "must have a visible character")
	default:
		CheckLength(bad, field, text, maxLength)
	}
}

// CheckLine is CheckText for names, which are shown within other text: it also rejects the characters that OneLine
// removes.
func CheckLine(bad *ValidationError, field, text string, maxLength int) {
	CheckText(bad, field, text, maxLength)
	if !bad.Has(field) && strings.ContainsFunc(text, disruptsText) {
		bad.Add(field, "must be one line of text, without control characters, marks of direction and noncharacters")
	}
}

// CheckLines is CheckLength for comments, which may have line breaks and tabs: it also rejects the other characters
// that OneLine removes.
func CheckLines(bad *ValidationError, field, text string, maxLength int) {
	CheckLength(bad, field, text, maxLength)
	if !bad.Has(field) &&
		strings.ContainsFunc(strings.NewReplacer("\r\n", "", "\n", "", "\t", "").Replace(text), disruptsText) {
		bad.Add(field, "must be text without control characters, marks of direction and noncharacters")
	}
}

// OneLine removes line breaks, control characters, direction marks and noncharacters from a name whose author cannot be
// asked to correct it. It returns "" if nothing visible is left.
func OneLine(text string) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if disruptsText(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "")))
	if !strings.ContainsFunc(text, isVisible) {
		return ""
	}
	return text
}

// disruptsText reports whether r breaks the line, changes the direction of the text after it, or is a noncharacter,
// such as U+FFFE, which XML and other formats forbid. It accepts the zero-width characters U+200B, U+200C and U+200D,
// because names in Khmer, Thai and Persian need them.
func disruptsText(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Noncharacter_Code_Point)
}

// isVisible reports whether r can be seen on its own: a link with invisible text cannot be followed.
func isVisible(r rune) bool {
	const brailleBlank = '\u2800'
	return r != brailleBlank && !unicode.IsSpace(r) &&
		!unicode.In(r, unicode.Cc, unicode.Cf, unicode.Z, unicode.Other_Default_Ignorable_Code_Point,
			unicode.Variation_Selector)
}

// CheckLength is like CheckText but accepts text without visible characters.
func CheckLength(bad *ValidationError, field, text string, maxLength int) {
	if utf8.RuneCountInString(text) > maxLength {
		bad.Add(field, "may not be longer than %d characters", maxLength)
	}
	if strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
		bad.Add(field, "must be text without NUL characters")
	}
}

// JoinValues lists the values of an enumeration, separated by commas.
func JoinValues[T ~string](values []T) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return strings.Join(words, ", ")
}

// CheckPort reports whether the port of a URL, if it has one, is from 1 to 65535. Otherwise it adds a message.
func CheckPort(bad *ValidationError, field string, u *url.URL) bool {
	if u.Port() == "" {
		return true
	}
	port, err := strconv.Atoi(u.Port())
	if err == nil && 1 <= port && port <= 65535 {
		return true
	}
	bad.Add(field, "has the port %s: ports are from 1 to 65535", u.Port())
	return false
}
