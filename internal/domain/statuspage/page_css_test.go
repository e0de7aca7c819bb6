package statuspage_test

import (
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/domaintest"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
)

// TestCustomCSSIsChecked: a style sheet is complete and loads nothing, however that is written.
func TestCustomCSSIsChecked(t *testing.T) {
	for css, valid := range map[string]bool{
		"":                    true,
		".top { color: red }": true,
		"@media (width <= 40rem) { a { top: 0 } }":     true,
		`q::before { content: "\201C } url(" }`:        true,
		"/* url( */ a { }":                             true,
		`[href="a"] { --x: (1) }`:                      true,
		strings.Repeat("x", statuspage.MaxCustomCSS):   true,
		strings.Repeat("x", statuspage.MaxCustomCSS+1): false,
		"a { background: URL(x) }":                     false,
		`a { background: \75rl(x) }`:                   false,
		"a { background: -webkit-image-set('x' 1x) }":  false,
		"@IMPORT 'x';":                                 false,
		"a { background: src('x') }":                   false,
		"a { background: image('x') }":                 false,
		"a { } </style><script>":                       false,
		"a {":                                          false,
		"a }":                                          false,
		"a ( }":                                        false,
		"/* a":                                         false,
		"a { content: \"x\n\" }":                       false,
		"a { b: \"\f } c { d: url(x) } e { f: \" }":    false, // browsers end the string at the form feed
		"a { b: '\r } c { d: url(x) } e { f: ' }":      false,
		"a\x00": false,
		"\xff":  false,
	} {
		err := domaintest.CheckNew(resource.Page, statuspage.Page{Name: "Acme", Slug: "acme", CustomCSS: css})
		if (err == nil) != valid {
			t.Errorf("CheckCustomCSS(%.60q): %v", css, err)
		}
	}
}
