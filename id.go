package allswell

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"time"
)

// Prefixes of the ids. An incident's id is a UUID instead (contract section 2).
const (
	PrefixComponent   = "comp_"
	PrefixDelivery    = "dlv_"
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

// idEncoding is lower-case base32 whose alphabet sorts like the bits it
// encodes, so that ids of one kind sort by the time they were made.
var idEncoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// NewID returns prefix and 20 lower-case base32 characters: 48 bits of now in
// milliseconds, then 52 random bits. It is unique, not secret.
func NewID(prefix string, now time.Time) string {
	var raw [13]byte // 104 bits; the last 4 fall off with the cut to 20 characters
	var stamp [8]byte
	binary.BigEndian.PutUint64(stamp[:], uint64(now.UnixMilli()))
	copy(raw[:6], stamp[2:])
	rand.Read(raw[6:])
	return prefix + idEncoding.EncodeToString(raw[:])[:20]
}
