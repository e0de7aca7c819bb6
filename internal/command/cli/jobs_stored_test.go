package cli

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/test/stored"
)

var updateJobs = flag.Bool("update-jobs", false, "write testdata/jobs/commands.txt")

// storedServer answers with the lists and the objects of files in testdata/jobs, and writes down what it is asked for.
type storedServer struct {
	lists   map[string][]map[string]any
	objects map[string]map[string]any
	asked   strings.Builder
}

func (s *storedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	line := r.Method + " " + r.RequestURI + " " + canonical(body)
	if tag := r.Header.Get("If-Match"); tag != "" {
		line += " if it is " + tag
	}
	s.asked.WriteString(strings.TrimSpace(aroundNow(line)) + "\n")
	list, listed := s.lists[r.URL.Path]
	switch {
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	case listed && r.Method == http.MethodGet:
		s.answerList(w, r, list)
	default:
		object := s.objects[r.URL.Path]
		slash := strings.LastIndexByte(r.URL.Path, '/')
		collection, id := r.URL.Path[:slash], r.URL.Path[slash+1:]
		if listed { // something is created
			object = list[0]
		}
		for _, v := range s.lists[collection] {
			if v["id"] == id || v["name"] == id {
				object = v
			}
		}
		if object == nil {
			http.Error(w, `{"message": "Not found."}`, http.StatusNotFound)
			return
		}
		w.Header().Set("ETag", strconv.Quote("tag of "+id))
		_ = json.NewEncoder(w).Encode(map[string]any{"data": object})
	}
}

// answerList answers with the objects of a list that match the query: its name, slug, state and kind.
func (s *storedServer) answerList(w http.ResponseWriter, r *http.Request, list []map[string]any) {
	some := []map[string]any{}
	for _, v := range list {
		matches := true
		for _, field := range []string{"name", "slug", "state", "kind", "condition"} {
			wanted := r.FormValue(field)
			matches = matches && (wanted == "" || v[field] == wanted)
		}
		if matches {
			some = append(some, v)
		}
	}
	total := len(some)
	if n, _ := strconv.Atoi(r.FormValue("per_page")); n > 0 && n < total {
		some = some[:n]
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": some, "meta": map[string]any{"total": total}})
}

var instant = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( ?[+-]\d\d:\d\d|Z)`)

// aroundNow replaces instants of these days by their distances from now, to the hour.
func aroundNow(text string) string {
	return instant.ReplaceAllStringFunc(text, func(given string) string {
		for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05 -07:00"} {
			if at, err := time.Parse(layout, given); err == nil && time.Until(at).Abs() < 100*24*time.Hour {
				return fmt.Sprintf("(now + %d h)", int(math.Round(time.Until(at).Hours())))
			}
		}
		return given
	})
}

// TestCommandsOfJobsAsStored compares what the commands of alerts and jobs request and print with a file. With the flag
// -update-jobs it writes the file; read its difference before you commit it.
func TestCommandsOfJobsAsStored(t *testing.T) {
	var server storedServer
	for name, into := range map[string]any{"server": &server.lists, "objects": &server.objects} {
		text, err := os.ReadFile("testdata/jobs/" + name + ".json")
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(name, err)
		}
	}
	lines, err := os.ReadFile("testdata/jobs/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for line := range strings.Lines(string(lines)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		server.asked.Reset()
		status, stdout, stderr := against(t, server.ServeHTTP, expand(line)...)
		fmt.Fprintf(&text, "# %s\n%s%s%s", line, server.asked.String(), aroundNow(stdout), stderr)
		fmt.Fprintf(&text, "status %d\n\n", status)
	}
	stored.Compare(t, "testdata/jobs/commands.txt", "\n\n", text.String(), *updateJobs)
}
