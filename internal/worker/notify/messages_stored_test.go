package notify

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/test/stored"
)

var updateMessages = flag.Bool("update-messages", false, "write testdata/messages.txt")

// storedStories returns what subscribers are notified of, by name.
func storedStories() map[string]audience.Notification {
	stories := map[string]audience.Notification{
		"a confirmation": mailNotification(audience.PurposeConfirmation),
		"a link":         mailNotification(audience.PurposeLink),
		"a test":         mailNotification(audience.PurposeTest),
	}
	database, upgrade := mailDatabase(), mailUpgrade()
	for i := range database {
		database[i].UpdateID = fmt.Sprint("upd_", i)
		database[i].Data.Affected = []statuspage.AffectedChange{
			{ComponentID: "comp_1", Name: "API", New: kernel.StatusMajorOutage},
			{ComponentID: "comp_2", Name: "Website", New: kernel.StatusDegradedPerformance},
		}
		stories[fmt.Sprintf("an incident, %d events", i+1)] = aboutEvents(database[:i+1]...)
	}
	for i := range upgrade {
		stories[fmt.Sprintf("a maintenance, %d events", i+1)] = aboutEvents(upgrade[:i+1]...)
	}
	postmortem := mailEvent(90, statuspage.EventIncidentPostmortem, "inc-1", "", audience.EventData{
		Title: "Database <down>", Impact: kernel.ImpactMajor, State: statuspage.IncidentResolved,
		Message: "A disk was full. We **watch** disks now.",
	})
	stories["a post-mortem"] = aboutEvents(postmortem)
	stories["a cancelled maintenance"] = aboutEvents(mailMaintenance(30, statuspage.EventMaintenanceCancelled,
		statuspage.MaintenanceScheduled, "", ""))
	changed := mailEvent(5, statuspage.EventComponentStatusChanged, "", "", audience.EventData{
		Component: "API", OldStatus: kernel.StatusOperational, NewStatus: kernel.StatusPartialOutage,
	})
	changed.ComponentID = "comp_1"
	stories["a component"] = aboutEvents(changed)
	changed.Data.OldStatus, changed.Data.NewStatus = changed.Data.NewStatus, changed.Data.OldStatus
	stories["a component that works again"] = aboutEvents(changed)
	addWarnings(stories)
	stories["an outage"] = aboutEvents(mailOutage("a", "Backup", 0, 0)...)
	stories["an outage that is over"] = aboutEvents(mailOutage("a", "Backup", 0, 9)...)
	stories["a monitor that flaps"] = aboutEvents(slices.Concat(mailOutage("a", "Backup", 0, 2),
		mailOutage("b", "Backup", 4, 6), mailOutage("c", "Backup", 8, 0))...)
	addMany(stories)
	omitted := slices.Clone(database[:2])
	omitted[0].Data.Message, omitted[0].Data.MessageOmitted = "", true
	stories["a message that was not loaded"] = aboutEvents(omitted...)
	stories["nothing"] = aboutEvents()
	return stories
}

// addWarnings adds a warning and its end.
func addWarnings(stories map[string]audience.Notification) {
	warning := audience.WarningData{
		MonitorName: "Backup", MonitorSlug: "backup", Condition: monitor.ConditionCertificateExpiry,
		Message: "It expires in 3 days.", RunID: "run_1", WarnedAt: mailStart,
	}
	warned := mailEvent(1, statuspage.EventMonitorWarning, "", "mon_1", audience.EventData{Warning: &warning})
	warned.WarningID = "wrn_1"
	stories["a warning"] = aboutEvents(warned)
	ended := warning
	ended.EndedAt = mailStart.Add(time.Hour)
	warned.Kind, warned.Data.Warning = statuspage.EventMonitorWarningEnded, &ended
	stories["a warning that ended"] = aboutEvents(warned)
}

