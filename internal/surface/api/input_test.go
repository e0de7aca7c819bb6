package api

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/internal/surface/web"
	"github.com/google/go-cmp/cmp"
)

// kind is the type of a field.
type kind int

const (
	text kind = iota // not blank
	freeText
	choice
	integer
	decimal
	boolean
	reference // an id, or "" for none
	references
	tags
	instant
	objects
	other // text of a form of its own
)

type inputField struct {
	name     string
	kind     kind
	required bool
	most     int // characters
}

// fieldsOf has the fields that each route reads, so that each gets every kind of invalid
// value.
func fieldsOf(t testing.TB, rt *route) []inputField {
	t.Helper()
	if d := descriptionOf(rt); d != nil {
		return describedFields(*d, rt)
	}
	if fields, known := handwrittenFields[rt.method+" "+rt.path]; known {
		return fields
	}
	if reads(rt) {
		t.Fatalf("the fields of %s %s are not known", rt.method, rt.path)
	}
	return nil
}

// handwrittenFields are the fields of the requests that no description has, by method and path.
var handwrittenFields = map[string][]inputField{
	"PATCH /api/v1/pages/{pageSlug}/ping-key": {{"access", choice, false, 0}, {"key", other, false, 0}},
	"PATCH /api/v1/pages/{pageSlug}/access": {
		{"members", boolean, false, 0}, {"networks", references, false, 0}, {"password", text, false, 512},
		{"link", choice, false, 0},
	},
	"PATCH /api/v1/pages/{pageSlug}/components/{componentId}": {
		{"status", choice, true, 0}, {"description", freeText, false, 1000},
	},
	"POST /api/v1/pages/{pageSlug}/incidents": {
		{"title", text, true, 255}, {"impact", choice, false, 0}, {"state", choice, false, 0},
		{"message", text, false, 25000},
		{"components", objects, false, 500}, {"draft", boolean, false, 0}, {"notify", boolean, false, 0},
		{"template", reference, false, 0}, {"began_at", instant, false, 0}, {"resolved_at", instant, false, 0},
	},
	"PUT /api/v1/incidents/{incidentId}/merged-into": {{"incident_id", reference, true, 0}},
	"PUT /api/v1/incidents/{incidentId}/postmortem": {
		{"body", text, true, 25000}, {"published", boolean, false, 0}, {"notify", boolean, false, 0},
	},
	"PUT /api/v1/incidents/{incidentId}/components": {{"components", objects, true, 500}},
	"PATCH /api/v1/incidents/{incidentId}": {
		{"title", text, false, 255}, {"impact", choice, false, 0}, {"state", choice, false, 0},
		{"resolved", boolean, false, 0},
		{"message", freeText, false, 25000}, {"notify", boolean, false, 0},
	},
	"POST /api/v1/incidents/{incidentId}/updates": {
		{"message", text, true, 25000}, {"state", choice, false, 0}, {"impact", choice, false, 0},
		{"components", objects, false, 500}, {"notify", boolean, false, 0}, {"at", instant, false, 0},
	},
	"PATCH /api/v1/incidents/{incidentId}/updates/{updateId}": {{"message", text, true, 25000}},
	"POST /api/v1/monitors/test": {
		{"type", choice, true, 0}, {"timeout", integer, false, 0}, {"slow_after", decimal, false, 0},
	},
	"POST /api/v1/pages/{pageSlug}/subscribers/import": {
		{"csv", text, true, audience.MaxImportBytes}, {"consent", text, true, 500},
		{"confirmed", boolean, false, 0}, {"dry_run", boolean, false, 0},
	},
	"POST /api/v1/channels/test": {{"type", choice, true, 0}},
	"POST /api/v1/alert-rules/test": {
		{"event", choice, true, 0}, {"monitor", reference, false, 0}, {"page", reference, false, 0},
		{"tags", tags, false, 200}, {"severity", choice, false, 0}, {"at", instant, false, 0},
	},
	"POST /api/v1/tokens": {
		{"name", text, true, 255}, {"scope", choice, true, 0}, {"expires_at", instant, false, 0},
		{"pages", references, false, 0},
	},
	"POST /api/v1/invitations": {
		{"email", other, true, 254}, {"role", choice, true, 0}, {"pages", references, false, 0},
	},
	"PATCH /api/v1/members/{memberId}": {{"role", choice, false, 0}, {"pages", references, false, 0}},
}

