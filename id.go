package allswell

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"time"
)

// Prefixes of ids. The id of an incident is a UUID instead.
const (
	PrefixComponent   = "comp_"
	PrefixDelivery    = "dlv_"
	PrefixAuditEntry  = "aud_"
	PrefixEvent       = "evt_"
	PrefixGroup       = "grp_"
	PrefixMaintenance = "mnt_"
	PrefixMonitor     = "mon_"
	PrefixOutage      = "out_"
	PrefixPage        = "page_"
	PrefixSignUp      = "sgn_"
	PrefixSubscriber  = "sub_"
	PrefixToken       = "tok_"
	PrefixUpdate      = "upd_"
	PrefixWorkspace   = "ws_"
)

// idEncoding is lower-case base32 with an alphabet in ASCII order, so that ids with one prefix
// sort by the time they were created.
var idEncoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// NewID returns prefix followed by 20 lower-case base32 characters: now in milliseconds (48 bits)
// and 52 random bits. Ids are unique but not secret.
func NewID(prefix string, now time.Time) string {
	return encodeID(prefix, now, randomBits())
}

// IDSequence makes ids that sort in the order in which they were made, also within one
// millisecond: the first has random bits, and each following one the next number. The zero
// IDSequence is ready for use, by one goroutine.
type IDSequence struct {
	begun bool
	next  uint64
}

// NewID is like the function NewID. now must not go back.
func (s *IDSequence) NewID(prefix string, now time.Time) string {
	if !s.begun {
		s.begun, s.next = true, randomBits()>>1 // half of the numbers, so that there are enough larger ones
	}
	id := encodeID(prefix, now, s.next)
	s.next++
	return id
}

// randomBits returns a random number of 52 bits.
func randomBits() uint64 {
	var raw [8]byte
	rand.Read(raw[:])
	return binary.BigEndian.Uint64(raw[:]) >> 12
}

// encodeID returns an id with the lowest 52 bits of number.
func encodeID(prefix string, now time.Time, number uint64) string {
	var raw [16]byte // 48 bits of time, 52 of the number; the rest is cut off
	binary.BigEndian.PutUint64(raw[:8], uint64(now.UnixMilli())<<16)
	binary.BigEndian.PutUint64(raw[6:14], number<<12)
	return prefix + idEncoding.EncodeToString(raw[:13])[:20]
}
