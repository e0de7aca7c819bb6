package feed

import (
	"encoding/xml"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// The elements of an Atom feed (RFC 4287).
type (
	atomFeed struct {
		XMLName   xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
		Lang      string      `xml:"xml:lang,attr"`
		ID        string      `xml:"id"`
		Title     string      `xml:"title"`
		Subtitle  string      `xml:"subtitle"`
		Updated   string      `xml:"updated"`
		Links     []atomLink  `xml:"link"`
		Author    string      `xml:"author>name"`
		Generator generator   `xml:"generator"`
		Entries   []atomEntry `xml:"entry"`
	}
	atomLink struct {
		Rel  string `xml:"rel,attr"`
		Type string `xml:"type,attr"`
		Href string `xml:"href,attr"`
	}
	generator struct {
		URI  string `xml:"uri,attr"`
		Name string `xml:",chardata"`
	}
	atomEntry struct {
		ID         string         `xml:"id"`
		Title      string         `xml:"title"`
		Link       atomLink       `xml:"link"`
		Published  string         `xml:"published"`
		Updated    string         `xml:"updated"`
		Categories []atomCategory `xml:"category"`
		Summary    string         `xml:"summary"`
		Content    atomContent    `xml:"content"`
	}
	atomCategory struct {
		Term  string `xml:"term,attr"`
		Label string `xml:"label,attr"`
	}
	atomContent struct {
		Type string `xml:"type,attr"`
		HTML string `xml:",chardata"`
	}
)

const htmlType = "text/html"

// Atom returns the feed as Atom 1.0.
func (f Feed) Atom() ([]byte, error) {
	doc := atomFeed{
		Lang: f.lang.Tag, ID: f.id, Title: f.title, Subtitle: f.state, Updated: kernel.FormatTime(f.updated),
		Author: f.author,
		Links: []atomLink{
			{"self", strings.Split(AtomType, ";")[0], f.self + AtomName}, {"alternate", htmlType, f.home},
		},
		Generator: generator{generatorURI, generatorName},
	}
	for _, e := range f.entries {
		entry := atomEntry{
			ID: e.id, Title: e.title, Link: atomLink{"alternate", htmlType, e.link},
			Published: kernel.FormatTime(e.published), Updated: kernel.FormatTime(e.updated),
			Summary: e.summary, Content: atomContent{"html", e.content},
		}
		for _, c := range e.categories {
			entry.Categories = append(entry.Categories, atomCategory{c.term, c.label})
		}
		doc.Entries = append(doc.Entries, entry)
	}
	return xmlDocument(doc)
}

func xmlDocument(doc any) ([]byte, error) {
	body, err := xml.MarshalIndent(doc, "", " ")
	return append([]byte(xml.Header), append(body, '\n')...), err
}
