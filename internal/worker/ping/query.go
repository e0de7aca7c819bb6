package ping

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxParameters is the maximum number of parameters of a query, the same as in Django and Express.
const maxParameters = 1000

// grammar describes how a service parses queries. See docs/decisions/0086-pings-of-other-services.md.
type grammar struct {
	separators string                                 // between parameters
	refused    string                                 // characters that make a query unreadable
	cut        func(pair string) (name, value string) // cuts a pair; name and value are still encoded
	decode     func(text string) (decoded string, ok bool)
	brackets   bool      // brackets in a name build arrays and objects
	verdicts   []verdict // the parameters that say whether a job has failed
}

// verdict is a parameter that says whether a job has failed.
type verdict struct {
	name string
	good func(value string) bool // reports whether a value means success
}

// The grammars of queries.
var (
	ownQuery          = &grammar{separators: "&", refused: ";", cut: cutEqual, decode: decodeStrictly}
	healthchecksQuery = &grammar{separators: "&", cut: cutEqual, decode: decodeAsPython}
	kumaQuery         = &grammar{
		separators: "&", cut: cutAsQS, decode: decodeAsJavaScript, brackets: true,
		verdicts: []verdict{{"status", goodKumaStatus}},
	}
	cronitorQuery = &grammar{separators: "&", cut: cutEqual, decode: decodeAsPython, verdicts: []verdict{
		{"state", func(state string) bool {
			return state == "run" || isCronitorSuccess(state)
		}}, {"status_code", isZero}}}
	snitchQuery = &grammar{
		separators: "&;", cut: cutEqual, decode: decodeStrictly, brackets: true, verdicts: []verdict{{"s", isZero}},
	}
)

// parameter is a parameter of a query.
type parameter struct {
	name, value string
	nested      bool // the parameter has more brackets after the name: it is a part of an array or an object
}

// query is the parameters of a query in their order.
type query []parameter

// read parses a query. ok is false if the service could not parse it.
func (g *grammar) read(raw string) (q query, ok bool) {
	pairs := strings.FieldsFunc(raw, func(r rune) bool { return strings.ContainsRune(g.separators, r) })
	if len(pairs) > maxParameters {
		return nil, false
	}
	ok = g.refused == "" || !strings.ContainsAny(raw, g.refused)
	for _, pair := range pairs {
		name, value := g.cut(pair)
		var p parameter
		var validName, validValue bool
		p.name, validName = g.decode(name)
		p.value, validValue = g.decode(value)
		if !validName || !validValue {
			ok = false
			continue
		}
		if g.brackets {
			p.name, p.nested = cutBrackets(p.name)
		}
		q = append(q, p)
	}
	return q, ok
}

// contradicts reports whether a query that means a success has a parameter that was likely meant to say that the job
// has failed: with capital letters, spaces or brackets in its name, after a semicolon, or given again with another
// value.
func (g *grammar) contradicts(raw string) bool {
	for pair := range strings.FieldsFuncSeq(raw, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, given := strings.Cut(pair, "=")
		name, _ = decodeAsPython(name)
		if !given {
			name, value, _ = strings.Cut(name, "=")
		}
		value, _ = decodeAsPython(value)
		if slices.ContainsFunc(g.verdicts, func(v verdict) bool { return sameName(name, v.name) && !v.good(value) }) {
			return true
		}
	}
	return false
}

// mentions reports whether a query has a parameter whose name is nearly the given one; see sameName.
func (q query) mentions(name string) bool {
	return slices.ContainsFunc(q, func(p parameter) bool { return sameName(p.name, name) })
}

// all returns the values of a parameter.
func (q query) all(name string) (values []string) {
	for _, p := range q {
		if p.name == name {
			values = append(values, p.value)
		}
	}
	return values
}

// last returns the last value of a parameter; "": there is none.
func (q query) last(name string) string {
	if values := q.all(name); len(values) > 0 {
		return values[len(values)-1]
	}
	return ""
}

// compound reports whether a parameter is an array or an object.
func (q query) compound(name string) bool {
	return slices.ContainsFunc(q, func(p parameter) bool { return p.name == name && p.nested })
}

// values returns the parameters without the nested ones.
func (q query) values() url.Values {
	values := url.Values{}
	for _, p := range q {
		if !p.nested {
			values.Add(p.name, p.value)
		}
	}
	return values
}

// sameName compares the letters and digits of two names, without regard to case. What follows in brackets is ignored.
func sameName(a, b string) bool {
	fold := func(name string) string {
		name, _ = cutBrackets(strings.TrimSpace(name))
		return strings.Map(func(r rune) rune {
			switch {
			case r >= 'A' && r <= 'Z':
				return r | ' '
			case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
				return r
			}
			return -1
		}, name)
	}
	return fold(a) == fold(b)
}

// cutBrackets returns a name without its brackets: status for status[], status[a] and [status]. nested reports whether
// the name had other brackets than a pair around the whole.
func cutBrackets(name string) (root string, nested bool) {
	trimmed := strings.TrimLeft(name, "[]")
	at := strings.IndexAny(trimmed, "[]")
	if at < 0 {
		return trimmed, false
	}
	return trimmed[:at], strings.Trim(trimmed[at:], "]") != ""
}

// cutEqual cuts a pair at its first equal sign.
func cutEqual(pair string) (name, value string) {
	name, value, _ = strings.Cut(pair, "=")
	return name, value
}

// cutAsQS cuts a pair as qs does: a bracket before an equal sign ends the name.
func cutAsQS(pair string) (name, value string) {
	if at := strings.Index(pair, "]="); at >= 0 {
		return pair[:at+1], pair[at+2:]
	}
	return cutEqual(pair)
}

// decodeStrictly accepts no invalid escapes and no invalid UTF-8, as Ruby on Rails and we do.
func decodeStrictly(text string) (decoded string, ok bool) {
	decoded, err := url.QueryUnescape(text)
	return decoded, err == nil && utf8.ValidString(decoded)
}

// decodeAsJavaScript leaves a text with invalid escapes unchanged, apart from the spaces, as qs does.
func decodeAsJavaScript(text string) (decoded string, ok bool) {
	if decoded, ok = decodeStrictly(text); ok {
		return decoded, true
	}
	return strings.ToValidUTF8(strings.ReplaceAll(text, "+", " "), string(utf8.RuneError)), true
}

// decodeAsPython leaves invalid escapes unchanged, as urllib and Django do.
func decodeAsPython(text string) (decoded string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '+':
			b.WriteByte(' ')
		case c == '%' && i+2 < len(text):
			if n, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return strings.ToValidUTF8(b.String(), string(utf8.RuneError)), true
}

// goodKumaStatus reports whether a status is up, which is the default.
func goodKumaStatus(status string) bool { return status == "" || status == "up" }

// isCronitorSuccess reports whether a state of Cronitor is a sign of life. No state is one, too.
func isCronitorSuccess(state string) bool {
	return slices.Contains([]string{"", "complete", "ok", "tick"}, state)
}

// isZero reports whether a text is the number 0, or empty.
func isZero(text string) bool {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	return text == "" || err == nil && n == 0
}
