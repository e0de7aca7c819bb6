package kernel

import (
	"crypto/rand"
	"encoding/binary"
)

// Base62 is the alphabet of all secrets. It needs no escaping in URLs and shells, and a double click selects all of it.
const Base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Lengths of ping tokens, in characters. NewPingToken makes tokens of PingTokenLength; a monitor can also be created
// with a token of another service. No token has PingKeyLength.
const (
	PingTokenLength    = 32
	MinPingTokenLength = 16
	MaxPingTokenLength = 64
	PingKeyLength      = 22
)

// NewPingToken returns the secret part of a ping URL: 32 random base62 characters (190 bits).
func NewPingToken() string {
	out := make([]byte, 0, PingTokenLength)
	var raw [8]byte
	for len(out) < PingTokenLength {
		rand.Read(raw[:])
		// Rejecting values above the largest multiple of 62^10 keeps the characters uniform.
		const limit = 839299365868340224 // 62^10
		v := binary.BigEndian.Uint64(raw[:])
		if v >= (1<<64-1)/limit*limit {
			continue
		}
		for range 10 {
			if len(out) < PingTokenLength {
				out = append(out, Base62[v%62])
			}
			v /= 62
		}
	}
	return string(out)
}

// IsPingToken reports whether s has the form of a ping token: 16 to 64 ASCII letters, digits and hyphens, but not
// PingKeyLength. Other strings need no database lookup.
func IsPingToken(s string) bool {
	if len(s) < MinPingTokenLength || len(s) > MaxPingTokenLength || len(s) == PingKeyLength {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !IsBase62(c) && c != '-' {
			return false
		}
	}
	return true
}

// IsBase62 reports whether c is an ASCII letter or a digit.
func IsBase62(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}
