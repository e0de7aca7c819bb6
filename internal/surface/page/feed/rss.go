package feed

import (
	"encoding/xml"
	"html/template"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// The elements of an RSS 2.0 feed, with widely supported extensions.
type (
	rssDocument struct {
		XMLName xml.Name   `xml:"rss"`
		Version string     `xml:"version,attr"`
		Atom    string     `xml:"xmlns:atom,attr"`
		Content string     `xml:"xmlns:content,attr"`
		DC      string     `xml:"xmlns:dc,attr"`
		Channel rssChannel `xml:"channel"`
	}
	rssChannel struct {
		Title       string    `xml:"title"`
		Link        string    `xml:"link"`
		Description string    `xml:"description"`
		Language    string    `xml:"language"`
		Built       string    `xml:"lastBuildDate"`
		Generator   string    `xml:"generator"`
		TTL         int       `xml:"ttl"`
		Self        atomLink  `xml:"atom:link"`
		Items       []rssItem `xml:"item"`
	}
	rssItem struct {
		Title       string   `xml:"title"`
		Link        string   `xml:"link"`
		GUID        rssGUID  `xml:"guid"`
		Published   string   `xml:"pubDate"`
		Updated     string   `xml:"atom:updated"`
		Creator     string   `xml:"dc:creator"`
		Categories  []string `xml:"category"`
		Description string   `xml:"description"`
		Content     string   `xml:"content:encoded"`
	}
	rssGUID struct {
		IsPermaLink bool   `xml:"isPermaLink,attr"`
		ID          string `xml:",chardata"`
	}
)

// RSS returns the feed as RSS 2.0. The description of an RSS item is HTML, so the summary is escaped.
func (f Feed) RSS() ([]byte, error) {
	doc := rssDocument{
		Version: "2.0", Atom: "http://www.w3.org/2005/Atom", Content: "http://purl.org/rss/1.0/modules/content/",
		DC: "http://purl.org/dc/elements/1.1/",
		Channel: rssChannel{
			Title: f.title, Link: f.home, Description: f.state, Language: f.lang.Tag,
			Built:     f.updated.UTC().Format(time.RFC1123Z),
			Generator: generatorName, TTL: readAgainMinutes,
			Self: atomLink{"self", strings.Split(RSSType, ";")[0], f.self + RSSName},
		},
	}
	for _, e := range f.entries {
		item := rssItem{
			Title: e.title, Link: e.link, GUID: rssGUID{false, e.id},
			Published: e.published.UTC().Format(time.RFC1123Z),
			Updated:   kernel.FormatTime(e.updated), Creator: f.author,
			Description: template.HTMLEscapeString(e.summary), Content: e.content,
		}
		for _, c := range e.categories {
			item.Categories = append(item.Categories, c.label)
		}
		doc.Channel.Items = append(doc.Channel.Items, item)
	}
	return xmlDocument(doc)
}
