package api

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// svg is a valid image.
const svg = `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1z"/></svg>`

func TestPageSettings(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		plain := map[string]any{
			"time_zone": "UTC", "language": nil, "domain": nil, "accent": nil, "footer_links": []any{}, "logo": nil,
			"logo_dark": nil, "icon": nil,
			"languages": []any{}, "custom_css": nil,
		}
		c.post("/api/v1/pages",
			`{"name":"x","slug":"plain","time_zone":null,"language":null,"domain":null,"accent":null,`+
				`"footer_links":null}`).is(201).has(plain)
		dressed := map[string]any{
			"time_zone": "Asia/Kolkata", "language": "de-AT", "domain": "status.acme.example", "accent": "#1b4f9c",
			"footer_links": []any{
				map[string]any{"label": "Imprint", "url": "https://acme.example/?a=1&b=<2>"},
				map[string]any{"label": "Mail", "url": "mailto:a@acme.example"},
			},
			"languages": []any{"ar", "de"}, "custom_css": ".top { color: red }",
		}
		const body = `"time_zone":"Asia/Kolkata","language":"de-AT","domain":"status.acme.example","accent":"#1B4F9C","languages":["de","ar","de"],"custom_css":".top { color: red }",
			"footer_links":[{"label":"Imprint","url":"https://acme.example/?a=1&b=<2>"},{"url":"mailto:a@acme.example","label":"Mail"}]`
		c.post("/api/v1/pages", `{"name":"x","slug":"acme",`+body+`}`).is(201).has(dressed)
		c.get("/api/v1/pages/acme").is(200).has(dressed)

		// Absent fields keep their values, and two pages cannot have the same domain.
		before := stamp(c.clock.Now())
		c.clock.Advance(time.Minute)
		c.patch("/api/v1/pages/acme",
			`{"time_zone":null,`+strings.SplitN(body, ",", 2)[1]+`}`).is(200).has(dressed).has(map[string]any{
			"updated_at": before,
		})
		c.unchanged(func() { c.patch("/api/v1/pages/plain", `{"domain":"status.acme.example"}`).complains("domain") })
		c.patch("/api/v1/pages/acme", `{"accent":null}`).is(200).has(map[string]any{
			"accent": nil, "language": "de-AT", "updated_at": stamp(c.clock.Now()),
		})
		c.patch("/api/v1/pages/acme",
			`{"time_zone":"UTC","language":null,"domain":null,"footer_links":null,"languages":null,"custom_css":""}`).
			is(200).has(plain)
		c.patch("/api/v1/pages/plain", `{"domain":"status.acme.example"}`).is(200)
		c.patch("/api/v1/pages/plain", `{"domain":"","language":"","accent":"","footer_links":[]}`).is(200).has(plain)

		c.unchanged(func() {
			const target = "/api/v1/pages/plain"
			c.patch(target,
				`{"footer_links":[{"label":"x","url":"http://x"},{"label":" ","url":"javascript:alert(1)"},{},1,`+
					`{"label":1,"url":["x"]}]}`).
				complains("footer_links.1.label", "footer_links.1.url", "footer_links.2.label", "footer_links.2.url",
					"footer_links.3",
					"footer_links.4.label", "footer_links.4.url")
			c.patch(target,
				`{"footer_links":[{"label":"x","label":"y","url":"http://x"}]}`).complains("footer_links.0.label")
			c.patch(target,
				`{"name":5,"time_zone":"Mars/Olympus","language":"x","domain":"https://a.example","accent":"red"}`).
				complains("name", "time_zone", "language", "domain", "accent")
			c.patch(target, `{"time_zone":"","languages":["German"],"custom_css":"a {"}`).complains("time_zone",
				"languages", "custom_css")
		})
	})
}

