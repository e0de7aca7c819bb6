package alert

import (
	"cmp"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Event is a kind of event that people can be notified of.
type Event string

// The events. An alert begins with an event that has a row in eventTable; the row names the event that ends it.
const (
	MonitorDown             Event = "monitor.down"
	MonitorUp               Event = "monitor.up"
	MonitorLate             Event = "monitor.late"
	MonitorLateEnded        Event = "monitor.late_ended"
	MonitorSlow             Event = "monitor.slow"
	MonitorSlowEnded        Event = "monitor.slow_ended"
	MonitorCertificate      Event = "monitor.certificate"
	MonitorCertificateEnded Event = "monitor.certificate_ended"
	MonitorWarning          Event = "monitor.warning"
	MonitorWarningEnded     Event = "monitor.warning_ended"
	MaintenanceBegun        Event = "maintenance.begun"
	MaintenanceEnded        Event = "maintenance.ended"
	ServiceGap              Event = "service.gap"
	ChecksLate              Event = "checks.late"
	ChecksLateEnded         Event = "checks.late_ended"
	DeliveryFailed          Event = "delivery.failed"
	ChannelFailed           Event = "channel.failed"
	ChannelTest             Event = "channel.test" // no rule is about it
)

// eventRow describes an event.
type eventRow struct {
	event    Event
	one      string        // the predicate after the name of one object
	many     string        // the words after a number of objects
	end      Event         // the event that ends the alert; "": it is over when it begins
	over     string        // like one, for an alert that has ended
	overMany string        // like many, for alerts that have ended
	severity kernel.Impact // "": the severity of the status that a down monitor gives its component
	help     string        // for people who write rules
}

// eventTable lists the events of rules, in the order in which people see them.
var eventTable = []eventRow{
	{MonitorDown, "is down", "monitors are down", MonitorUp, "is up again", "monitors are up again", "",
		"Monitor goes down (and recovers)"},
	{MonitorUp, "is up again", "monitors are up again", "", "", "", kernel.ImpactNone,
		"Monitor recovers (even if its outage didn't alert)"},
	{MonitorLate, "is late", "monitors are late", MonitorLateEnded, "is on time again", "monitors are on time again",
		kernel.ImpactMinor,
		"Ping is late (past its grace, not down yet)"},
	{MonitorSlow, "is slow", "monitors are slow", MonitorSlowEnded, "is fast again", "monitors are fast again",
		kernel.ImpactMinor,
		"Checks are slow"},
	{MonitorCertificate, "has a certificate that expires soon", "monitors have certificates that expire soon",
		MonitorCertificateEnded, "has a certificate that does not expire soon",
		"monitors have certificates that do not expire soon", kernel.ImpactMinor,
		"Certificate expires soon"},
	{MonitorWarning, "has a warning", "monitors have a warning", MonitorWarningEnded, "has no warning any more",
		"monitors have no warning any more", kernel.ImpactMinor,
		"Job run violates a condition"},
	{MaintenanceBegun, "has begun", "maintenance windows have begun", "", "", "", kernel.ImpactNone,
		"Scheduled maintenance begins"},
	{MaintenanceEnded, "has ended", "maintenance windows have ended", "", "", "", kernel.ImpactNone,
		"Scheduled maintenance ends"},
	{ServiceGap, "was interrupted", "interruptions of Allswell", "", "", "", kernel.ImpactMajor,
		"Allswell was offline: it could not receive pings or check targets"},
	{ChecksLate, "are late", "alerts about late checks", ChecksLateEnded, "are on time again",
		"alerts about late checks are over", kernel.ImpactMajor,
		"Checks are overdue by more than two intervals, so the state of their targets is unknown (one alert for the " +
			"whole workspace)"},
	{DeliveryFailed, "is not notified any more", "subscribers are not notified any more", "", "", "", kernel.ImpactMinor,
		"Messages to a subscriber cannot be delivered"},
	{ChannelFailed, "does not accept alerts", "channels do not accept alerts", "", "", "", kernel.ImpactMajor,
		"A channel failed (sent to the others)"},
}

// testRow describes ChannelTest.
var testRow = eventRow{event: ChannelTest, one: "is a test", many: "tests"}

// Events lists the events of rules.
var Events = func() (all []Event) {
	for _, r := range eventTable {
		all = append(all, r.event)
	}
	return all
}()

// row returns the row of an event; testRow if eventTable has none.
func (e Event) row() eventRow {
	if i := slices.Index(Events, e); i >= 0 {
		return eventTable[i]
	}
	return testRow
}

// Label returns the name of an event for people, such as "Monitor down".
func (e Event) Label() string {
	name := strings.NewReplacer(".", " ", "_", " ").Replace(string(e))
	return strings.ToUpper(name[:1]) + name[1:]
}

// Help describes an event of rules in a few words.
func (e Event) Help() string { return e.row().help }

// Words returns the predicate that follows the name of one object, such as "is down".
func (e Event) Words() string { return e.row().one }

// Lasts reports whether alerts of the event stay open until another event ends them.
func (e Event) Lasts() bool { return e.row().end != "" }

// Ends returns the event whose alerts e ends, or "".
func (e Event) Ends() Event {
	for _, r := range eventTable {
		if r.end == e {
			return r.event
		}
	}
	return ""
}

// Severity returns how bad the event is. down is the severity of the status that a down monitor gives its component.
func (e Event) Severity(down kernel.Impact) kernel.Impact {
	return cmp.Or(e.row().severity, down, kernel.ImpactNone)
}