// reads reports whether a route reads its body as JSON.
func reads(rt *route) bool { return requests()[rt.id] != nil }

var requests = sync.OnceValue(func() map[string]object {
	w, err := readWritten()
	if err != nil {
		panic(err)
	}
	return w.Requests
})

// TestFieldsOfRoutesAreDocumented checks that fieldsOf names exactly the body fields of the document, so that each of
// them gets every kind of invalid value.
func TestFieldsOfRoutesAreDocumented(t *testing.T) {
	doc := loadSpec(t)
	for _, rt := range routes() {
		if !reads(rt) {
			continue
		}
		schema := doc.Paths.Value(rt.path).GetOperation(rt.method).RequestBody.Value.Content.Get("application/json").
			Schema.Value
		documented := slices.Sorted(maps.Keys(schema.Properties))
		documented = slices.DeleteFunc(documented, func(name string) bool {
			_, ofTypes := schema.Properties[name].Value.Extensions["x-types"] // see TestFieldsOfTypes
			// see TestMonitorSchedules and TestAlertRules
			return ofTypes || name == "schedule" || name == "quiet_hours"
		})
		if rt.method == http.MethodPut {
			// The address has the slug; see put.
			documented = slices.DeleteFunc(documented, func(name string) bool {
				return name == "slug" || name == "unique_name"
			})
		}
		var required, listed []string
		for _, f := range fieldsOf(t, rt) {
			listed = append(listed, f.name)
			if f.required {
				required = append(required, f.name)
			}
		}
		slices.Sort(listed)
		slices.Sort(required)
		if diff := cmp.Diff(documented, listed); diff != "" {
			t.Errorf("%s %s: fields (-document +fieldsOf):\n%s", rt.method, rt.path, diff)
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(schema.Required)), required); diff != "" {
			t.Errorf("%s %s: required fields (-document +fieldsOf):\n%s", rt.method, rt.path, diff)
		}
	}
}

// descriptionOf returns the description of the resource that a route writes; nil: its fields are listed in fieldsOf.
func descriptionOf(rt *route) *field.Description {
	for _, d := range resource.Descriptions {
		if slices.ContainsFunc([]string{"create", "add", "put", "change", "edit"}, func(call string) bool {
			return rt.id == call+d.TypeName()
		}) {
			return &d
		}
	}
	return nil
}

// requestOf returns the kind of request of a route that writes a described resource.
func requestOf(rt *route) field.Request {
	switch rt.method {
	case http.MethodPost:
		return field.Creation
	case http.MethodPut:
		return field.Replacement
	}
	return field.Changing
}

// describedFields returns the fields of requests that write a described resource.
func describedFields(d field.Description, rt *route) (all []inputField) {
	kinds := map[field.Kind]kind{
		field.KindChoice: choice, field.KindTime: instant, field.KindInteger: integer, field.KindDuration: integer,
		field.KindSlug:      other,
		field.KindReference: reference, field.KindComponents: references, field.KindDecimal: decimal,
		field.KindBool: boolean, field.KindTexts: tags, field.KindChoices: references, field.KindReferences: references,
		field.KindParts: objects,
	}
	for _, f := range d.Fields {
		// the address has it
		if !f.In(requestOf(rt)) || f.Kind == field.KindPart || f.Kind == field.KindOwn || f.Kind == field.KindConfig ||
			f.Kind == field.KindSlug && rt.method == http.MethodPut {
			continue
		}
		in := inputField{f.Name, freeText, f.Required && rt.method != http.MethodPatch, max(f.Max, f.Items)}
		if f.Kind == field.KindComponents {
			in.most = statuspage.MaxAffectedComponents
		}
		switch k, ok := kinds[f.Kind]; {
		case ok:
			in.kind = k
		case f.Required, f.WriteOnly && f.IsPointer():
			in.kind = text
		}
		all = append(all, in)
	}
	if d.Unique && rt.method == http.MethodPost {
		all = append(all, inputField{"unique_name", boolean, false, 0})
	}
	return all
}