// TestSettingsThatDependOnTheInstallation rejects a language without a translation and the
// server's own domain.
func TestSettingsThatDependOnTheInstallation(t *testing.T) {
	eachWith(t, Config{BaseURL: "https://status.example.org:8443"}, func(t *testing.T, c *client) {
		c.post("/api/v1/pages", `{"name":"x","slug":"acme","language":"de-AT","domain":"acme.example.org"}`).is(201)
		c.unchanged(func() {
			for _, bad := range []string{
				`"language":"fr"`, `"language":"dee"`, `"domain":"status.example.org"`, `"domain":"localhost"`,
				`"domain":"192.0.2.1"`,
			} {
				field, _, _ := strings.Cut(strings.TrimPrefix(bad, `"`), `"`)
				c.patch("/api/v1/pages/acme", "{"+bad+"}").complains(field)
				c.post("/api/v1/pages", `{"slug":"other",`+bad+"}").complains("name", field)
			}
		})
		c.patch("/api/v1/pages/acme", `{"language":"EN","domain":"www.status.example.org"}`).is(200)
	})
}

// TestNoDomainWithoutBaseURL: without a base URL, the server cannot distinguish its own host name from a page's.
func TestNoDomainWithoutBaseURL(t *testing.T) {
	storetest.Run(t, func(t *testing.T, s *store.Store) {
		c := newClient(t, s, newClock(), Config{})
		c.post("/api/v1/pages", `{"name":"x","slug":"acme","domain":null}`).is(201)
		c.unchanged(func() {
			c.post("/api/v1/pages", `{"name":"x","slug":"other","domain":"status.acme.example"}`).complains("domain")
			c.patch("/api/v1/pages/acme", `{"name":"y","domain":"status.acme.example"}`).complains("domain")
		})
		c.patch("/api/v1/pages/acme", `{"domain":null}`).is(200)
	})
}

// TestDomainVerification claims a domain and verifies it.
// noDomain is the domain of a page that has none.
var noDomain = map[string]any{
	"domain": nil, "status": nil, "record": nil, "last_result": nil, "last_check_at": nil, "next_check_at": nil,
	"verified_at": nil, "release_at": nil, "lookup": nil,
}

func TestDomainVerification(t *testing.T) {
	eachWith(t, Config{BaseURL: "https://allswell.example"}, func(t *testing.T, c *client) {
		const page, domain = "/api/v1/pages/acme", "/api/v1/pages/acme/domain"
		id := c.post("/api/v1/pages", `{"name":"x","slug":"acme"}`).is(201).has(map[string]any{
			"domain_status": nil,
		}).id()
		c.get(domain).is(200).has(noDomain)

		now := stamp(c.clock.Now())
		c.patch(page, `{"domain":"status.acme.example"}`).is(200).has(map[string]any{
			"domain": "status.acme.example", "domain_status": "pending", "url": "https://allswell.example/status/acme",
		})
		record := map[string]any{
			"type": "TXT", "name": "_allswell-challenge.status.acme.example",
			"value": statuspage.NewDomainRecord(id, "status.acme.example").Value,
		}
		pending := map[string]any{
			"domain": "status.acme.example", "status": "pending", "record": record, "last_result": nil,
			"last_check_at": nil, "next_check_at": now, "verified_at": nil, "release_at": nil,
		}
		c.get(domain).is(200).has(pending)
		c.found = statuspage.DomainMissing
		c.seen = &statuspage.DomainLookup{
			Result: statuspage.LookupNotFound, Domain: "status.acme.example", Host: "allswell.example",
		}
		lookup := map[string]any{
			"result":  "not_found",
			"message": "status.acme.example has no address in the DNS. Add a record: CNAME allswell.example.",
			"cname":   nil, "addresses": []any{}, "expected_host": "allswell.example", "expected_addresses": []any{},
			"checked_at": now,
		}
		c.post(domain+"/verify", `{"ignored":`).is(200).has(map[string]any{
			"status": "pending", "last_result": "missing", "last_check_at": now,
			"next_check_at": stamp(c.clock.Now().Add(time.Hour)), "lookup": lookup,
		})
		c.get(domain).is(200).has(map[string]any{"lookup": lookup})

		c.clock.Advance(time.Hour)
		c.found, now = statuspage.DomainFound, stamp(c.clock.Now())
		verified := map[string]any{
			"status": "verified", "record": record, "last_result": "found", "last_check_at": now, "verified_at": now,
			"release_at": nil,
		}
		c.post(domain+"/verify", nil).is(200).has(verified)
		c.get(page).is(200).has(map[string]any{"domain_status": "verified", "url": "https://status.acme.example"})

		c.clock.Advance(time.Hour)
		c.found = statuspage.DomainMissing
		release := stamp(c.clock.Now().Add(7 * 24 * time.Hour))
		c.post(domain+"/verify", nil).is(200).has(map[string]any{
			"status": "failing", "last_result": "missing", "verified_at": now, "release_at": release,
		})
		c.get(page).is(200).has(map[string]any{"domain_status": "failing", "url": "https://status.acme.example"})
	})
}

