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
	var raw [13]byte // 104 bits; the last 4 are cut off
	var stamp [8]byte
	binary.BigEndian.PutUint64(stamp[:], uint64(now.UnixMilli()))
	copy(raw[:6], stamp[2:])
	rand.Read(raw[6:])
	return prefix + idEncoding.EncodeToString(raw[:])[:20]
}
