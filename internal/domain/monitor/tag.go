package monitor

import (
	"regexp"
	"slices"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Limits of the tags of a monitor.
const (
	MaxTags      = 10
	MaxTagLength = 32
)

var tagForm = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)

// ValidTag reports whether tag consists of 1 to MaxTagLength lower-case letters, digits and hyphens.
func ValidTag(tag string) bool { return tagForm.MatchString(tag) }

// CheckTags accepts up to MaxTags valid tags. Repeated tags count once.
func CheckTags(bad *kernel.ValidationError, tags []string) {
	for _, tag := range tags {
		if !ValidTag(tag) {
			bad.Add("tags", "Each of the tags must have 1 to %d characters: lower-case letters, digits and hyphens.",
				MaxTagLength)
			return
		}
	}
	if len(SortTags(tags)) > MaxTags {
		bad.Add("tags", "may have at most %d items", MaxTags)
	}
}

// SortTags returns the tags in order, each once; nil if there are none.
func SortTags(tags []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(tags)))
}
