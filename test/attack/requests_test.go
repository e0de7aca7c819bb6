package attack

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/test/binary"
)

// smuggledRequests sends streams in which a ping stands where it is no request:
// in a body, in a header, behind a framing that two readers may read differently.
// Its monitor must never have been pinged.
func smuggledRequests(w *environment) {
	victim := w.monitor("victim", 3600)
	ping := "POST /api/v1/heartbeat/" + victim + " HTTP/1.1\r\nHost: localhost\r\n\r\n"
	framings := []string{ // what is ambiguous has to be refused, what is not is a body
		"Content-Length: %[1]d\r\n",
		"Content-Length: %[1]d\r\nContent-Length: 0\r\n",
		"Content-Length: %[1]d, 0\r\n",
		"Content-Length: +%[1]d\r\n",
		"Content-Length: 0x%[1]x\r\n",
		"Content-Length : %[1]d\r\n",
		" Content-Length: %[1]d\r\n",
		"Content-Length: %[1]d\r\nTransfer-Encoding: chunked\r\n",
		"Transfer-Encoding: chunked\r\nContent-Length: %[1]d\r\n",
		"Transfer-Encoding: identity, chunked\r\nContent-Length: %[1]d\r\n",
		"Transfer-Encoding: chunked, identity\r\n",
		"Transfer-Encoding: xchunked\r\n",
		"Transfer-Encoding : chunked\r\n",
		"Transfer-Encoding:\x0bchunked\r\n",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
		"X: y\r\n\tTransfer-Encoding: chunked\r\nContent-Length: %[1]d\r\n",
		"Content-Length: %[1]d\nX: y\r\n",
		"Content-Length: %[1]d\r\nExpect: 100-continue\r\n",
		"Connection: Content-Length\r\nContent-Length: %[1]d\r\n",
		"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n" +
			"Content-Length: %[1]d\r\n",
	}
	targets := []string{
		"POST /api/v1/heartbeat/" + strings.Repeat("a", 32), "POST /api/v1/pages", "POST /status/acme/subscribe",
		"GET /status/acme", "GET /api/v1/pages", "PUT /healthz", "HEAD /status/acme/history",
		"OPTIONS /status/acme/api/v2/status.json",
	}
	chunked := func(s string) string { return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(s), s) }
	w.during(w.size(3000, 200_000), 16, func(i int) {
		framing, target := framings[i%len(framings)], targets[(i/len(framings))%len(targets)]
		body := ping
		if strings.Contains(framing, "chunked") && i%3 > 0 {
			body = chunked(ping)
		}
		if strings.Contains(framing, "%") {
			framing = fmt.Sprintf(framing, len(body))
		}
		if framings[i%len(framings)][0] == 'T' && !strings.Contains(framing, "Content-Length") && body == ping {
			body = chunked(ping) // without a length, only this has no second request behind it
		}
		w.stream(i, target+" HTTP/1.1\r\nHost: localhost\r\n"+framing+"\r\n"+body)
	})
	for _, m := range binary.All[struct {
		Token      string
		LastPingAt *string `json:"last_ping_at"`
	}](w, w.api, "/api/v1/monitors") {
		if m.Token == victim && m.LastPingAt != nil {
			w.Errorf("a request inside of another was acted on at %s", *m.LastPingAt)
		}
	}
}

var statusLine = regexp.MustCompile(`^HTTP/1\.[01] ([1-5]\d\d) `)

// stream sends raw bytes and reads what comes back until the server has nothing
// to say for a moment.
func (w *environment) stream(i int, raw string) (answer string) {
	conn := w.dial(address(40+i%50, i))
	if conn == nil {
		return ""
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(100 * time.Millisecond))
	io.WriteString(conn, raw)
	got, _ := io.ReadAll(io.LimitReader(conn, 1<<20)) // the deadline ends it
	if len(got) > 0 && !statusLine.Match(got) {
		w.Errorf("%.200q was answered %.100q", raw, got)
	}
	if bytes.HasPrefix(got, []byte("HTTP/1.1 500")) {
		w.Errorf("%.200q was answered 500", raw)
	}
	return string(got)
}

// route is one operation of the API's own description.
type route struct{ method, path string }

func (w *environment) routes() (all []route) {
	w.Helper()
	var document struct {
		Paths map[string]map[string]any
	}
	w.api.Must(w, "GET", "/api/v1/openapi.json", nil, &document)
	for path, operations := range document.Paths {
		for method := range operations {
			method = strings.ToUpper(method)
			if slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, method) {
				all = append(all, route{method, path})
			}
		}
	}
	slices.SortFunc(all, func(a, b route) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	if len(all) < 40 {
		w.Fatalf("the API describes %d operations", len(all))
	}
	return all
}

var parameter = regexp.MustCompile(`\{(\w+)\}`)

