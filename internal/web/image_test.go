package web

import (
	"testing"

	"github.com/allswell/allswell"
)

func TestSVG(t *testing.T) {
	const small = `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1z"/></svg>`
	for _, body := range []string{
		small, "\ufeff" + small, "\n<!-- made by hand -->\n<s:svg xmlns:s='http://www.w3.org/2000/svg'><s:title>&lt;é&#x20ac;</s:title></s:svg>\n",
		"<?xml version='1.0' encoding='utf-8'?><svg xmlns='http://www.w3.org/2000/svg'><style><![CDATA[a>b{}]]></style></svg>",
	} {
		if got := imageType([]byte(body)); got != "image/svg+xml" {
			t.Errorf("%s is %s", body, got)
		}
	}
}

// TestEveryImageTypeHasAName compares the accepted media types with those of the domain.
func TestEveryImageTypeHasAName(t *testing.T) {
	if len(imageExtensions) != len(allswell.ImageTypes) {
		t.Errorf("there are %d imageExtensions for %d types", len(imageExtensions), len(allswell.ImageTypes))
	}
	for _, mediaType := range allswell.ImageTypes {
		if imageExtensions[mediaType] == "" {
			t.Errorf("%s has no extension", mediaType)
		}
	}
}
