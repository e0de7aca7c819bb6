package statuspage

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// MaxCustomCSS is the maximum size of a page's own style sheet in bytes.
const MaxCustomCSS = 20_000

// forbiddenCSS are the parts of style sheets that load something. A page loads nothing from elsewhere.
var forbiddenCSS = []string{"@import", "url(", "src(", "image(", "image-set("}

// CheckCustomCSS adds an error to bad if a style sheet is too large, is not complete, or loads something.
func CheckCustomCSS(bad *kernel.ValidationError, css string) {
	if len(css) > MaxCustomCSS {
		bad.Add("custom_css", "may have at most %d bytes", MaxCustomCSS)
		return
	}
	if strings.ContainsRune(css, 0) || !utf8.ValidString(css) {
		bad.Add("custom_css", "must be text without NUL characters")
		return
	}
	if strings.Contains(css, "</") || strings.Contains(css, "<!--") {
		bad.Add("custom_css", "must be a style sheet without HTML")
		return
	}
	code, problem := cssCode(css)
	if problem != "" {
		bad.Add("custom_css", "is not complete: %s", problem)
		return
	}
	if strings.Contains(code, `\`) {
		bad.Add("custom_css", `may have \ only in strings`)
		return
	}
	code = strings.ToLower(code)
	for _, part := range forbiddenCSS {
		if strings.Contains(code, part) {
			bad.Add("custom_css", "must not have %s, because it cannot load anything", part)
			return
		}
	}
}

// NormalizeCSS returns a style sheet with the line ends that HTML parsers produce, because the Content-Security-Policy
// of previews has its hash.
func NormalizeCSS(css string) string { return kernel.LineEnds.Replace(css) }

// cssCode returns a style sheet without its comments and the contents of its strings. problem says what is not closed
// in it; "": nothing.
func cssCode(css string) (code, problem string) {
	var out strings.Builder
	var open []byte // the brackets to close
	for i := 0; i < len(css); i++ {
		switch c := css[i]; {
		case c == '/' && strings.HasPrefix(css[i:], "/*"):
			end := strings.Index(css[i+2:], "*/")
			if end < 0 {
				return "", "a comment does not end"
			}
			i += end + 3
			out.WriteByte(' ') // "ur/**/l(" is no function
			continue
		case c == '"' || c == '\'':
			end := endOfString(css, i)
			if end < 0 {
				return "", "a string does not end"
			}
			i = end
			out.WriteString(`""`)
			continue
		case c == '{' || c == '(' || c == '[':
			open = append(open, map[byte]byte{'{': '}', '(': ')', '[': ']'}[c])
		case c == '}' || c == ')' || c == ']':
			if len(open) == 0 || open[len(open)-1] != c {
				return "", "a " + string(c) + " closes nothing"
			}
			open = open[:len(open)-1]
		}
		out.WriteByte(css[i])
	}
	if len(open) > 0 {
		return "", "a " + string(open[len(open)-1]) + " is missing at the end"
	}
	return out.String(), ""
}

// endOfString returns the index of the quote that ends the string that begins at start, or -1.
func endOfString(css string, start int) int {
	for i := start + 1; i < len(css); i++ {
		switch css[i] {
		case css[start]:
			return i
		case '\\':
			i++
		case '\n', '\r', '\f': // all end a line of CSS
			return -1
		}
	}
	return -1
}

// CustomCSSName returns the file name of the page's own style sheet, which changes with it, or "" if there is none.
func (p Page) CustomCSSName() string {
	if p.CustomCSS == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(p.CustomCSS))
	return fmt.Sprintf("custom-%x.css", sum[:8])
}
