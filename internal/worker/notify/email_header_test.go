package notify

import (
	"bytes"
	"fmt"
	"maps"
	"net/mail"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/google/go-cmp/cmp"
)

func TestMailHeader(t *testing.T) {
	common := map[string]string{
		"From":                  `"Acme Status" <status@example.com>`,
		"To":                    "<ann@example.org>",
		"Message-Id":            "<dlv_0123456789abcdefghij@example.com>",
		"List-Id":               "<acme.example.com>",
		"List-Unsubscribe":      "<" + mailBase + "/status/acme/unsubscribe/" + mailKey + ">",
		"List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
		"Auto-Submitted":        "auto-generated",
		"Mime-Version":          "1.0",
		"Content-Language":      "en",
		"Content-Type":          `multipart/alternative; boundary="=_dlv_0123456789abcdefghij"`,
	}
	for _, c := range []struct {
		n    audience.Notification
		more map[string]string
	}{
		{mailNotification(audience.PurposeConfirmation),
			map[string]string{"Subject": "[Acme] Please confirm your subscription"}},
		{mailNotification(audience.PurposeLink), map[string]string{"Subject": "[Acme] The link to your subscription"}},
		{mailNotification(audience.PurposeEvent, mailDatabase()[:1]...), map[string]string{
			"Subject":     "[Acme] Investigating: Database <down>",
			"In-Reply-To": "<c8dc1a447374d7908cd5399ca8eb8e05@example.com>",
			"References":  "<c8dc1a447374d7908cd5399ca8eb8e05@example.com>",
		}},
	} {
		t.Run(string(c.n.Delivery.Purpose), func(t *testing.T) {
			p := composed(t, c.n)
			if at, err := p.header.Date(); err != nil || time.Since(at) > time.Hour || time.Until(at) > time.Hour {
				t.Errorf("date %v, %v", at, err)
			}
			delete(p.header, "Date")
			want := maps.Clone(common)
			maps.Copy(want, c.more)
			got := make(map[string]string)
			for name := range p.header {
				got[name] = p.header.Get(name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMailThreads checks that the mails of one incident form a thread, as do the mails about one monitor's incidents,
// and that mails to two subscribers share none.
func TestMailThreads(t *testing.T) {
	references := func(subscriber string, events ...audience.Event) []string {
		n := mailNotification(audience.PurposeEvent, events...)
		n.Subscriber.ID = subscriber
		p := composed(t, n)
		ids := strings.Fields(p.header.Get("References"))
		if p.header.Get("In-Reply-To") != ids[len(ids)-1] {
			t.Errorf("in reply to %s, references %s", p.header.Get("In-Reply-To"), ids)
		}
		return ids
	}
	database := mailDatabase()
	down := mailOutage("inc-2", "Backup", 3, 9)
	again := mailOutage("inc-3", "Backup", 20, 0)
	human := mailEvent(5, statuspage.EventIncidentUpdated, "inc-2", "", audience.EventData{
		Title: "Backup is down", State: statuspage.IncidentIdentified,
	})

	first := references("sub_1", database[0])
	if later := references("sub_1", database[1:]...); !slices.Equal(first, later) {
		t.Errorf("one incident: %s, then %s", first, later)
	}
	if other := references("sub_2", database[0]); slices.Equal(first, other) {
		t.Errorf("two subscribers: %s", other)
	}
	monitor := references("sub_1", down[0])
	if got := references("sub_1", human); !slices.Equal(got, monitor[1:]) {
		t.Errorf("a human's update refers to %s, the incident was %s", got, monitor)
	}
	if got := references("sub_1", again...); len(got) != 2 || got[0] != monitor[0] || got[1] == monitor[1] {
		t.Errorf("the next outage refers to %s, the first was %s", got, monitor)
	}
	if got, want := references("sub_1", database[0], down[0]), append(first, monitor...); !slices.Equal(got, want) {
		t.Errorf("in one mail: %s, want %s", got, want)
	}
	var many []audience.Event
	for i := range 60 {
		many = append(many, mailOutage(fmt.Sprint("inc-", i), fmt.Sprint("Job ", i), i, 0)...)
	}
	if got := references("sub_1", many...); len(got) != mailReferences {
		t.Errorf("%d references", len(got))
	}
}

func TestMailSubjects(t *testing.T) {
	join := func(lists ...[]audience.Event) []audience.Event { return slices.Concat(lists...) }
	database := mailDatabase()
	long := mailDatabase()[:1]
	long[0].Data.Title = strings.Repeat("Ärger ", 42)
	odd := mailDatabase()[:1]
	odd[0].Data.Title = "a\r\nBcc: eve@example.net\x00 \u202eb =?utf-8?q?=0A?="
	for _, c := range []struct {
		name, want string
		events     []audience.Event
	}{
		{"created", "[Acme] Investigating: Database <down>", database[:1]},
		{"updated", "[Acme] Identified: Database <down>", database[:2]},
		{"resolved", "[Acme] Resolved: Database <down>", database},
		{"flapping", "[Acme] Resolved: Backup is down (3 outages)",
			join(mailOutage("a", "Backup", 0, 1), mailOutage("b", "Backup", 2, 3), mailOutage("c", "Backup", 4, 5))},
		{"down together", "[Acme] 2 monitors are down", join(mailOutage("a", "A", 0, 0), mailOutage("b", "B", 0, 0))},
		{"up together", "[Acme] 2 monitors are back up", join(mailOutage("a", "A", 0, 5), mailOutage("b", "B", 0, 5))},
		{"some up", "[Acme] 2 of 3 monitors are down, 1 back up",
			join(mailOutage("a", "A", 0, 0), mailOutage("b", "B", 0, 0), mailOutage("c", "C", 0, 5))},
		{"mixed", "[Acme] 2 incidents: A is down, Database <down>", join(database, mailOutage("a", "A", 50, 0))},
		{"long", "[Acme] Investigating: " + strings.Repeat("Ärger ", 24) + "Ärger…", long},
		{"odd", "[Acme] Investigating: a Bcc: eve@example.net b = ?utf-8?q?=0A?=", odd},
	} {
		t.Run(c.name, func(t *testing.T) {
			if p := composed(t, mailNotification(audience.PurposeEvent, c.events...)); p.subject != c.want {
				t.Errorf("subject %q, want %q", p.subject, c.want)
			}
		})
	}
}

// TestMailFrom checks that the display name is the page's if the operator set none.
func TestMailFrom(t *testing.T) {
	n := mailNotification(audience.PurposeLink)
	n.Page.Name = "Ö\nBcc: eve@example.net"
	e, err := composeFrom(n, mail.Address{Address: "status@bücher.example"})
	if err != nil {
		t.Fatal(err)
	}
	content := bytes.Replace(e.content, []byte("bücher"), []byte("buecher"), 1) // in From, as typed
	p := parseMail(t, content)
	from, err := p.header.AddressList("From")
	if err != nil || len(from) != 1 || from[0].Name != "Ö Bcc: eve@example.net" {
		t.Errorf("from %v, %v", from, err)
	}
	if got := p.header.Get("Message-ID"); got != "<dlv_0123456789abcdefghij@xn--bcher-kva.example>" {
		t.Errorf("Message-ID %s", got)
	}
}