// describedBody returns a body with the required fields, and with a page if the resource can name one.
func describedBody(d field.Description, rt *route, w world) map[string]any {
	body, at := make(map[string]any), w.now
	for _, f := range d.Fields {
		switch {
		case !f.In(requestOf(rt)) && f.Kind != field.KindConfig:
		case f.Kind == field.KindSlug:
			if f.Required && rt.method == http.MethodPost {
				body[f.Name] = "new-page"
			}
		case f.Name == "domain" && rt.method == http.MethodPut: // others verify it
			body[f.Name] = w.slug + ".example.net"
		case f.Kind == field.KindReference && f.Name == "page":
			body[f.Name] = w.slug
		case f.Name == "channel_ids":
			body[f.Name] = []string{w.usedChannel}
		case f.Of == "component":
			body[f.Name] = []string{w.component}
		case f.Name == "target":
			body[f.Name] = "new@example.com"
		case f.Name == "channel":
			body[f.Name] = "email"
		case f.Kind == field.KindLines:
			body[f.Name] = "Restore test"
		case f.Name == "interval" && rt.method != http.MethodPatch:
			body[f.Name] = 60
		case f.Kind == field.KindConfig && d.Noun == "channel" && rt.method != http.MethodPatch:
			body["type"], body["url"] = "webhook", "https://ops.example.com/hook"
		case f.Name == "type":
		case !f.Required || rt.method == http.MethodPatch && f.Kind == field.KindTime:
		case f.Kind == field.KindTime:
			at = at.Add(time.Hour) // one is after the other
			body[f.Name] = at
		default:
			body[f.Name] = "New " + rt.id
		}
	}
	return body
}

// badValues returns JSON values that are invalid for a field.
func badValues(f inputField) []string {
	out := []string{`{}`, `{"a":1}`}
	if f.kind != decimal {
		out = append(out, `1.5`)
	}
	if f.kind != objects && f.kind != tags && f.most != statuspage.MaxAffectedComponents {
		out = append(out, `["x"]`)
	}
	if f.kind != references && f.kind != objects && f.kind != tags {
		out = append(out, `[]`)
	}
	if f.kind != boolean {
		out = append(out, `true`, `false`)
	}
	if f.kind == decimal {
		out = append(out, `0`, `-1`, `1e-9`, `121`, `"1"`, `""`)
	} else if f.kind != integer {
		out = append(out, `0`, `1`, `-1`)
	}
	out = append(out, badValuesOfKind(f)...)
	if f.kind == text {
		out = append(out, `""`, `" "`, `"\t\n\u00a0\u3000"`)
	}
	if f.required {
		out = append(out, `null`)
	}
	if f.name == "target" {
		out = append(out, `"ada"`, `"ada@"`, `"Ada <ada@example.com>"`, `"a@example.com,b@example.com"`,
			`"a@example.com\r\nBcc: b@example.com"`,
			`"https://example.com/"`)
	}
	if f.name == "slug" {
		out = append(out, `"Acme"`, `"a b"`, `"a_b"`, `"a/b"`, `"é"`, `"a\n"`)
	}
	return out
}