// at fills in a path's parameters.
func (r route) at(values map[string]string) string {
	return parameter.ReplaceAllStringFunc(r.path, func(p string) string { return values[strings.Trim(p, "{}")] })
}

// objects makes one of everything with a client and returns the ids by the
// names of the path's parameters.
func (w *environment) objects(c *binary.Client, slug string) map[string]string {
	w.Helper()
	ids := map[string]string{"pageSlug": slug}
	made := func(name, path string, body params) {
		w.Helper()
		var answer binary.Data[struct{ ID, Token string }]
		c.Must(w, "POST", path, body, &answer)
		ids[name] = answer.Data.ID
		if name == "monitorId" {
			ids["token"] = answer.Data.Token
		}
	}
	page := "/api/v1/pages/" + slug
	if slug != "acme" {
		made("pageId", "/api/v1/pages", params{"name": "Theirs", "slug": slug})
	}
	made("groupId", page+"/groups", params{"name": "Group"})
	made("componentId", page+"/components", params{"name": "Component"})
	made("incidentId", page+"/incidents", params{"title": "Incident", "message": "It began."})
	made("maintenanceId", page+"/maintenances", params{"title": "Maintenance",
		"scheduled_for":   time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339),
		"scheduled_until": time.Now().Add(25 * time.Hour).UTC().Format(time.RFC3339)})
	made("monitorId", "/api/v1/monitors", params{"name": "Monitor", "page": slug, "interval": 3600})
	made("subscriberId", page+"/subscribers", params{
		"channel": "webhook", "target": "https://hooks.example.com/" + slug,
	})
	made("tokenId", "/api/v1/tokens", params{"name": "Token", "scope": "read"})
	ids["deliveryId"] = "dlv_00000000000000000000"
	return ids
}

// anotherWorkspace asks every operation for the objects of another workspace.
func anotherWorkspace(w *environment) {
	ours := w.objects(w.api, "acme")
	theirs := binary.NewClient(w.server.URL, w.tokenOf("theirs"))
	w.objects(theirs, "theirs")
	before := w.everything(w.api)
	for _, r := range w.routes() {
		if !strings.Contains(r.path, "{") || strings.Contains(r.path, "heartbeat") {
			continue
		}
		for _, body := range []any{
			nil, params{"name": "x"},
			params{"title": "x", "message": "x", "status": "degraded", "components": []any{}},
		} {
			status, err := theirs.Do(context.Background(), r.method, r.at(ours), body, nil)
			if err != nil || status != http.StatusNotFound && status != http.StatusUnprocessableEntity {
				w.Errorf("%s %s of another workspace: %d, %v", r.method, r.path, status, err)
			}
			if body == nil && (r.method == "GET" || r.method == "DELETE") && status != http.StatusNotFound {
				w.Errorf("%s %s of another workspace: %d, want 404", r.method, r.path, status)
			}
		}
	}
	if after := w.everything(w.api); after != before {
		w.Errorf("another workspace changed something:\n%s\n%s", before, after)
	}
}

// everything is all that the API lists of a workspace, but for what pings move.
func (w *environment) everything(c *binary.Client) string {
	w.Helper()
	var out strings.Builder
	for _, path := range []string{
		"pages", "pages/acme", "pages/acme/groups", "pages/acme/components", "pages/acme/incidents",
		"pages/acme/maintenances", "pages/acme/subscribers", "monitors", "tokens",
	} {
		var answer any
		c.Must(w, "GET", "/api/v1/"+path+"?per_page=100", nil, &answer)
		text, err := json.Marshal(answer)
		if err != nil {
			w.Fatal(err)
		}
		out.Write(text)
	}
	moving := regexp.MustCompile(`"(last_ping_at|next_check_at|last_used_at|consecutive_failures)":("[^"]*"|\d+|null)`)
	return moving.ReplaceAllString(out.String(), "")
}

