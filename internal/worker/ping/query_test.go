package ping

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
)

// readsAs returns what a request means: a kind with its exit code and output, or the status of the answer.
func readsAs(path, raw string) string {
	c := readContact(&http.Request{URL: &url.URL{Path: path}}, raw)
	if c.invalid != nil {
		return strconv.Itoa(c.invalid.status)
	}
	text := string(c.kind)
	if c.exitCode != nil {
		text += fmt.Sprint(" ", *c.exitCode)
	}
	if c.output != "" {
		text += " " + c.output
	}
	return text
}

var (
	testKey   = strings.Repeat("k", kernel.PingKeyLength)
	testToken = strings.Repeat("t", kernel.PingTokenLength)
)

// queries are queries as jobs send them, with mistakes, and what the service of the path makes of them. 400: nothing is
// recorded.
var queries = map[string]map[string]string{
	kumaPath + testToken: {
		"": "success", "status=up&msg=OK&ping=": "success", "status": "success", "status=&msg=a": "success a",
		"STATUS=up":   "success",
		"status=down": "fail", "status=down%&msg=x": "fail x", "status=down;msg=x": "fail",
		"status=up;msg=x": "fail", "status=up%": "fail",
		"status=up%00": "fail", "status=Up": "fail", "status=+up": "fail", "status=1": "fail", "status=%ff": "fail",
		"status=up&status=down": "fail", "status=down&status=up": "fail", "status=up&status=up": "fail",
		"status[]=up":   "fail",
		"status[]=down": "fail", "status%5B%5D=down": "fail", "status[a][b]=up": "fail", "[status]=down": "fail",
		"[status]=up":       "success",
		"msg=disk+95%+full": "success disk 95% full", "msg=disk+95%+full&status=down": "fail disk 95% full",
		"msg=95%25+full%21": "success 95% full!",
		"msg=a&msg=b":       "success a, b", "msg=a%3Bb%26status%3Ddown": "success a;b&status=down",
		"%zz=1&status=down": "fail", "&&status=down": "fail",
		"STATUS=Down": "400", "+status+=down": "400", "%00status=down": "400", "msg=x;status=down": "400",
		"msg=x&amp;status=down": "400",
		"?status=down":          "400", "status%3Ddown": "400", "status]=x]=up": "fail",
		strings.Repeat("a=1&", 1001): "400",
	},
	snitchPath + testToken: {
		"": "success", "s": "success", "s=0": "success 0", "s=00": "success", "s=+0": "success 0",
		"s=0;m=x": "success 0 x", "m=a+b": "success a b", "m=a%3Bb": "success a;b",
		"s=1": "fail 1", "s=1;m=x": "fail 1 x", "m=x;s=1": "fail 1 x", "s=-1": "fail", "s=killed": "fail",
		"s=0&s=1": "fail 1", "s=0.5": "fail", "s=٣": "fail",
		"s=1%": "400", "s=0%": "400", "m=disk+95%+full": "400", "m=disk+95%+full&s=1": "400", "x=%zz": "400",
		"s=%ff": "400", "s[]=1": "400", "s[]=0": "400",
		"s=1&s[]=0": "400", "s[a]=1": "400", "s%5B%5D=1": "400", "[s]=1": "fail 1", "S=1": "400", "+s=1": "400",
		"S=0": "success", "s=1&s=0": "400", "m[]=x": "400",
	},
	cronitorPath + testKey + "/job": {
		"": "success", "state=": "success", "state=complete": "success", "state=ok": "success",
		"state=tick": "success", "state=tick&msg=x": "success x",
		"state=run": "start", "state=run&status_code=1": "400", "state=fail": "fail",
		"state=fail&status_code=0": "fail", "state=fail&status_code=x": "fail",
		"state=complete&status_code=0": "success 0", "state=complete&status_code=3": "fail 3",
		"state=complete&status_code=-1": "fail", "state=complete&status_code=256": "fail",
		"state=complete&status_code=+2": "fail 2", "state=complete&status_code=99999999999999999999": "fail",
		"state=complete&status_code=": "success", "status_code=1": "fail 1",
		"state=complete&status_code=1%": "400", "state=complete&status_code=x": "400",
		"state=complete&status_code=0&status_code=1": "fail 1",
		"state=complete&status_code=1&status_code=0": "400", "state=complete&STATUS_CODE=1": "400",
		"state=complete;status_code=1": "400", "state=complete&status_code[]=1": "400",
		"state=fail%": "400", "state=fail;msg=x": "400", "state=FAIL": "400", "state=failed": "400",
		"State=fail": "400", "state[]=fail": "400", "state=complete&state=fail": "fail",
		"state=fail&state=complete": "400", "state=complete%20": "400",
		"msg=disk+95%+full&state=fail": "fail disk 95% full", "message=a&msg=b": "success a",
	},
	healthchecksPath + testKey + "/job": {
		"x=%zz": "success", "state=complete&status_code=3": "fail 3", "STATE=fail": "400", "state[]=fail": "400",
		"rid=x": "400", "rid=%": "400",
	},
	Path + testToken + "/success": {"x=1": "success", "rid=x": "422", "rid=%": "422", "a;b": "422"},
	Path + testToken:              {"status=down%;": "success", "rid=x": "422"},
}

