package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/shared/hostname"
	"github.com/allswell/allswell/internal/shared/timeinput"
	"golang.org/x/net/idna"
)

// The functions below parse one value each, for Parse. Their errors say what is accepted.

// ListenAddress parses HOST:PORT or :PORT. It returns "" for the empty value.
func ListenAddress(value string) (string, error) {
	if value == "" {
		return "", nil
	}
	host, port, err := net.SplitHostPort(value)
	n, errPort := strconv.ParseUint(port, 10, 16)
	if err != nil || errPort != nil || strings.ContainsAny(host, "/ \t") {
		return "", errors.New("HOST:PORT or :PORT, such as 127.0.0.1:8080 or :8080, with a port from 0 to 65535")
	}
	return net.JoinHostPort(host, strconv.FormatUint(n, 10)), nil
}

// LocalURL returns the URL of a server that listens on HOST:PORT, for clients on its machine.
func LocalURL(address string) string {
	host, port, _ := net.SplitHostPort(address)
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// OptionalListenAddress is ListenAddress for settings that also accept "off", for which it returns "".
func OptionalListenAddress(value string) (string, error) {
	if strings.EqualFold(value, "off") {
		return "", nil
	}
	address, err := ListenAddress(value)
	if err != nil {
		err = errors.New("off, or HOST:PORT or :PORT, such as :80, with a port from 0 to 65535")
	}
	return address, err
}

// HTTPURL parses an http or https URL. It returns "" for the empty value.
func HTTPURL(value string) (string, error) {
	u, err := url.Parse(value)
	if value != "" &&
		(err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil) {
		return "", errors.New("an http:// or https:// URL, such as https://www.example.com/path")
	}
	return value, nil
}

// ServerAddress parses the HOST:PORT of a server to connect to. It returns "" for the empty value.
func ServerAddress(value string) (string, error) {
	value, ok := hostname.InHostPort(value)
	address, err := ListenAddress(value)
	if host, port, _ := net.SplitHostPort(address); err == nil && address != "" && (!ok || host == "" || port == "0") {
		return "", errors.New("HOST:PORT, such as 192.0.2.53:53")
	}
	return address, err
}

// BaseURL parses an http or https URL without a path. It returns "" for the empty value.
func BaseURL(value string) (string, error) {
	if value == "" {
		return "", nil
	}
	value, ok := hostname.InURL(value)
	u, err := url.Parse(value)
	if !ok || err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return "", errors.New("an http:// or https:// address without a path, such as https://status.example.com")
	}
	return u.Scheme + "://" + u.Host, nil
}

// HostNames parses host names separated by commas. It returns them in lower case and ASCII (xn--…), as browsers
// send them, without ports.
func HostNames(value string) ([]string, error) {
	var names []string
	for entry := range strings.SplitSeq(value, ",") {
		name, ok := ASCIIHost(strings.TrimSpace(entry))
		if ok && !strings.HasPrefix(name, "[") { // certificates have no underscores and the like
			_, err := idna.Lookup.ToASCII(name)
			ok = err == nil
		}
		if !ok {
			return nil, errors.New("host names separated by commas, such as status.example.net, localhost")
		}
		names = append(names, name)
	}
	return names, nil
}

// CallingCodes parses country calling codes, separated by commas, with or without +. Longer prefixes, of up to 7
// digits, are accepted too.
func CallingCodes(value string) ([]string, error) {
	var codes []string
	for entry := range strings.SplitSeq(value, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		code := strings.TrimPrefix(entry, "+")
		if len(code) < 1 || len(code) > 7 || code[0] == '0' || strings.Trim(code, "0123456789") != "" {
			return nil, errors.New("country calling codes separated by commas, such as 49,43,41")
		}
		codes = append(codes, code)
	}
	return codes, nil
}