func TestNewDomainNeedsNewRecord(t *testing.T) {
	eachWith(t, Config{BaseURL: "https://allswell.example"}, func(t *testing.T, c *client) {
		const page, domain = "/api/v1/pages/acme", "/api/v1/pages/acme/domain"
		c.post("/api/v1/pages", `{"name":"x","slug":"acme"}`).is(201)
		c.patch(page, `{"domain":"status.acme.example"}`).is(200)
		c.found, c.seen = statuspage.DomainFound, &statuspage.DomainLookup{
			Result: statuspage.LookupNotFound, Domain: "status.acme.example", Host: "allswell.example",
		}
		c.post(domain+"/verify", nil).is(200).has(map[string]any{"status": "verified"})
		c.patch(page, `{"domain":"www.acme.example"}`).is(200).has(map[string]any{
			"domain_status": "pending", "url": "https://allswell.example/status/acme",
		})
		c.get(domain).is(200).has(map[string]any{"lookup": nil})
		c.patch(page, `{"domain":null}`).is(200)
		c.get(domain).is(200).has(noDomain)
	})
}

// TestFirstWorkspaceNeedsNoVerification because it belongs to the operator.
func TestFirstWorkspaceNeedsNoVerification(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		_, secret := storetest.Workspace(t, c.store, account.DefaultWorkspace)
		c = c.with(secret)
		c.post("/api/v1/pages", `{"name":"x","slug":"acme","domain":"status.acme.example"}`).is(201).has(map[string]any{
			"domain_status": "verified", "url": "https://status.acme.example",
		})
		now := stamp(c.clock.Now())
		c.found = statuspage.DomainMissing
		c.clock.Advance(time.Hour)
		c.unchanged(func() {
			c.post("/api/v1/pages/acme/domain/verify", nil).is(200).
				has(map[string]any{
					"status": "verified", "record": nil, "last_result": nil, "last_check_at": nil,
					"next_check_at": nil, "verified_at": now, "release_at": nil,
				})
		})
	})
}