// addMany adds messages about many outages, and about many updates.
func addMany(stories map[string]audience.Notification) {
	var many, updates []audience.Event
	for i := range 12 {
		many = append(many, mailOutage(fmt.Sprint("inc_", i), fmt.Sprint("Job ", i), i, i%3*20)...)
		data := audience.EventData{
			Title: "Slow", Impact: kernel.ImpactMinor, State: statuspage.IncidentMonitoring,
			Message: fmt.Sprint("Update ", i, ". ", strings.Repeat("word ", 40*i)),
		}
		updates = append(updates, mailEvent(i, statuspage.EventIncidentUpdated, "inc_1", "", data))
	}
	stories["many outages"], stories["many updates"] = aboutEvents(many...), aboutEvents(updates...)
}

func aboutEvents(events ...audience.Event) audience.Notification {
	return mailNotification(audience.PurposeEvent, events...)
}

// storedPages are pages and subscriptions that differ in all that messages show of them.
var storedPages = []struct {
	name   string
	change func(*audience.Notification)
}{
	{"a page", func(*audience.Notification) {}},
	{"a page with a domain, in Arabic, for an address that an operator added", func(n *audience.Notification) {
		n.Page.Host, n.Page.Domain, n.Page.Language, n.Page.TimeZone = mailDomain, mailDomain, "ar", "Europe/Berlin"
		n.Page.Name, n.Page.Accent = "Acme\u202e & Sons", "#225588"
		n.Subscriber.AddedByOperator, n.Subscriber.ConfirmedAt, n.Subscriber.IncidentID = true, mailStart, "inc-1"
	}},
}

// messagesText returns all messages of a notification, of each channel.
func messagesText(t *testing.T, n audience.Notification) string {
	var b strings.Builder
	show := func(channel, text string, err error) {
		if err != nil {
			text = "error: " + err.Error()
		}
		fmt.Fprintf(&b, "%s:\n\t%s\n", channel, strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n\t"))
	}
	if e, err := composeFrom(n, mailFrom); err != nil {
		show("mail", "", err)
	} else {
		m := parseMail(t, e.content)
		m.header["Date"], m.header["Content-Type"] = nil, nil
		var header strings.Builder
		for _, name := range slices.Sorted(maps.Keys(m.header)) {
			for _, value := range m.header[name] {
				header.WriteString(name + ": " + value + "\n")
			}
		}
		words, elements := htmlWords(t, m.html)
		words = words[strings.LastIndex(words, "}")+1:] // after the style
		show("mail",
			fmt.Sprintf("%s%s\n\n%s\n%v %s", header.String(), m.subject, m.text, elements,
				strings.Join(strings.Fields(words), " ")),
			nil)
	}
	post, err := chatPost(n, mailBase)
	text, _ := json.Marshal(post)
	show("chat", string(text), err)
	message, err := newPushMessage(n, mailBase)
	text, _ = json.Marshal(message)
	show("push", string(text), err)
	sms, err := newSMSText(n, mailBase)
	show("SMS", sms, err)
	body, err := webhookBody(n, mailBase)
	show("webhook", string(body), err)
	return b.String()
}

// TestMessagesAsStored compares all that subscribers are told, through each channel, with the file. With the flag
// -update-messages it writes the file; read its difference before you commit it.
func TestMessagesAsStored(t *testing.T) {
	var text strings.Builder
	text.WriteString("# What subscribers are told. go test -run TestMessagesAsStored ./internal/worker/notify " +
		"-update-messages writes this file.\n")
	stories := storedStories()
	for _, name := range slices.Sorted(maps.Keys(stories)) {
		for _, page := range storedPages {
			n := stories[name]
			n.Delivery.HappenedAt, n.Delivery.CreatedAt, n.Subscriber.Code = mailStart, mailStart.Add(time.Second),
				"BCDFGHJK"
			page.change(&n)
			fmt.Fprintf(&text, "\n# %s: %s\n%s", name, page.name, messagesText(t, n))
		}
	}
	stored.Compare(t, "testdata/messages.txt", "\n", text.String(), *updateMessages)
}
