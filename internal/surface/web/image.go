package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/jsonobject"
)

// imageExtensions are the file name extensions of images, by media type.
var imageExtensions = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp",
	"image/svg+xml": ".svg", "image/x-icon": ".ico",
}

// ReadImage returns the page image in a body. The image's name consists of 16 hexadecimal digits of a hash of the body
// and an extension, so that caches may keep it forever. If the body is not an image, or larger than
// statuspage.MaxImageSize, the error is a *kernel.ValidationError for jsonobject.BodyField.
func ReadImage(kind statuspage.ImageKind, body []byte) (statuspage.PageImage, error) {
	mediaType := imageType(body)
	ext := imageExtensions[mediaType]
	var bad kernel.ValidationError
	switch {
	case len(body) > statuspage.MaxImageSize:
		bad.Add(jsonobject.BodyField, "The image must have at most %d KiB.", statuspage.MaxImageSize>>10)
	case ext == "":
		bad.Add(jsonobject.BodyField,
			"The image must be a PNG, JPEG, GIF, WebP or SVG without a DOCTYPE, or an ICO for an icon.")
	case mediaType == "image/x-icon" && kind != statuspage.ImageIcon:
		bad.Add(jsonobject.BodyField, "An ICO can be the icon of a page, but not its logo.")
	}
	if err := bad.Err(); err != nil {
		return statuspage.PageImage{}, err
	}
	sum := sha256.Sum256(body)
	return statuspage.PageImage{Kind: kind, Type: mediaType, Name: fmt.Sprintf("%x%s", sum[:8], ext), Body: body}, nil
}

// imageType detects the media type from the bytes. The Content-Type is ignored.
func imageType(body []byte) string {
	if isSVG(body) {
		return "image/svg+xml"
	}
	return http.DetectContentType(body)
}

// svgNamespace is the namespace that browsers require of an SVG.
const svgNamespace = "http://www.w3.org/2000/svg"

// isSVG reports whether a body is an SVG in UTF-8: well-formed XML without a DOCTYPE, and so without custom entities.
// It may contain scripts: the headers that it is served with prevent them from running.
func isSVG(body []byte) bool {
	if !utf8.Valid(body) {
		return false
	}
	dec := xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(body, []byte("\ufeff"))))
	for depth, roots := 0, 0; ; {
		token, err := dec.Token()
		if err != nil {
			return errors.Is(err, io.EOF) && roots == 1
		}
		switch token := token.(type) {
		case xml.StartElement:
			if depth == 0 {
				roots++
				if (token.Name != xml.Name{Space: svgNamespace, Local: "svg"}) {
					return false
				}
			}
			depth++
		case xml.EndElement:
			depth--
		case xml.CharData:
			if depth == 0 && len(bytes.TrimSpace(token)) > 0 {
				return false
			}
		case xml.Directive:
			return false
		}
	}
}