// TestQueries reads queries with and without a slash at the end of the path.
func TestQueries(t *testing.T) {
	for path, ofPath := range queries {
		for raw, want := range ofPath {
			for _, slash := range []string{"", "/"} {
				if want == "422" && path == Path+testToken {
					continue // a plain ping, whose query is ignored: TestContactPaths
				}
				if got := readsAs(path+slash, raw); got != want {
					t.Errorf("%.40s%s?%.60s: %q, want %q", path, slash, raw, got, want)
				}
			}
		}
	}
}

// TestFailuresAreNeverSuccesses compares random queries with the rules of the services, written again from their
// sources.
func TestFailuresAreNeverSuccesses(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	pieces := []string{
		"status=", "s=", "state=", "status_code=", "msg=", "m=", "status=down", "s=1", "state=fail",
		"state=complete&status_code=1", "status", "s", "STATUS", "S", "State",
		"=", "=", "&", "&", "&", "&", ";", "down", "up", "0", "1", "fail", "complete", "ok", "%", "%00", "%3D", "%26",
		"%3B", "%5B", "%5D", "[]", "[", "]", "+", "%20", "%ff", "%zz", "a",
		"?", "é", "-", "00", "%73", "%31",
	}
	var failures [3]int
	for range 40_000 {
		var raw strings.Builder
		for range 1 + random.IntN(9) {
			raw.WriteString(pieces[random.IntN(len(pieces))])
		}
		for i, c := range []struct {
			path  string
			fails func(raw string) bool
		}{
			{kumaPath + testToken, kumaFails}, {snitchPath + testToken, snitchFails},
			{cronitorPath + testKey + "/job", cronitorFails},
		} {
			if !c.fails(raw.String()) {
				continue
			}
			failures[i]++
			if got := readsAs(c.path, raw.String()); !strings.HasPrefix(got, "fail") && got != "400" {
				t.Fatalf("%s?%s is a failure there, and here %q", c.path[:8], raw.String(), got)
			}
		}
	}
	if slices.Min(failures[:]) < 200 {
		t.Errorf("only %v of the queries were failures", failures)
	}
}

var (
	qsGroup    = regexp.MustCompile(`\[[^\[\]]*\]`)
	badEscape  = regexp.MustCompile(`%([^0-9a-fA-F]|.[^0-9a-fA-F]|.?$)`)
	rackName   = regexp.MustCompile(`^[\[\]]*([^\[\]]+)\]*`)
	rubyZero   = regexp.MustCompile(`^\s*[+-]?0+\s*$`)
	goodEscape = regexp.MustCompile(`%[0-9a-fA-F]{2}`)
)

// kumaFails follows qs 6 with the options of Express 4, and routers/api-router.js of Uptime Kuma.
func kumaFails(raw string) bool {
	decode := func(text string) string {
		text = strings.ReplaceAll(text, "+", " ")
		if decoded, err := url.PathUnescape(text); err == nil && utf8.ValidString(decoded) {
			return decoded
		}
		return text
	}
	var values []string
	array := false
	for part := range strings.SplitSeq(raw, "&") {
		if part == "" {
			continue
		}
		at := strings.Index(part, "]=") + 1
		if at == 0 {
			at = strings.Index(part, "=")
		}
		key, value := decode(part), ""
		if at >= 0 {
			key, value = decode(part[:at]), decode(part[at+1:])
		}
		root, more := key, false
		if found := qsGroup.FindAllStringIndex(key, -1); found != nil {
			root, more = key[:found[0][0]], true
			if root == "" {
				root, more = strings.Trim(key[found[0][0]:found[0][1]], "[]"), len(found) > 1
			}
		}
		if root == "status" {
			values, array = append(values, value), array || more
		}
	}
	return array || len(values) > 1 || len(values) == 1 && values[0] != "" && values[0] != "up"
}