// fuzzedBodies sends bodies that are nearly right to every operation that reads
// one. None may be answered 500, and what is refused changes nothing.
func fuzzedBodies(w *environment) {
	ids := w.objects(w.api, "acme")
	values := []string{
		`null`, `true`, `0`, `-1`, `1e400`, `9223372036854775808`, `""`, `" "`, `"\u0000"`, `"\ud800"`, "\"\xff\"",
		`[]`, `{}`, `[[]]`,
		`"` + strings.Repeat("x", 26_000) + `"`, strings.Repeat("[", 100) + strings.Repeat("]", 100), `"resolved"`,
		`"2026-02-30T00:00:00Z"`,
		`"javascript:alert(1)"`, `"http://127.0.0.1:1/"`, `[{"id":"` + ids["componentId"] + `","status":"unknown"}]`,
		`"` + "\u202e" + `gnp.exe"`,
	}
	fields := []string{
		"title", "impact", "state", "resolved", "message", "status", "description", "name", "slug", "order", "group",
		"components",
		"channel", "target", "confirmed", "interval", "page", "component_id", "enabled", "failure_threshold",
		"down_status",
		"scheduled_for", "scheduled_until", "remind_before", "scope", "domain", "accent", "footer_links", "time_zone",
		"language", "__proto__",
	}
	var writing []route
	for _, r := range w.routes() {
		if (r.method == "POST" || r.method == "PUT" || r.method == "PATCH") && !strings.Contains(r.path, "heartbeat") {
			writing = append(writing, r)
		}
	}
	bodies := make([]string, w.size(1500, 40_000))
	for i := range bodies {
		bodies[i] = fuzzedBody(w, fields, values)
	}
	c := client(address(60, 1))
	c.Transport.(*http.Transport).DisableKeepAlives = false
	w.during(len(bodies), 8, func(i int) {
		r := writing[i%len(writing)]
		req, err := http.NewRequest(r.method, w.server.URL+r.at(ids), strings.NewReader(bodies[i]))
		if err != nil {
			w.Error(err)
			return
		}
		req.Header.Set("Authorization", "Bearer "+adminToken)
		res, err := c.Do(req)
		if err != nil {
			w.Errorf("%s %s: %v", r.method, r.path, err)
			return
		}
		answer, _ := io.ReadAll(io.LimitReader(res.Body, 1<<20)) // only for the message
		res.Body.Close()
		if res.StatusCode >= 500 || res.StatusCode < 200 {
			w.Errorf("%s %s with %.300q: status %d %.200q", r.method, r.path, bodies[i], res.StatusCode, answer)
		}
	})
}

// fuzzedBody is an object that is nearly right, and sometimes no JSON.
func fuzzedBody(w *environment, fields, values []string) string {
	var b strings.Builder
	b.WriteByte('{')
	for n := range 1 + w.IntN(5) {
		if n > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", fields[w.IntN(len(fields))], values[w.IntN(len(values))])
	}
	b.WriteByte('}')
	body := b.String()
	if w.IntN(10) == 0 {
		cut := w.IntN(len(body))
		body = body[:cut] + string(rune(w.IntN(256))) + body[cut:]
	}
	return body
}

// bombs sends what is small to send and large to handle.
func bombs(w *environment) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(make([]byte, 64<<20))
	z.Close()
	authorized := "Authorization: Bearer " + adminToken + "\r\n"
	post := func(headers, body string) string {
		return "POST /api/v1/pages/acme/incidents HTTP/1.1\r\nHost: localhost\r\n" + authorized + headers +
			fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body)) + body
	}
	for name, raw := range map[string]string{
		"a body that unpacks to 64 MB": post("Content-Encoding: gzip\r\n", packed.String()),
		"deep JSON":                    post("", strings.Repeat(`{"title":`, 100_000)),
		"a wide object":                post("", "{"+strings.Repeat(`"a":1,`, 150_000)+`"title":"x"}`),
		"a body of 2 MiB":              post("", `{"title":"`+strings.Repeat("x", 2<<20)+`"}`),
		"a body that never ends": "POST /api/v1/pages HTTP/1.1\r\nHost: localhost\r\n" + authorized +
			"Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("ffff\r\n"+strings.Repeat("x", 0xffff)+"\r\n", 40),
		"a long request line": "GET /" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"long headers": "GET / HTTP/1.1\r\nHost: localhost\r\n" +
			strings.Repeat("X-Bomb: "+strings.Repeat("y", 1000)+"\r\n", 1000) + "\r\n",
		"many headers": "GET / HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("A:b\r\n", 100_000) +
			"\r\n",
		"many accepted languages": "GET /status/acme HTTP/1.1\r\nHost: localhost\r\nAccept-Language: " +
			strings.Repeat("de;q=0.1,", 3000) + "\r\n\r\n",
		"many entity tags": "GET /status/acme HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: " +
			strings.Repeat(`"a",`, 7000) + "\r\n\r\n",
		"many forwarded addresses": "GET /status/acme HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: " +
			strings.Repeat("10.0.0.1,", 3000) + "\r\n\r\n",
	} {
		w.during(w.size(4, 100), 4, func(i int) {
			conn := w.dial(address(61, i))
			if conn == nil {
				return
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(time.Minute)) // the machine may be busy
			go io.WriteString(conn, raw)                  // the server may stop reading it
			head := make([]byte, 16)
			n, err := io.ReadAtLeast(conn, head, 12)
			if match := statusLine.FindSubmatch(append(head[:n], ' ')); match == nil || match[1][0] == '5' {
				w.Errorf("%s: %q, %v", name, head[:n], err)
			}
		})
	}
	w.pingsGoOn("bombs")
}
