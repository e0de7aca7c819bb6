// Package assets holds the style sheets, scripts and icons that HTML pages link
// to, and makes the style sheet of a page's accent colour.
package assets

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/web"
)

//go:embed files
var files embed.FS

//go:embed favicon.ico
var faviconICO []byte

// FaviconICO is the icon at /favicon.ico, for clients that do not look for the icon that a page names.
var FaviconICO = sync.OnceValue(func() *web.Document {
	return web.NewDocument(faviconICO, web.DocumentHeader{
		ContentType: "image/x-icon", CacheControl: "public, max-age=86400", Policy: web.PolicyData,
	})
})

// WidgetScript is the script that adds the widget of a page to another site. Other sites name it without a hash.
var WidgetScript = sync.OnceValue(func() *web.Document {
	return web.NewDocument([]byte(readPart("widget.js")), web.DocumentHeader{
		ContentType: contentTypes[".js"], CacheControl: "public, max-age=3600", Policy: web.PolicyData,
	})
})

// Worker is the service worker of pages, which are at any path. Its own path is below the page's.
var Worker = sync.OnceValue(func() *web.Document {
	return web.NewDocument([]byte(readPart("worker.js")), web.DocumentHeader{
		ContentType: contentTypes[".js"], CacheControl: "no-cache", Policy: web.PolicyData,
	})
})

// Path is the path below which assets are served.
const Path = "/assets/"

// asset is a file under a name that contains the hash of its contents.
type asset struct {
	url     string
	current func() *web.Document // under the name with the current hash
	other   func() *web.Document // under the name with the hash of another version
}

// contentTypes are the media types by file extension. The table of the host may lack them.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".js": "text/javascript; charset=utf-8",
}

// comments matches the comments of style sheets and scripts, which are not served.
// In scripts, only comments that fill a line are removed.
var comments = map[string]*regexp.Regexp{
	".css": regexp.MustCompile(`(?s)/\*.*?\*/\n?`), ".js": regexp.MustCompile(`(?m)^\s*//.*\n`),
}

// indents matches indentation and empty lines. No file contains a multi-line text in which they matter.
var indents = regexp.MustCompile(`(?m)^\s+`)

// bundles are the style sheets and scripts, which are made of one or more files. One file takes fewer bytes and
// requests than several.
var bundles = map[string][]string{
	"style.css": {"style.css", "history.css"},
	"page.js":   {"page.js", "bars.js", "live.js"},
	"theme.js":  {"theme.js"},
	"push.js":   {"push.js"},

	"widget.js": {"widget.js"},
	"worker.js": {"worker.js"},

	"dashboard.css": {"dashboard.css"},
	"dashboard.js":  {"page.js", "dashboard.js", "passkey.js", "palette.js", "preview.js", "order.js"},
	"live.js":       {"live.js"},
}

// generated are the generated beginnings of files, by name.
var generated = map[string]string{"style.css": toneStyle(), "history.css": barStyle(), "dashboard.css": toneStyle()}

// all are all assets by their names without the hash. They are made for the first page and compressed for the first
// request, because most commands serve neither.
var all = sync.OnceValue(load)

func load() map[string]asset {
	all := make(map[string]asset)
	for name, parts := range bundles {
		var body strings.Builder
		for _, part := range parts {
			body.WriteString(readPart(part))
		}
		all[name] = newAsset(name, body.String())
	}
	for _, s := range kernel.RankedStatuses {
		name := iconName(s)
		all[name] = newAsset(name, favicon(s.Tone()))
	}
	return all
}

// readPart returns a file without its comments, after its generated beginning. A script is wrapped in a block, so that
// it shares no names with the others of its bundle.
func readPart(name string) string {
	body, err := files.ReadFile("files/" + name)
	if err != nil {
		panic(err) // the files are embedded
	}
	ext := path.Ext(name)
	text := generated[name] + indents.ReplaceAllString(comments[ext].ReplaceAllString(string(body), ""), "")
	if ext == ".js" {
		text = "{\n" + text + "}\n"
	}
	return text
}

func newAsset(name, body string) asset {
	ext := path.Ext(name)
	sum := sha256.Sum256([]byte(body))
	hash := hex.EncodeToString(sum[:8])
	return asset{
		url:     Path + strings.TrimSuffix(name, ext) + "." + hash + ext,
		current: sync.OnceValue(func() *web.Document { return newDocument([]byte(body), ext, web.CacheForever) }),
		other:   sync.OnceValue(func() *web.Document { return newDocument([]byte(body), ext, "no-cache") }),
	}
}

// newDocument returns the document of a file with the extension ext.
func newDocument(body []byte, ext, cacheControl string) *web.Document {
	return web.NewDocument(body, web.DocumentHeader{
		ContentType: contentTypes[ext], CacheControl: cacheControl, Policy: web.PolicyPage(web.PageContent{}),
	})
}

func iconName(s kernel.Status) string { return "icon-" + string(s) + ".svg" }

// URL returns the URL of an asset, such as "style.css".
func URL(name string) string { return all()[name].url }

// IconURL returns the URL of the favicon that shows a status.
func IconURL(s kernel.Status) string { return URL(iconName(s.Canonical())) }

// Find returns the document at Path + name, or nil. A name with the hash of another version gets the current file, with
// a header that forbids caching: during an upgrade, a page of one replica may link to an asset of another.
func Find(name string) *web.Document {
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	hash := strings.TrimPrefix(path.Ext(stem), ".")
	a, ok := all()[strings.TrimSuffix(stem, "."+hash)+ext]
	switch {
	case !ok || !isHash(hash):
		return nil
	case a.url == Path+name:
		return a.current()
	default:
		return a.other()
	}
}

func isHash(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) == 16 && s == strings.ToLower(s)
}
