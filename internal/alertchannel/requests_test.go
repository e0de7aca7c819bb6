package alertchannel

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/test/stored"
)

var updateRequests = flag.Bool("update-requests", false, "write testdata/requests.txt")

// requestsFile has every request of every type about each of fullMessages.
const requestsFile = "testdata/requests.txt"

// fullMessages returns messages that have every field which a service may be sent.
func fullMessages(ref string) map[string]alert.Message {
	all := messages(ref)
	two := all["unthreaded"]
	two.Items = slices.Clone(two.Items)
	two.Items[1].Event, two.Items[1].Severity, two.Items[1].Tags = alert.MonitorLate, kernel.ImpactMinor,
		[]string{"prod", "web"}
	known := all["acknowledged"]
	known.Items[0].Severity = kernel.ImpactMajor
	calm := newMessage(&alert.Thread{ID: "thr_06eaih8a01khtdim35as", First: true, Open: 1}, alert.NoticeOpened, nil,
		"Docs")
	calm.Items[0].Severity, calm.Items[0].Reason, calm.Links = kernel.ImpactNone, "", alert.Links{}
	worded := all["one"]
	worded.Words = alert.Words{Title: "Own title", Text: "Own text\nof two lines"}
	return map[string]alert.Message{
		"1 one": all["one"], "2 two": two, "3 acknowledged": known, "4 repeated": all["repeated"],
		"5 resolved": all["resolved"], "6 brief": all["brief"],
		"7 calm": calm, "8 worded": worded,
	}
}

// TestRequestsAsStored compares the requests of all types with the requests in the file. With the flag -update-requests
// it writes the file; read its difference before you commit it.
func TestRequestsAsStored(t *testing.T) {
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	text := strings.Builder{}
	text.WriteString("# Requests to the services, by type and message. go test -run TestRequestsAsStored " +
		"./internal/alertchannel -update-requests writes this file.\n")
	for _, name := range slices.Sorted(maps.Keys(services)) {
		svc := services[name]
		peer := newSink(t)
		channel := newChannel(t, name, svc.config, peer.URL)
		all := fullMessages(svc.ref)
		for _, title := range slices.Sorted(maps.Keys(all)) {
			peer.reset(svc.success)
			sender.Send(t.Context(), channel, all[title])
			for _, e := range peer.taken() {
				fmt.Fprintf(&text, "\n# %s, %s\n%s %s", name, title, e.method, e.path)
				if e.query != "" {
					fmt.Fprintf(&text, "?%s", e.query)
				}
				for _, header := range slices.Sorted(maps.Keys(e.header)) {
					if !slices.Contains(
						[]string{
							"Accept-Encoding", "Content-Length", "User-Agent", "Webhook-Signature",
							"Webhook-Timestamp",
						},
						header,
					) {
						fmt.Fprintf(&text, "\n%s: %s", header, strings.Join(e.header[header], ", "))
					}
				}
				fmt.Fprintf(&text, "\n%s\n", strings.ReplaceAll(string(e.body), peer.URL, "SERVER"))
			}
		}
	}
	stored.Compare(t, requestsFile, "\n\n", text.String(), *updateRequests)
}
