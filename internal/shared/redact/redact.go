// Package redact removes secrets from responses of servers, which may repeat them: a debugging page shows headers, and
// an error names its URL.
package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mark is shown in place of a secret.
const Mark = "[secret]"

// CutMark ends a text that was cut.
const CutMark = "…"

// MinLength is the length of the shortest secret that is hidden: shorter ones would hide ordinary text.
const MinLength = 4

// minPart is the length of the shortest word of a path, or end of a text of several words, that is hidden on its own.
const minPart = 12

// Secrets are texts to hide, the longest first.
type Secrets []string

// New returns the given secrets, together with the forms in which documents write them. Texts shorter than MinLength
// are left out.
func New(values ...string) Secrets {
	all := slices.Clone(values)
	for _, text := range values {
		all = append(all, strings.Join(strings.Fields(text), " "))
		for _, write := range inDocuments {
			all = append(all, write(text))
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	all = slices.DeleteFunc(all, func(s string) bool { return len(s) < MinLength })
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// Hide returns a text without the secrets.
func (s Secrets) Hide(text string) string {
	const hidden = "\ufdd0" // no character; Mark itself may contain a secret
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	return strings.ReplaceAll(text, hidden, Mark)
}

// HideCut is Hide for a text that was cut. It also removes the end, which may have the beginning of a secret.
func (s Secrets) HideCut(text string) string { return CutEnd(s, s.Hide(text)) }

// HideShortened is Hide for a text with shortened parts. A shortened part is the beginning of a text, followed by
// CutMark.
func (s Secrets) HideShortened(text string) string {
	parts := strings.Split(s.Hide(text), CutMark)
	for i := range parts[:len(parts)-1] {
		parts[i] = CutEnd(s, parts[i])
	}
	return strings.Join(parts, CutMark)
}

// CutEnd removes the end of a text that was cut: one byte less than the longest secret has, whatever it contains. If
// only the beginnings of secrets were removed, somebody who chooses the text could guess a secret, one character after
// the other.
func CutEnd[T string | []byte](secrets Secrets, text T) T {
	if len(secrets) == 0 {
		return text
	}
	end := max(0, len(text)-len(secrets[0])+1)
	for end > 0 && end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// inDocuments are the ways in which pages write a text: in HTML, in JSON and in URLs.
var inDocuments = []func(string) string{
	html.EscapeString,
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;").Replace,
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#039;").Replace,
	strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace,
	strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace,
	strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "/", `\/`).Replace,
	strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "&", `\u0026`, "<", `\u003c`, ">", `\u003e`).Replace,
	url.QueryEscape,
	url.PathEscape,
	func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") },
	func(s string) string { return inSmallLetters(url.QueryEscape(s)) },
	func(s string) string { return inSmallLetters(url.PathEscape(s)) },
	func(s string) string { return inSmallLetters(strings.ReplaceAll(url.QueryEscape(s), "+", "%20")) },
	func(s string) string { return inJavaScript.Replace(url.QueryEscape(s)) },
	escaping("&#%d;"), escaping("&#x%x;"), escaping("&#x%X;"), escaping(`\u%04x`), escaping(`\u%04X`),
	escaping("=%02X"),
}

// inJavaScript converts the result of url.QueryEscape to the result of encodeURIComponent.
var inJavaScript = strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")

// escaped matches the escape of a byte in a URL.
var escaped = regexp.MustCompile("%[0-9A-F]{2}")

// inSmallLetters writes the digits of a URL's escapes as .NET does.
func inSmallLetters(s string) string { return escaped.ReplaceAllStringFunc(s, strings.ToLower) }

// escaping returns a function that escapes every character except letters, digits, spaces, hyphens, dots and
// underscores, as some encoders do.
func escaping(format string) func(string) string {
	return func(s string) string {
		var out strings.Builder
		for _, r := range s {
			if r == ' ' || r == '-' || r == '.' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
				out.WriteRune(r)
			} else {
				fmt.Fprintf(&out, format, r)
			}
		}
		return out.String()
	}
}

// Values returns the texts of the JSON of a secret field: a text, or the entries of an object.
func Values(field json.RawMessage) (all []string) {
	var text string
	var entries map[string]string
	switch {
	case json.Unmarshal(field, &text) == nil:
		return []string{text}
	case json.Unmarshal(field, &entries) == nil:
		for _, entry := range entries {
			all = append(all, entry)
		}
	}
	return all
}

// BasicAuth returns the credentials in the header of basic authentication.
func BasicAuth(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

// Parts returns the parts of a secret that are secret on their own. For a URL, these are the path, the query, the
// values of the query, and the parts of the path that are no words. For the value of a header, it is the text after the
// scheme, which may be credentials of basic authentication.
func Parts(secret string) (parts []string) {
	secret = strings.TrimSpace(secret)
	if scheme, rest, ok := strings.Cut(secret, " "); ok && (len(rest) >= minPart || isScheme(scheme)) {
		parts = append(parts, rest)
		if decoded, err := base64.StdEncoding.DecodeString(rest); err == nil && strings.EqualFold(scheme, "Basic") {
			_, password, _ := strings.Cut(string(decoded), ":")
			parts = append(parts, string(decoded), password)
		}
	}
	if u, err := url.Parse(secret); err == nil && u.Host != "" {
		parts = append(parts, u.RequestURI(), u.EscapedPath(), u.Path)
		for part := range strings.SplitSeq(u.Path+"/"+u.EscapedPath(), "/") {
			if len(part) >= minPart || !isWord(part) {
				parts = append(parts, part)
			}
		}
		parts = append(parts, queryValues(u.RawQuery)...)
	}
	slices.Sort(parts)
	return slices.DeleteFunc(slices.Compact(parts), func(part string) bool { return len(part) < MinLength })
}

// isScheme reports whether credentials follow a word at the beginning of a header's value.
func isScheme(word string) bool {
	schemes := []string{"Basic", "Bearer", "Token", "Key", "ApiKey", "GenieKey"}
	return slices.ContainsFunc(schemes, func(s string) bool { return strings.EqualFold(s, word) })
}

// isWord reports whether a part of a path may be an ordinary word, such as services.
func isWord(part string) bool { return strings.Trim(part, "abcdefghijklmnopqrstuvwxyz-_") == "" }

// placeholder is what a channel of the type sms replaces in its URL.
var placeholder = regexp.MustCompile(`\{(to|text|secret)\}`)

// queryValues returns the values of a query, typed and decoded, and parameters without a value. Placeholders are not
// part of them. Some servers take a semicolon for the end of a parameter.
func queryValues(query string) (values []string) {
	for _, separators := range []string{"&", "&;"} {
		separates := func(r rune) bool { return strings.ContainsRune(separators, r) }
		for pair := range strings.FieldsFuncSeq(query, separates) {
			_, value, ok := strings.Cut(pair, "=")
			if !ok {
				value = pair
			}
			for _, typed := range placeholder.Split(value, -1) {
				values = append(values, typed)
				for _, decode := range []func(string) (string, error){url.QueryUnescape, url.PathUnescape} {
					if decoded, err := decode(typed); err == nil {
						values = append(values, decoded)
					}
				}
			}
		}
	}
	return values
}
