package kernel

import (
	"maps"
	"slices"
)

// SecretVersions counts how often each secret of an object was replaced, removed or added after the object was created,
// by the name of its field. Entity tags and the audit log use it to show such a change without the secret.
type SecretVersions map[string]int64

// Changed returns the versions after a change of some secrets. The versions of removed secrets stay, so that no version
// is used twice.
func (v SecretVersions) Changed(fields ...string) SecretVersions {
	if len(fields) == 0 {
		return v
	}
	next := maps.Clone(v)
	if next == nil {
		next = make(SecretVersions)
	}
	for _, field := range fields {
		next[field]++
	}
	return next
}

// changedSince returns the fields whose versions differ from earlier ones, in order.
func (v SecretVersions) changedSince(earlier SecretVersions) (fields []string) {
	for field, version := range v {
		if version != earlier[field] {
			fields = append(fields, field)
		}
	}
	slices.Sort(fields)
	return fields
}
