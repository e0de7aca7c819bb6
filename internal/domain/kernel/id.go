package kernel

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strings"
	"time"
)

// Prefixes of ids. The id of an incident is a UUID instead.
const (
	PrefixAnnouncement     = "ann_"
	PrefixComponent        = "comp_"
	PrefixDelivery         = "dlv_"
	PrefixAuditEntry       = "aud_"
	PrefixEvent            = "evt_"
	PrefixGroup            = "grp_"
	PrefixIncidentTemplate = "tpl_"
	PrefixInvitation       = "inv_"
	PrefixMaintenance      = "mnt_"
	PrefixMonitor          = "mon_"
	PrefixNote             = "note_"
	PrefixOutage           = "out_"
	PrefixPage             = "page_"
	PrefixPasskey          = "pky_"
	PrefixPing             = "ping_"
	PrefixSession          = "ses_"
	PrefixSignal           = "sig_"
	PrefixSignUp           = "sgn_"
	PrefixSubscriber       = "sub_"
	PrefixToken            = "tok_"
	PrefixUpdate           = "upd_"
	PrefixUser             = "usr_"
	PrefixWarning          = "warn_"
	PrefixWorkspace        = "ws_"
)

// idLength is the length of an id without its prefix.
const idLength = 20

// IDEncoding is lower-case base32 with an alphabet in ASCII order, so that ids with one prefix
// sort by the time they were created.
var IDEncoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// ValidID reports whether id has the form of an id that NewID returns for prefix.
func ValidID(prefix, id string) bool {
	rest, ok := strings.CutPrefix(id, prefix)
	return ok && len(rest) == idLength && strings.Trim(rest, "0123456789abcdefghijklmnopqrstuv") == ""
}

// NewID returns prefix followed by 20 lower-case base32 characters: now in milliseconds (48 bits)
// and 52 random bits. Ids are unique but not secret.
func NewID(prefix string, now time.Time) string {
	var raw [15]byte // 48 bits of time, 52 random; the rest is cut off
	binary.BigEndian.PutUint64(raw[:8], uint64(now.UnixMilli())<<16)
	rand.Read(raw[6:])
	return encodeID(prefix, raw)
}

// PingID returns the id of a monitor's plain ping at a time in microseconds since 1970, which identifies it.
func PingID(at int64, monitorID string) string {
	monitor := sha256.Sum256([]byte(monitorID))
	var raw [15]byte
	binary.BigEndian.PutUint64(raw[:8], uint64(at/1000)<<16|uint64(at%1000)<<6)
	raw[7] |= monitor[0] & 0x3f
	copy(raw[8:], monitor[1:])
	return encodeID(PrefixPing, raw)
}

// NewIDAfter is like NewID but returns an id that sorts after last, which has the same prefix, also
// within a millisecond and if the clock went back. last may be "".
func NewIDAfter(last, prefix string, now time.Time) string {
	id := NewID(prefix, now)
	decoded, err := IDEncoding.DecodeString(strings.TrimPrefix(last, prefix) + "0000")
	if id > last || err != nil || len(decoded) != 15 {
		return id
	}
	raw := [15]byte(decoded)
	// A random step, because others may look for an id after last at the same time.
	var step [4]byte
	rand.Read(step[:])
	number := binary.BigEndian.Uint64(raw[5:13])
	sum := number + (1+uint64(binary.BigEndian.Uint32(step[:])))<<4 // the last 4 bits are cut off
	binary.BigEndian.PutUint64(raw[5:13], sum)
	for i := 4; sum < number && i >= 0; i-- { // carry
		raw[i]++
		if raw[i] != 0 {
			break
		}
	}
	return encodeID(prefix, raw)
}

// encodeID encodes the first 100 bits of raw.
func encodeID(prefix string, raw [15]byte) string {
	return prefix + IDEncoding.EncodeToString(raw[:])[:idLength]
}