// pictures are minimal images of each type, with the extension of their names.
func pictures(t *testing.T) map[string]string {
	t.Helper()
	dot := image.NewRGBA(image.Rect(0, 0, 1, 1))
	encoded := func(encode func(b *bytes.Buffer) error) string {
		var b bytes.Buffer
		if err := encode(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	return map[string]string{
		".png":  encoded(func(b *bytes.Buffer) error { return png.Encode(b, dot) }),
		".jpg":  encoded(func(b *bytes.Buffer) error { return jpeg.Encode(b, dot, nil) }),
		".gif":  encoded(func(b *bytes.Buffer) error { return gif.Encode(b, dot, nil) }),
		".webp": "RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00",
		".svg":  svg,
		".ico":  "\x00\x00\x01\x00\x01\x00\x01\x01\x00\x00\x01\x00\x20\x00\x30\x00\x00\x00\x16\x00\x00\x00",
	}
}

func TestPageImages(t *testing.T) {
	eachWith(t, Config{BaseURL: "https://status.example.org/"}, func(t *testing.T, c *client) {
		c.post("/api/v1/pages", `{"name":"x","slug":"acme"}`).is(201)
		const page = "/api/v1/pages/acme"
		for ext, body := range pictures(t) {
			for _, kind := range statuspage.ImageKinds {
				if ext == ".ico" && kind != statuspage.ImageIcon {
					c.unchanged(func() { c.put(page+"/logo", body).complains("body") })
					continue
				}
				// The Content-Type header is ignored.
				a := c.do("PUT", page+"/"+string(kind), body, "Content-Type", "text/html").is(200)
				want := fmt.Sprintf("https://status.example.org/status/acme/look/%.8x%s", sha256.Sum256([]byte(body)),
					ext)
				a.has(map[string]any{string(kind): want})
				c.get(page).has(map[string]any{string(kind): want})
				kept, err := c.store.LoadPageImage(t.Context(), "acme", kind)
				if err != nil || string(kept.Body) != body || mediaTypes[ext] != kept.Type {
					t.Errorf("a %s is kept as %s, %d bytes, %v", ext, kept.Type, len(kept.Body), err)
				}
			}
		}
		now := stamp(c.clock.Now())
		first := c.put(page+"/logo", svg).is(200).data()["logo"]
		c.clock.Advance(time.Minute)
		c.put(page+"/logo", svg).is(200).has(map[string]any{"logo": first, "updated_at": now})
		if other := c.put(page+"/logo", strings.Replace(svg, "1 1", "2 2", 1)).is(200).data()["logo"]; other == first {
			t.Error("another logo has the same address")
		}
		c.delete(page + "/logo").is(204)
		none := map[string]any{"logo": nil, "updated_at": stamp(c.clock.Now())}
		c.get(page).has(none)
		c.clock.Advance(time.Minute)
		c.delete(page + "/logo").is(204) // there is none any more
		c.get(page).has(none)
		c.put("/api/v1/pages/nowhere/logo", svg).is(404)

		largest := svg + strings.Repeat(" ", statuspage.MaxImageSize-len(svg))
		c.put(page+"/icon", largest).is(200)
		c.unchanged(func() {
			c.put(page+"/icon", largest+" ").is(413).says("The request body may not be larger than 262144 bytes.")
			for _, body := range noPictures {
				c.put(page+"/icon", body).complains("body")
			}
		})
	})
}

// mediaTypes are the media types of images, by file name extension.
var mediaTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".svg": "image/svg+xml",
	".ico": "image/x-icon",
}

// noPictures are bodies that are rejected.
var noPictures = []string{
	"", " ", "x", "{}", "\x00", "\x89PNG", "GIF88a", "%PDF-1.7", "BM\x00\x00",
	"<html><svg xmlns='http://www.w3.org/2000/svg'/></html>", "<svg/>",
	"<svg xmlns='http://www.w3.org/2000/svg'>",
	"<svg xmlns='http://www.w3.org/2000/svg'/><svg xmlns='http://www.w3.org/2000/svg'/>",
	"<svg xmlns='http://www.w3.org/2000/svg'/>x", "x<svg xmlns='http://www.w3.org/2000/svg'/>",
	"<svg xmlns='http://www.w3.org/1999/xhtml'/>",
	"<!DOCTYPE svg><svg xmlns='http://www.w3.org/2000/svg'/>",
	"<!DOCTYPE svg [<!ENTITY x 'y'>]><svg xmlns='http://www.w3.org/2000/svg'>&x;</svg>",
	"<svg xmlns='http://www.w3.org/2000/svg'><![x[<!ENTITY x 'y'>]]></svg>",
	"<svg xmlns='http://www.w3.org/2000/svg'>&x;</svg>",
	"<svg xmlns='http://www.w3.org/2000/svg'>\xff</svg>",
	"<?xml version='1.0' encoding='UTF-16'?><svg xmlns='http://www.w3.org/2000/svg'/>",
	"<?xml version='1.0' encoding='ISO-8859-1'?><svg xmlns='http://www.w3.org/2000/svg'/>",
	"<svg xmlns='http://www.w3.org/2000/svg'><g></svg>",
	"<svg xmlns='http://www.w3.org/2000/svg'>" + strings.Repeat("<g>", 80_000), "<!-- -->",
}
