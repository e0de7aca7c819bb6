// Package spelling finds the name that a misspelled one may mean.
package spelling

import (
	"slices"
	"strings"
)

// minPrefix is the minimum length of a name that can be an abbreviation of another.
const minPrefix = 3

// Closest returns the known name that name may be a misspelling or an abbreviation of, or "". Upper and lower case,
// underscores and hyphens make no difference. At most a third of the letters may be wrong, or one in short names.
func Closest(name string, known []string) string {
	best, least := "", 0
	given := plainName(name)
	for _, candidate := range slices.Sorted(slices.Values(known)) {
		plain := plainName(candidate)
		distance := editDistance(given, plain)
		if len(given) >= minPrefix && strings.HasPrefix(plain, given) {
			distance = min(distance, 1)
		}
		if distance <= max(1, len(plain)/3) && (best == "" || distance < least) {
			best, least = candidate, distance
		}
	}
	return best
}

// plainName returns the same text for componentId, component-id and component_id.
func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// editDistance returns the number of insertions, deletions, replacements and swaps of adjacent bytes that turn a into
// b.
func editDistance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