// ASCIIHost returns a host name in lower case and ASCII (xn--…), without a port and without a final dot. An IPv6
// address keeps its brackets. If the name has no ASCII form, ok is false.
func ASCIIHost(host string) (name string, ok bool) {
	if strings.ContainsAny(host, "/@ ") {
		return host, false
	}
	name = statuspage.HostName(host)
	if strings.HasPrefix(name, "[") || name == "" {
		return name, true
	}
	name, ok = hostname.ASCII(name)
	return strings.ToLower(name), ok
}

// HelloName parses the name of this machine for EHLO. It returns "" for the empty value.
func HelloName(value string) (string, error) {
	name := hostname.Hello(value)
	if value != "" && (name == "" || !statuspage.ValidDomain(strings.ToLower(name))) {
		return "", errors.New("a host name with a dot, such as mail.example.com")
	}
	return name, nil
}

// BootstrapToken parses the secret of an API token. It returns "" for the empty value.
func BootstrapToken(value string) (string, error) {
	if value != "" && account.CheckBootstrapToken(value) != nil {
		return "", fmt.Errorf("at least %d printable ASCII characters without spaces", account.MinBootstrapTokenLength)
	}
	return value, nil
}

// Seconds returns a function that parses a duration of whole seconds between two bounds.
func Seconds(least, most time.Duration) func(string) (time.Duration, error) {
	return func(value string) (time.Duration, error) {
		d, err := time.ParseDuration(value)
		if err != nil || d < least || d > most || d%time.Second != 0 {
			return 0,
				fmt.Errorf("a duration in whole seconds from %s to %s, such as 30s or 1m", ShortDuration(least),
					ShortDuration(most))
		}
		return d, nil
	}
}

// Days returns a function that parses a duration between two numbers of days, written in days ("400d") or as
// time.ParseDuration accepts it ("48h").
func Days(least, most int) func(string) (time.Duration, error) {
	const day = 24 * time.Hour
	return func(value string) (time.Duration, error) {
		d, err := time.ParseDuration(value)
		if days, ok := strings.CutSuffix(value, "d"); ok {
			var n int
			n, err = strconv.Atoi(days)
			d = time.Duration(max(-1, min(n, most+1))) * day
		}
		if err != nil || d < time.Duration(least)*day || d > time.Duration(most)*day {
			return 0, fmt.Errorf("a duration from %dd to %dd, such as 400d or 48h", least, most)
		}
		return d, nil
	}
}

// ZeroOrDays is Days for settings that also accept 0.
func ZeroOrDays(least, most int) func(string) (time.Duration, error) {
	return func(value string) (time.Duration, error) {
		if value == "0" {
			return 0, nil
		}
		d, err := Days(least, most)(value)
		if err != nil {
			err = fmt.Errorf("0 or %w", err)
		}
		return d, err
	}
}

// ShortDuration writes a duration without its zero units, as settings and flags accept it: "1h", "1m30s".
func ShortDuration(d time.Duration) string { return timeinput.Duration(d).String() }

// Integer returns a function that parses a whole number between two bounds.
func Integer(least, most int) func(string) (int, error) {
	return func(value string) (int, error) {
		n, err := strconv.Atoi(value)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("a whole number from %d to %d", least, most)
		}
		return n, nil
	}
}

// ZeroOrInteger is Integer for settings that also accept 0.
func ZeroOrInteger(least, most int) func(string) (int, error) {
	return func(value string) (int, error) {
		n, err := strconv.Atoi(value)
		if err != nil || n != 0 && (n < least || n > most) {
			return 0, fmt.Errorf("0 or a whole number from %d to %d", least, most)
		}
		return n, nil
	}
}

// minSize is the least that Size accepts.
const minSize = 64 << 20