// badValuesOfKind returns JSON values that are invalid for the fields of a kind.
func badValuesOfKind(f inputField) (out []string) {
	switch f.kind {
	case text, freeText:
		out = append(out, `"\u0000"`, `"a\u0000b"`, `"\ud800"`, `"\udc00x"`, `"\ud800\u0041"`,
			`"`+strings.Repeat("a", f.most+1)+`"`)
	case choice:
		out = append(out, `""`, `" "`, `"nonsense"`, `"OPERATIONAL"`, `"none "`, `"\u0000"`, `"\ud800"`)
	case integer:
		out = append(out, `"1"`, `1.0`, `1e3`, `1E0`, `-1000001`, `31536001`, `9223372036854775807`,
			`9223372036854775808`,
			`36028797018964028`, // in nanoseconds it would wrap around to a minute
			`1e400`, `"sixty"`, `""`)
	case boolean:
		out = append(out, `"true"`, `""`, `0`, `1`)
	case reference:
		out = append(out, `"nowhere"`, `"\u0000"`, `"\ud800"`, `" "`)
	case references:
		out = append(out, `"x"`, `""`, `[null]`, `[1]`, `[[]]`, `[{}]`, `["\u0000"]`, `["\ud800"]`, `["x", "x"]`)
		if f.most < statuspage.MaxAffectedComponents { // a subscriber's are complained of as a whole
			out = append(out, `["", "x"]`, `[" "]`, `["comp_00000000000000000000"]`)
		}
	case tags:
		tooMany := make([]string, max(f.most, 10)+1)
		for i := range tooMany {
			tooMany[i] = fmt.Sprintf(`"t%d"`, i)
		}
		out = append(out, "["+strings.Join(tooMany, ",")+"]")
		out = append(out, `"x"`, `""`, `[null]`, `[1]`, `[""]`, `["X"]`, `["a b"]`, `["a\n"]`, `["é"]`, `["\u0000"]`,
			`["`+strings.Repeat("a", monitor.MaxTagLength+1)+`"]`)
	case instant:
		out = append(out, `""`, `" "`, `"tomorrow"`, `"2026-11-21"`, `"2026-11-21T04:00:00"`, `"2026-11-21 04:00:00Z"`,
			`"2026-11-21T04:00:60Z"`,
			`"\u0000"`, `1795233600`)
	case objects:
		out = append(out, `"x"`, `""`, `[`+strings.Repeat(`{},`, f.most)+`{}]`)
	case other:
		out = append(out, `" "`, `"\u0000"`, `"\ud800"`, `"`+strings.Repeat("a", f.most+1)+`"`, `"x y"`, `"é"`,
			`"Local"`, `"../etc/passwd"`, `"#12345"`)
	}
	return out
}

// TestInvalidFieldsAreRejected sends every invalid value for each field of each route,
// with the other fields valid, and then with all fields invalid.
func TestInvalidFieldsAreRejected(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		c.unchanged(func() {
			for _, rt := range routes() {
				if !reads(rt) {
					continue
				}
				good := make(map[string]json.RawMessage)
				encoded, err := json.Marshal(validBody(t, rt, w))
				if err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(encoded, &good); err != nil {
					t.Fatal(err)
				}
				var all []string
				worst := make(map[string]json.RawMessage)
				for _, f := range fieldsOf(t, rt) {
					all, worst[f.name] = append(all, f.name), json.RawMessage(`{"x":[1]}`)
					for _, value := range badValues(f) {
						body := maps.Clone(good)
						body[f.name] = json.RawMessage(value)
						c.do(rt.method, w.path(rt), body).complains(f.name)
					}
					if f.required {
						body := maps.Clone(good)
						delete(body, f.name)
						c.do(rt.method, w.path(rt), body).complains(f.name)
					}
				}
				c.do(rt.method, w.path(rt), worst).complains(all...)
			}
		})
	})
}

