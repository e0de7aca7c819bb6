package assets

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/surface/web"
)

// accentStyle returns the style sheet of an accent. Printed pages have no accent.
func accentStyle(accent string) []byte {
	a, ok := statuspage.AdaptAccent(accent)
	if !ok {
		return nil
	}
	text := lightDark(a.Text)
	return fmt.Appendf(nil, `@media screen {
:root { --accent: %s; --link: %s; --on-accent: %s; }
}
`, text, text, lightDark(a.OnText))
}

// AccentDocument returns the style sheet of an accent, which is "#rrggbb".
func AccentDocument(accent string) *web.Document {
	return newDocument(accentStyle(accent), ".css", web.CacheForever)
}

// AccentName returns the name under which the style sheet of an accent is
// served; "" if there is none. It changes with the contents.
func AccentName(accent string) string {
	style := accentStyle(accent)
	if style == nil {
		return ""
	}
	sum := sha256.Sum256(style)
	return "style." + hex.EncodeToString(sum[:8]) + ".css"
}