// Size parses a number of bytes with the unit MiB or GiB. It returns 0 for the empty value.
func Size(value string) (int64, error) {
	if value == "" {
		return 0, nil
	}
	for unit, bytes := range map[string]int64{"MiB": 1 << 20, "GiB": 1 << 30} {
		digits, ok := strings.CutSuffix(value, unit)
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 32)
		if ok && err == nil && n*bytes >= minSize {
			return n * bytes, nil
		}
	}
	return 0, errors.New("a size of at least 64MiB, such as 512MiB or 2GiB")
}

// Networks parses addresses and networks separated by commas.
func Networks(value string) ([]netip.Prefix, error) {
	networks, err := clientaddr.ParseNetworks(value)
	if err != nil {
		return nil,
			errors.New("addresses or networks separated by commas, such as 10.0.0.0/8, 192.0.2.1, 2001:db8::/32")
	}
	return networks, nil
}

// ClientIPHeader parses the name of a request header that proxies set to the client's address.
func ClientIPHeader(value string) (string, error) { return OneOf(clientaddr.Headers()...)(value) }

// MailServer parses an smtp or smtps URL. It returns nil for the empty value.
func MailServer(value string) (*url.URL, error) {
	if value == "" {
		return nil, nil
	}
	ascii, ok := hostname.InURL(value)
	u, err := url.Parse(ascii)
	if !ok || err != nil || (u.Scheme != "smtp" && u.Scheme != "smtps") || u.Hostname() == "" ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil,
			errors.New("smtp://user:password@host:587 or smtps://user:password@host:465, with %-escapes for special " +
				"characters")
	}
	return u, nil
}

// MailAddress parses an email address with or without a name. It returns nil for the empty value.
func MailAddress(value string) (*mail.Address, error) {
	if value == "" {
		return nil, nil
	}
	address, err := mail.ParseAddress(value)
	if err != nil {
		return nil, errors.New("a mail address, such as status@example.com or Example Status <status@example.com>")
	}
	return address, nil
}

// Contact parses a mail address or an https address. It returns a URI, or "" if the value is empty.
func Contact(value string) (string, error) {
	if value == "" {
		return "", nil
	}
	u, err := url.Parse(value)
	if err == nil && u.Scheme == "https" && u.Host != "" && !strings.ContainsAny(value, " \t\r\n") {
		return value, nil
	}
	if address, err := mail.ParseAddress(strings.TrimPrefix(value, "mailto:")); err == nil && address.Name == "" {
		return "mailto:" + address.Address, nil
	}
	return "", errors.New("a mail address or an https:// address, such as security@example.com")
}

// switches are the accepted values of switches.
var switches = map[string]bool{"on": true, "true": true, "1": true, "off": false, "false": false, "0": false}

// AbsolutePath parses the absolute path of a file, which need not exist. It returns "" for the empty value.
func AbsolutePath(value string) (string, error) {
	if value != "" && !filepath.IsAbs(value) {
		return "", errors.New("an absolute path, such as /usr/local/bin/alert")
	}
	return value, nil
}

// Switch parses a setting that is either on or off.
func Switch(value string) (bool, error) {
	on, ok := switches[strings.ToLower(value)]
	if !ok {
		return false, errors.New("on or off (or true, false, 1, 0)")
	}
	return on, nil
}

// OneOf returns a function that parses one of some words, in upper or lower case. It returns the word as listed.
func OneOf(words ...string) func(string) (string, error) {
	return func(value string) (string, error) {
		i := slices.IndexFunc(words, func(word string) bool { return strings.EqualFold(word, value) })
		if i < 0 {
			last := len(words) - 1
			return "", errors.New(strings.Join(words[:last], ", ") + " or " + words[last])
		}
		return words[i], nil
	}
}

// logLevels are the accepted log levels.
var logLevels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// LogLevel parses the name of a log level.
func LogLevel(value string) (slog.Level, error) {
	byLevel := func(a, b string) int { return int(logLevels[a] - logLevels[b]) }
	word, err := OneOf(slices.SortedFunc(maps.Keys(logLevels), byLevel)...)(value)
	return logLevels[word], err
}
