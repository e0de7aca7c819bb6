// Package allswell is a status page and heartbeat monitor.
//
// This package is the domain: its types and the rules that they follow, with
// time passed in and nothing but the standard library. Its files are the
// glossary. Everything that stores, sends or serves is under internal/.
//
// # Five minutes
//
// A [Workspace] has pages and monitors, and tokens for the API. A [Page] shows
// components and incidents. A [Component] has a baseline, which humans set,
// and causes, which outages add and remove; its effective status is the worst
// of them ([Component.Status]). [Rollup] and [Banner] make of all components
// what a visitor reads first.
//
// A [Monitor] expects a ping within every interval. [Monitor.RecordPing] is what a
// ping does to it and [Monitor.Check] what a periodic check does. Whether
// silence counts at all, because perhaps it was us who could not listen, is
// decided in one place: [PingWait.Deadline]. When a monitor goes down, an [Outage]
// begins: it adds a [Cause] to the component and opens an [Incident]. The next
// ping reverses all of it.
//
// An [Incident] has a timeline of updates; [Incident.Apply] is what a change
// does to it. An [Event] is something subscribers may be told, written in the
// transaction of what happened. [PageContents.Summarize] computes all that a
// visitor is shown.
//
// The package internal/store turns each of these verbs into one transaction:
// load, decide (here), save, tell.
package allswell
