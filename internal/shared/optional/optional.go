// Package optional converts between values whose zero value means that there is none, and pointers that may be nil.
package optional

// Ptr returns a pointer to v, or nil if v is the zero value.
func Ptr[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// Value returns what p points to, or the zero value if p is nil.
func Value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
