package page

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"regexp"
	"strings"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/web"
)

//go:embed assets
var assetFiles embed.FS

// asset is a file that pages link to, under a name that holds its hash.
type asset struct {
	url    string
	stable *web.Document // under the name with its own hash
	other  *web.Document // under the name with another version's hash
}

// assetTypes are the media types; the table of the host may lack them.
var assetTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".js": "text/javascript; charset=utf-8",
}

// comments matches the comments of style sheets and scripts, which are not served.
// In scripts, only whole lines count.
var comments = map[string]*regexp.Regexp{
	".css": regexp.MustCompile(`(?s)/\*.*?\*/\n?`), ".js": regexp.MustCompile(`(?m)^\s*//.*\n`),
}

// assets are all assets by their plain names.
var assets = loadAssets()

func loadAssets() map[string]asset {
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err) // the files are embedded
	}
	all := make(map[string]asset, len(entries))
	for _, e := range entries {
		body, err := assetFiles.ReadFile("assets/" + e.Name())
		if err != nil {
			panic(err)
		}
		if comment := comments[path.Ext(e.Name())]; comment != nil {
			body = comment.ReplaceAll(body, nil)
		}
		all[e.Name()] = newAsset(e.Name(), generated[e.Name()]+string(body))
	}
	for _, s := range allswell.RankedStatuses {
		name := iconName(s)
		all[name] = newAsset(name, favicon(s.Tone()))
	}
	return all
}

// generated is what style sheets begin with.
var generated = map[string]string{"style.css": toneStyle(), "history.css": barStyle()}

func newAsset(name, body string) asset {
	ext := path.Ext(name)
	sum := sha256.Sum256([]byte(body))
	hash := hex.EncodeToString(sum[:8])
	return asset{
		url:    "/assets/" + strings.TrimSuffix(name, ext) + "." + hash + ext,
		stable: web.NewDocument([]byte(body), assetHeader(assetTypes[ext], web.CacheForever)),
		other:  web.NewDocument([]byte(body), assetHeader(assetTypes[ext], "no-cache")),
	}
}

func iconName(s allswell.Status) string { return "icon-" + string(s) + ".svg" }

// assetHeader returns the header of a style sheet, a script or an icon.
func assetHeader(contentType, cacheControl string) web.DocumentHeader {
	return web.DocumentHeader{ContentType: contentType, CacheControl: cacheControl, Policy: web.PolicyPage(false, false)}
}

// iconURL returns the address of the favicon that shows a status.
func iconURL(s allswell.Status) string {
	return assets[iconName(s.Canonical())].url
}

// findAsset returns the document at /assets/{name}, or nil. The hash of another
// version gets this version's file, not to be kept: while replicas are upgraded
// one after the other, a page of one may ask another for its style.
func findAsset(name string) *web.Document {
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	hash := strings.TrimPrefix(path.Ext(stem), ".")
	a, ok := assets[strings.TrimSuffix(stem, "."+hash)+ext]
	switch {
	case !ok || !isHash(hash):
		return nil
	case a.url == "/assets/"+name:
		return a.stable
	default:
		return a.other
	}
}

func isHash(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) == 16 && s == strings.ToLower(s)
}

func (s *Site) serveAsset(w http.ResponseWriter, r *http.Request, name string) {
	if d := findAsset(name); d != nil {
		d.ServeHTTP(w, r)
		return
	}
	s.fail(w, r, http.StatusNotFound)
}