// TestInvalidBodiesAreRejected sends bodies that are not JSON objects.
func TestInvalidBodiesAreRejected(t *testing.T) {
	deep := strings.Repeat(`[`, jsonobject.MaxDepth) + strings.Repeat(`]`, jsonobject.MaxDepth)
	broken := map[string]string{
		"empty": "", "blank": " \n\t", "null": "null", "true": "true", "a number": "5", "a string": `"x"`,
		"an array":            "[]",
		"an array of objects": `[{"title":"x"}]`, "cut off": `{"title":"x"`, "a brace": "{", "two objects": `{}{}`,
		"trailing text": `{} x`, "a trailing comma": `{"title":"x",}`, "single quotes": `{'title':'x'}`,
		"no quotes": `{title:"x"}`,
		"a comment": `{} // x`, "not JSON": "title=x", "NaN": `{"x":NaN}`,
		"a raw control character": "{\"title\":\"a\nb\"}",
		"a byte order mark":       "\ufeff{}", "Latin-1": "{\"title\":\"\xe9\"}",
		"overlong UTF-8":       "{\"title\":\"\xc0\xaf\"}",
		"an encoded surrogate": "{\"title\":\"\xed\xa0\x80\"}", "bad UTF-8 in an unknown field": "{\"x\":\"\xff\"}",
		"UTF-16": "\xff\xfe{\x00}\x00", "too deep": `{"x":` + deep + `}`,
		"far too deep": strings.Repeat(`{"a":`, 100_000),
		"a bad escape": `{"title":"\x41"}`, "a leading zero": `{"interval":060}`, "a NUL byte": "{}\x00",
	}
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		c.unchanged(func() {
			for _, rt := range routes() {
				if !reads(rt) {
					continue
				}
				for name, body := range broken {
					if a := c.do(rt.method, w.path(rt), body); a.status != 422 {
						t.Fatalf("%s with %s = %d: %s", a.asked, name, a.status, a.body)
					}
					c.do(rt.method, w.path(rt), body).complains("body")
				}
				for _, f := range fieldsOf(t, rt) {
					good, err := json.Marshal(validBody(t, rt, w))
					if err != nil {
						t.Fatal(err)
					}
					twice := strings.TrimSuffix(string(good), "}") + `,"` + f.name + `":null,"\u00` + hex(f.name[0]) +
						f.name[1:] + `":null}`
					a := c.do(rt.method, w.path(rt), twice).is(422)
					if a.object()["errors"].(map[string]any)[f.name] == nil {
						t.Errorf("%s with %s twice: %s", a.asked, f.name, a.body)
					}
				}
				a := c.do(rt.method, w.path(rt), `{"unknown":1,"unknown":2}`).is(422)
				if a.object()["errors"].(map[string]any)["unknown"] == nil {
					t.Errorf("%s with an unknown field twice: %s", a.asked, a.body)
				}
			}
		})
	})
}

func hex(b byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[b>>4], digits[b&15]})
}

func TestBodySizes(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		// padded is a valid body of exactly n bytes.
		padded := func(rt *route, n int) string {
			good, err := json.Marshal(validBody(t, rt, w))
			if err != nil {
				t.Fatal(err)
			}
			return string(good) + strings.Repeat(" ", n-len(good))
		}
		c.unchanged(func() {
			for _, rt := range routes() {
				if rt.maxBodySize() == web.MaxBody {
					c.do(rt.method, w.path(rt), padded(rt, web.MaxBody+1)).is(413).
						says("The request body may not be larger than 1048576 bytes.")
				}
			}
		})
		for _, rt := range routes() {
			if reads(rt) {
				if a := c.do(rt.method, w.path(rt), padded(rt, web.MaxBody)); a.status >= 300 {
					t.Errorf("%s with a body of the largest size = %d", a.asked, a.status)
				}
			}
		}
	})
}

func TestInvalidQueriesAreRejected(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		w := c.build("acme")
		for _, rt := range routes() {
			if rt.returns.shape != shapeList {
				continue
			}
			path := w.path(rt)
			for _, value := range []string{
				"0", "-1", "1.0", "1e1", "x", "", "%201", "+1", "99999999999999999999", "4294967297", "0x1", "１",
			} {
				c.get(path + "?page=" + value).complains("page")
				c.get(path + "?per_page=" + value).complains("per_page")
				c.get(path+"?page="+value+"&per_page="+value).complains("page", "per_page")
			}
			c.get(path + "?per_page=101").complains("per_page")
			c.get(path + "?page=1&page=2").complains("page")
			c.get(path + "?page=%zz").complains("query")
			c.get(path + "?a;b").complains("query")
			c.get(path + "?page=2147483647&per_page=100&unknown=1").is(200)
		}
		for _, value := range []string{"", "1", "TRUE", "yes", "null"} {
			c.get("/api/v1/pages/acme/incidents?resolved=" + value).complains("resolved")
		}
		c.get("/api/v1/pages/acme/incidents?resolved=x&page=0").complains("resolved", "page")
		for _, value := range []string{"", "done", "Dead", "dead,", "dead,done", "dead%20", "dead&state=sent"} {
			c.get("/api/v1/pages/acme/deliveries?state=" + value).complains("state")
		}
		c.get("/api/v1/pages/acme/deliveries?state=x&page=0").complains("state", "page")
		for _, value := range []string{"", "done", "Completed", "scheduled,completed", "completed&state=scheduled"} {
			c.get("/api/v1/pages/acme/maintenances?state=" + value).complains("state")
		}
		for _, value := range []string{"", "0", "91", "-1", "1.0", "x", "7&days=8"} {
			c.get("/api/v1/pages/acme/uptime?days=" + value).complains("days")
		}
	})
}

