// Package monitor describes jobs that send pings, and targets that are checked.
//
// A [Monitor] consists of a [MonitorConfig], which people set, a [MonitorStatus], which the service keeps, and a
// [MonitorDerived], which is computed when it is loaded. Three functions change its status: [MonitorStatus.RecordPing]
// applies a ping, [Monitor.ApplyTick] a tick of the clock, and [Monitor.ApplyCheckResult] the result of a check.
// Package schedule has the rule for when silence counts, and docs/check-results.md the rule for when a failed check
// counts.
//
// Jobs can also send a [Signal]: that a [Run] starts, has ended or has failed, with its output. A [Condition] that a
// run violates makes a [Warning] or an outage.
//
// A monitor that goes down begins an [Outage], which adds a cause to its component and opens an incident. The next ping
// or good result ends the outage, removes the cause and resolves the incident. [Explanation] says in sentences why a
// monitor is in its state, and what happens next.
package monitor
