package client

import (
	"encoding/json"
	"math"
	"time"
)

// Meta is embedded in every resource. It holds the resource as the server sent it, and its entity tag.
type Meta struct {
	raw     json.RawMessage
	etag    string
	created bool
}

// RawJSON returns the resource as the server sent it, with fields that this package does not know. It is nil for a
// resource that does not come from a server.
func (m *Meta) RawJSON() json.RawMessage { return m.raw }

// ETag returns the entity tag of a resource, for IfMatch. Get, Put, Change and Edit methods return resources with their
// entity tags. ETag is "" for all others, and for resources that have no entity tag, such as incidents and
// maintenances.
func (m *Meta) ETag() string { return m.etag }

func (m *Meta) keep(raw json.RawMessage) { m.raw = raw }

// Created reports whether the Create or Put method that returned the resource created it.
func (m *Meta) Created() bool { return m.created }

func (m *Meta) tag(etag string, created bool) { m.etag, m.created = etag, created }

// Nullable is a field of a change. The zero value leaves the field unchanged; [Set] and [Null] return values that set
// and clear it.
type Nullable[T any] struct {
	value *T
	given bool
}

// Set returns the change of a field to a value.
func Set[T any](value T) Nullable[T] { return Nullable[T]{&value, true} }

// Null returns the change that clears a field.
func Null[T any]() Nullable[T] { return Nullable[T]{given: true} }

// IsZero reports whether the field is left unchanged.
func (n Nullable[T]) IsZero() bool { return !n.given }

// MarshalJSON returns the value, or null.
func (n Nullable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(n.value) }

// UnmarshalJSON sets the change of a field to a value, or clears it if the value is null.
func (n *Nullable[T]) UnmarshalJSON(text []byte) error {
	n.given = true
	return json.Unmarshal(text, &n.value)
}

// Seconds is a duration in the API.
type Seconds int64

// SecondsOf returns a duration in whole seconds. Fractions are cut off.
func SecondsOf(d time.Duration) Seconds { return Seconds(d / time.Second) }

// Duration returns the duration.
func (s Seconds) Duration() time.Duration { return time.Duration(s) * time.Second }

// DecimalSeconds is a duration in the API that may have fractions of a second, down to milliseconds.
type DecimalSeconds float64

// DecimalSecondsOf returns a duration in seconds, rounded to milliseconds.
func DecimalSecondsOf(d time.Duration) DecimalSeconds {
	return DecimalSeconds(float64(d.Round(time.Millisecond)/time.Millisecond) / 1000)
}

// Duration returns the duration, rounded to microseconds.
func (s DecimalSeconds) Duration() time.Duration {
	return time.Duration(math.Round(float64(s)*1e6)) * time.Microsecond
}
