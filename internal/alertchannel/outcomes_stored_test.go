package alertchannel

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell/test/stored"
)

var updateOutcomes = flag.Bool("update-outcomes", false, "write testdata/outcomes.txt")

// TestOutcomesAsStored compares what each answer of each service means with the file: of statuses at the limits of
// their classes, and of answers of success that say nothing, or something else. It also compares how long the longest
// messages are. With the flag -update-outcomes it writes the file; read its difference before you commit it.
func TestOutcomesAsStored(t *testing.T) {
	const file = "testdata/outcomes.txt"
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	var text strings.Builder
	text.WriteString("# Answers of services and what they mean. go test -run TestOutcomesAsStored " +
		"./internal/alertchannel -update-outcomes writes this file.\n")
	statuses := []int{
		200, 201, 204, 299, 300, 304, 399, 400, 401, 403, 404, 407, 408, 413, 422, 425, 429, 499, 500, 503, 599,
	}
	for _, name := range slices.Sorted(maps.Keys(services)) {
		svc := services[name]
		peer := newSink(t)
		channel := newChannel(t, name, svc.config, peer.URL)
		all := messages(svc.ref)
		fmt.Fprintf(&text, "\n# %s\n", name)
		answer := func(status int, body string) {
			peer.reset(func(w http.ResponseWriter, _ int) {
				if status != 200 {
					w.Header().Set("Retry-After", "7")
				}
				w.WriteHeader(status)
				if status != 204 && status != 304 {
					io.WriteString(w, body)
				}
			})
			r := sender.Send(t.Context(), channel, all["one"])
			wait := ""
			if r.RetryAfter > 0 {
				wait = fmt.Sprintf(", after %s", r.RetryAfter)
			}
			fmt.Fprintf(&text, "%d %s: %s%s, %d requests: %s\n", status, body, r.Result, wait, len(peer.taken()),
				strings.ReplaceAll(r.Reason, strings.TrimPrefix(peer.URL, "http://"), "SERVER"))
		}
		for _, status := range statuses {
			answer(status, `{"x":1}`)
		}
		for _, body := range []string{"", "<html>", "text", "[]"} {
			answer(200, body)
		}
		for _, title := range []string{"long", "long list", "thousand"} {
			peer.reset(svc.success)
			sender.Send(t.Context(), channel, all[title])
			for _, e := range peer.taken() {
				fmt.Fprintf(&text, "%s: %d bytes\n", title, len(strings.ReplaceAll(string(e.body), peer.URL, "SERVER")))
			}
		}
	}
	stored.Compare(t, file, "\n", text.String(), *updateOutcomes)
}
