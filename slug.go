package allswell

import (
	"fmt"
	"slices"
	"strings"
)

// MaxSlugLength is the maximum length of a slug.
const MaxSlugLength = 63

// ValidSlug reports whether s matches [a-z0-9-]{1,63}. Ids contain an underscore, so no id is a valid slug.
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

// checkSlug adds an error if slug is empty or not valid.
func checkSlug(bad *ValidationError, slug string) {
	if slug == "" {
		bad.Add("slug", "The slug field is required.")
	} else {
		checkOptionalSlug(bad, slug)
	}
}

// checkOptionalSlug is checkSlug for a slug that is made from the name if it is empty.
func checkOptionalSlug(bad *ValidationError, slug string) {
	if slug != "" && !ValidSlug(slug) {
		bad.Add("slug", "The slug may only have lower-case letters, digits and hyphens, at most %d.", MaxSlugLength)
	}
}

// SlugOf returns the slug that is made from a name: its ASCII letters, in lower case, and digits; hyphens take the
// place of everything between them. A name without any gets fallback.
func SlugOf(name, fallback string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	slug := strings.Join(words, "-")
	slug = strings.TrimRight(slug[:min(len(slug), MaxSlugLength)], "-")
	if slug == "" {
		return fallback
	}
	return slug
}

// FreeSlug returns slug if it is not in taken, and otherwise slug with the lowest number, from 2 on, that makes it
// free: api, api-2, api-3.
func FreeSlug(slug string, taken []string) string {
	free := slug
	for n := 2; slices.Contains(taken, free); n++ {
		free = NumberedSlug(slug, n)
	}
	return free
}

// NumberedSlug returns slug with a number. A long slug is cut off for it.
func NumberedSlug(slug string, n int) string {
	number := fmt.Sprintf("-%d", n)
	return slug[:min(len(slug), MaxSlugLength-len(number))] + number
}
