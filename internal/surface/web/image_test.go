package web

import (
	"testing"

	"github.com/allswell/allswell/internal/domain/statuspage"
)

func TestSVG(t *testing.T) {
	const small = `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 ` +
		`0h1v1z"/></svg>`
	for _, body := range []string{
		small, "\ufeff" + small,
		"\n<!-- made by hand -->\n<s:svg " +
			"xmlns:s='http://www.w3.org/2000/svg'><s:title>&lt;é&#x20ac;</s:title></s:svg>\n",
		"<?xml version='1.0' encoding='utf-8'?><svg " +
			"xmlns='http://www.w3.org/2000/svg'><style><![CDATA[a>b{}]]></style></svg>",
	} {
		if got := imageType([]byte(body)); got != "image/svg+xml" {
			t.Errorf("the type of %s is %s", body, got)
		}
	}
}

// TestEveryImageTypeHasAName compares the accepted media types with the domain's.
func TestEveryImageTypeHasAName(t *testing.T) {
	if len(imageExtensions) != len(statuspage.ImageTypes) {
		t.Errorf("there are %d imageExtensions for %d types", len(imageExtensions), len(statuspage.ImageTypes))
	}
	for _, mediaType := range statuspage.ImageTypes {
		if imageExtensions[mediaType] == "" {
			t.Errorf("%s has no extension", mediaType)
		}
	}
}

// TestReadImage reads every type as every kind of image, and images as large as allowed, and larger.
func TestReadImage(t *testing.T) {
	bodies := map[string]string{
		"image/png": "\x89PNG\x0d\x0a\x1a\x0a", "image/jpeg": "\xff\xd8\xff", "image/gif": "GIF89a",
		"image/webp":   "RIFF\x00\x00\x00\x00WEBPVP",
		"image/x-icon": "\x00\x00\x01\x00", "image/svg+xml": `<svg xmlns="http://www.w3.org/2000/svg"/>`,
		"text/html": "<html>", "application/pdf": "%PDF-", "image/bmp": "BM",
	}
	for mediaType, body := range bodies {
		for _, kind := range statuspage.ImageKinds {
			image, err := ReadImage(kind, []byte(body))
			allowed := imageExtensions[mediaType] != "" && (mediaType != "image/x-icon" || kind == statuspage.ImageIcon)
			if (err == nil) != allowed || allowed && (image.Type != mediaType || image.Kind != kind) {
				t.Errorf("%s as %s: %+v, %v", mediaType, kind, image, err)
			}
		}
	}
	for more, allowed := range map[int]bool{0: true, 1: false} {
		body := make([]byte, statuspage.MaxImageSize+more)
		copy(body, bodies["image/png"])
		if _, err := ReadImage(statuspage.ImageLogo, body); (err == nil) != allowed {
			t.Errorf("%d bytes: %v", len(body), err)
		}
	}
}
