package notify

import (
	"sort"
	"strings"
	"unicode/utf16"
)

// The maximum length of an SMS: smsParts parts, which hold smsSeptets characters of the GSM alphabet. A text with any
// other character is sent as UTF-16, and has at most smsUnits code units (3GPP TS 23.038 and 23.040).
const (
	smsParts   = 3
	smsSeptets = smsParts * 153
	smsUnits   = smsParts * 67
)

// The characters of the GSM alphabet, and the characters of its extension, which count twice.
const (
	gsmBasic = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ " +
		"!\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
	gsmExtra = "^{}\\[~]|€"
)

// gsmFriendly replaces typographic characters, and removes direction marks and zero-width characters. A single one of
// them would more than halve the maximum length of an SMS.
var gsmFriendly = strings.NewReplacer(
	"‘", "'", "’", "'", "‚", "'", "‛", "'", "“", `"`, "”", `"`, "„", `"`, "«", `"`, "»", `"`, "‹", "'", "›", "'", "`",
	"'",
	"–", "-", "—", "-", "‐", "-", "‑", "-", "−", "-", "…", "...", "·", "-", "•", "-", "\u00a0", " ", "\u202f", " ",
	"\u2009", " ", "\t", " ", "\u200b", "", "\u200e", "", "\u200f", "", "\u061c", "", "\u2066", "", "\u2067", "",
	"\u2068", "", "\u2069", "", "\u202a", "", "\u202b", "", "\u202c", "", "\u2060", "", "\ufeff", "",
)

// fitsSMS reports whether a text fits in an SMS of at most smsParts parts.
func fitsSMS(text string) bool {
	septets := 0
	for _, r := range text {
		switch {
		case strings.ContainsRune(gsmBasic, r):
			septets++
		case strings.ContainsRune(gsmExtra, r):
			septets += 2
		default:
			return len(utf16.Encode([]rune(text))) <= smsUnits
		}
	}
	return septets <= smsSeptets
}

// fitSMS returns a text followed by lines, such as links. It cuts the text, but never the lines, to fit the SMS into
// smsParts parts.
func fitSMS(text string, lines ...string) string {
	text = gsmFriendly.Replace(text)
	tail := gsmFriendly.Replace("\n" + strings.Join(lines, "\n"))
	if fitsSMS(text + tail) {
		return text + tail
	}
	runes := []rune(text)
	first := func(n int) string { return strings.TrimRight(string(runes[:n]), " \n") + "..." + tail }
	n := sort.Search(len(runes), func(n int) bool { return !fitsSMS(first(n + 1)) })
	return first(n)
}