// snitchFails follows parse_query of Rack 2, for s as a number or a word.
func snitchFails(raw string) bool {
	if badEscape.MatchString(raw) {
		return false // an error there
	}
	status := ""
	for part := range strings.FieldsFuncSeq(raw, func(r rune) bool { return r == '&' || r == ';' }) {
		key, value, _ := strings.Cut(part, "=")
		key, _ = url.QueryUnescape(key)
		value, _ = url.QueryUnescape(value)
		name := rackName.FindStringSubmatch(key)
		if name != nil && name[1] == "s" {
			status = value
		}
	}
	return status != "" && !rubyZero.MatchString(status)
}

// cronitorFails follows urllib of Python, where the last value of a parameter counts.
func cronitorFails(raw string) bool {
	last := map[string]string{}
	for part := range strings.SplitSeq(raw, "&") {
		key, value, _ := strings.Cut(part, "=")
		last[unquotePython(key)] = unquotePython(value)
	}
	code, err := strconv.Atoi(strings.TrimSpace(last["status_code"]))
	return last["state"] == "fail" || last["state"] == "complete" && err == nil && code != 0
}

func unquotePython(text string) string {
	return goodEscape.ReplaceAllStringFunc(strings.ReplaceAll(text, "+", " "), func(escape string) string {
		n, _ := strconv.ParseUint(escape[1:], 16, 8)
		return string([]byte{byte(n)})
	})
}

// TestSnitchForms checks that the forms that curl -d and curl -F send are read as queries are.
func TestSnitchForms(t *testing.T) {
	t.Parallel()
	onEachEngine(t, Config{}, func(w *testServer) {
		var parts bytes.Buffer
		form := multipart.NewWriter(&parts)
		form.WriteField("s", "3")
		form.WriteField("m", "no")
		form.Close()
		var files bytes.Buffer
		upload := multipart.NewWriter(&files)
		must(upload.CreateFormFile("s", "code"))(w)
		upload.Close()
		const urlencoded = "application/x-www-form-urlencoded"
		for _, c := range []struct {
			kind, query, body string
			status            int
			want              monitor.SignalKind
			output            string
		}{
			{urlencoded, "", "s=1&m=disk+full", 202, "fail", "disk full"},
			{urlencoded, "?m=x", "s=1\n", 202, "fail", "x"}, {urlencoded, "?s=1", "m=x", 202, "fail", "x"},
			{urlencoded, "", "m=x", 202, "success", "x"}, {urlencoded, "", "s=0", 202, "success", ""},
			{"", "", "s=1", 202, "fail", ""}, {"text/plain", "?s=1", "x", 202, "fail", ""},
			{form.FormDataContentType(), "", parts.String(), 202, "fail", "no"},
			{urlencoded, "", "s=1&m=by+GET", 202, "fail", "by GET"},
			{urlencoded, "", "s=1%", 400, "", ""}, {urlencoded, "?s=0", "S=1", 400, "", ""},
			{"application/json", "", `{"s":1}`, 400, "", ""}, {"multipart/form-data", "", "s=1", 400, "", ""},
			{"text/json", "", `{"s":1}`, 400, "", ""}, {"application/vnd.api+json", "", `{"s":1}`, 400, "", ""},
			{upload.FormDataContentType(), "", files.String(), 400, "", ""},
			{"/", "", "s=1", 400, "", ""}, {urlencoded, "", "m=" + strings.Repeat("a", maxForm), 400, "", ""},
		} {
			m := must(w.store.CreateMonitor(w.Context(), w.ws, monitor.MonitorOf(monitor.MonitorConfig{
				Name: "job", Interval: time.Hour,
			})))(w)
			var header []string
			if c.kind != "" {
				header = []string{"Content-Type", c.kind}
			}
			method := "POST"
			if c.output == "by GET" {
				method = "GET"
			}
			res := w.send(method, snitchPath+m.Token+c.query, strings.NewReader(c.body), header...)
			all := w.signals(m.ID)
			if res.StatusCode != c.status || (len(all) == 1) != (c.want != "") ||
				c.want != "" && (all[0].Kind != c.want || string(all[0].Output) != c.output) {
				w.Errorf("%s %s %.20s: %d, %+v", c.kind, c.query, c.body, res.StatusCode, all)
			}
		}
	})
}
