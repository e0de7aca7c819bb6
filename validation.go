package allswell

import (
	"strings"
	"unicode/utf8"
)

// The longest texts taken, in characters. Title: contract section 8; the
// others: design section 4.
const (
	MaxTitleLength       = 255
	MaxNameLength        = 255
	MaxDescriptionLength = 1_000
	MaxMessageLength     = 25_000
)

// MaxUpdates is the most updates that people can add to one incident or one
// maintenance. What the service adds by itself, a recovery for instance, is
// always added.
const MaxUpdates = 1_000

// What one page can have at most. A page shows all of its groups and components,
// and loads all of its open incidents and maintenances; those of monitors do not
// count, because an outage has to be told whatever else there is.
const (
	MaxComponents       = 500
	MaxGroups           = 100
	MaxOpenIncidents    = 200 // opened by people and not resolved
	MaxOpenMaintenances = 200 // not completed
)

// CheckLimit refuses one more of something of which a page already has count, and
// can have most. field is the one whose error says so; what is in the plural.
func CheckLimit(field, what string, count, most int) error {
	if count < most {
		return nil
	}
	var bad ValidationError
	bad.Add(field, "A page can have no more than %d %s.", most, what)
	return bad.Err()
}

// CheckUpdates refuses a further update of an incident or a maintenance that
// already has the given number of them.
func CheckUpdates(written int) error {
	if written < MaxUpdates {
		return nil
	}
	var bad ValidationError
	bad.Add("message", "No more than %d updates can be added to one timeline.", MaxUpdates)
	return bad.Err()
}

// CheckText complains in bad if text is blank, longer than most characters, or
// holds what no database of ours can store.
func CheckText(bad *ValidationError, field, text string, most int) {
	if strings.TrimSpace(text) == "" {
		bad.Add(field, "The %s field is required.", field)
		return
	}
	CheckLength(bad, field, text, most)
}

// CheckLength is CheckText for a text that may be blank.
func CheckLength(bad *ValidationError, field, text string, most int) {
	if utf8.RuneCountInString(text) > most {
		bad.Add(field, "The %s may not be longer than %d characters.", field, most)
	}
	if strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
		bad.Add(field, "The %s must be text without NUL characters.", field)
	}
}

// list joins the values of an enumeration for a sentence.
func joinValues[T ~string](values []T) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return strings.Join(words, ", ")
}