// bodySeeds are the bodies from which fuzzing starts.
var bodySeeds = []string{
	`{"title":"x","impact":"minor","state":"resolved","resolved":true,"message":"y"}`,
	`{"name":"x","slug":"x","description":null,"order":1,"status":"degraded","group":""}`,
	`{"name":"x","interval":60,"page":"acme","component_id":null,"enabled":false,"failure_threshold":2,` +
		`"down_status":"degraded"}`,
	`{"channel":"email","target":"x@example.com","confirmed":true,"components":[]}`,
	`{"channel":"webhook","target":"http://x","components":["x"]}`,
	`{"title":"x","scheduled_for":"2026-11-21T04:00:00+01:00","scheduled_until":"2026-11-21T05:00:00Z",` +
		`"components":["x"],"remind_before":0}`,
	`{"message":"x","state":"completed"}`, `{"title":"x","components":[{"id":"x","status":"degraded"},{}]}`,
	`{"components":[]}`,
	`{"name":"x","slug":"y","time_zone":"Asia/Tokyo","language":null,"domain":"a.b","accent":"#123456",` +
		`"footer_links":[{"label":"x","url":"http://x"}]}`,
	`{"name":"x","scope":"read"}`, `{"title":"\ud800","title":"\u0000"}`, `{"interval":1e3,"order":1.0}`, `[{}`,
}

// FuzzBody sends arbitrary bodies to all routes. Every response is documented, and a
// rejected request changes nothing.
func FuzzBody(f *testing.F) {
	var reading []*route
	for _, rt := range routes() {
		if reads(rt) {
			reading = append(reading, rt)
		}
	}
	every := 3
	if flag.Lookup("test.fuzz").Value.String() != "" {
		every = 40 // so that a short run gets beyond the seeds
	}
	for i := range reading {
		for j, body := range bodySeeds {
			if (i+j)%every == 0 { // fuzzing tries the others
				f.Add(uint(i), []byte(body))
			}
		}
	}
	clk := newClock()
	dsn := "sqlite:" + filepath.Join(f.TempDir(), "allswell.db")
	c := newClient(f,
		storetest.Open(f, dsn, store.Options{Clock: clk.Now, Hosts: statuspage.NewHosts("allswell.example")}), clk,
		Config{})
	c.commits = countCommits(f, dsn)
	w := c.build("acme")
	before, changes := c.state(), 0
	f.Fuzz(func(t *testing.T, which uint, body []byte) {
		c, rt := c.in(t), reading[which%uint(len(reading))]
		a := c.do(rt.method, w.path(rt), string(body))
		switch a.status {
		case 413, 422:
			if diff := cmp.Diff(before, c.state()); diff != "" {
				t.Fatalf("a refused request changed something (-before +after):\n%s", diff)
			}
		case 200, 201:
			// Many changes would make the state large, and one may have moved the page.
			changes++
			if changes%100 == 0 || c.get("/api/v1/pages/"+w.slug).status != 200 {
				for _, page := range c.get("/api/v1/pages").is(200).rows() {
					c.delete("/api/v1/pages/" + page["slug"].(string)).is(204)
				}
				w = c.build(fmt.Sprintf("acme-%d", changes)) // people and channels of the last one keep its name
			}
			before = c.state()
		default:
			t.Fatalf("%s = %d: %s", a.asked, a.status, a.body)
		}
	})
}
