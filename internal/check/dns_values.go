package check

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/miekg/dns"

	"github.com/allswell/allswell/internal/shared/hostname"
)

// recordValues returns the values of the records of one type, as people write them.
func recordValues(answer *dns.Msg, qtype uint16) []string {
	var values []string
	for _, record := range answer.Answer {
		if record.Header().Rrtype == qtype && len(values) < maxDNSRecords {
			values = append(values, recordValue(record))
		}
	}
	return values
}

func recordValue(record dns.RR) string {
	switch v := record.(type) {
	case *dns.TXT: // several strings are one text, which the library escapes as zone files do
		return unescaped(strings.Join(v.Txt, ""))
	case *dns.CAA:
		return fmt.Sprintf("%d %s %s", v.Flag, v.Tag, v.Value)
	}
	return strings.TrimPrefix(record.String(), record.Header().String())
}

// missing returns a failure if an expected value is not among the values.
func (p *dnsProbe) missing(values []string) string {
	for _, expected := range p.ExpectedValues {
		if !slices.ContainsFunc(values, func(v string) bool { return isSameValue(p.RecordType, v, expected) }) {
			return "the answer does not have " + expected + ", but " + shortList(values)
		}
	}
	return ""
}

// isSameValue reports whether a record has an expected value, in any notation of it.
func isSameValue(kind, value, expected string) bool {
	switch kind {
	case "TXT": // which may have quotes and backslashes itself
		return value == expected || value == fromZoneFile(expected)
	case "CAA":
		return value == expected || normalCAA(value, false) == normalCAA(expected, true)
	}
	return normalValue(value) == normalValue(expected)
}

// normalValue returns the form in which the values of most types are compared: addresses, numbers and names by their
// meaning. Case and the dot after a name do not matter.
func normalValue(value string) string {
	words := strings.Fields(strings.Trim(strings.TrimSpace(value), `"`))
	for i, word := range words {
		words[i] = normalWord(word)
	}
	return strings.Join(words, " ")
}

func normalWord(word string) string {
	if addr, err := netip.ParseAddr(strings.Trim(word, "[]")); err == nil {
		return addr.Unmap().String()
	}
	if n, err := strconv.ParseUint(word, 10, 64); err == nil {
		return strconv.FormatUint(n, 10)
	}
	ascii, _ := hostname.ASCII(word)
	if ascii != "." {
		ascii = strings.TrimSuffix(ascii, ".")
	}
	return strings.ToLower(ascii)
}

// normalCAA returns a CAA record as its flag, its tag and its value, whose quotes only the notation of a zone file has.
func normalCAA(value string, isZoneFile bool) string {
	words := strings.Fields(value)
	if len(words) < 3 {
		return value
	}
	text := value
	for _, word := range words[:2] {
		text = strings.TrimSpace(strings.TrimSpace(text)[len(word):])
	}
	if isZoneFile {
		text = fromZoneFile(text)
	}
	text, parameters, _ := strings.Cut(text, ";")
	return normalWord(words[0]) + " " + strings.ToLower(words[1]) + " " + normalWord(strings.TrimSpace(text)) + ";" +
		strings.ToLower(strings.Join(strings.Fields(parameters), " "))
}

// fromZoneFile returns the text of one or several strings in the notation of a zone file: "a" "b" is ab. A text without
// quotes around it is one string.
func fromZoneFile(text string) string {
	text = strings.TrimSpace(text)
	if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
		return unescaped(text)
	}
	var joined strings.Builder
	inside := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			joined.WriteString(text[i : i+2])
			i++
		case c == '"':
			inside = !inside
		case inside:
			joined.WriteByte(c)
		case c != ' ' && c != '\t':
			return unescaped(text) // not the notation of a zone file
		}
	}
	return unescaped(joined.String())
}

// unescaped returns a text without the escapes of a zone file: \" is a quote, and \195 a byte.
func unescaped(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var out []byte
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out = append(out, text[i])
			continue
		}
		if i+3 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+4], 10, 8); err == nil {
				out, i = append(out, byte(n)), i+3
				continue
			}
		}
		i++
		out = append(out, text[i])
	}
	return string(out)
}
