// Package allswell is the domain of a status page and monitor: its types and rules. It
// has no dependencies beyond the standard library, performs no I/O and takes the time as a
// parameter. Package internal/store loads and saves these types; docs/architecture.md describes
// the rest of the program.
//
// # Pages
//
// A [Workspace] owns pages, monitors and API tokens. A [Page] has components, incidents and maintenances. A [Component]
// has a baseline, set by people, and causes, added and removed by outages, incidents and maintenances.
// [Component.Status] is the most severe of the baseline and the causes that are not acknowledged, and [Rollup] computes
// the status of the page. [PageContents.Summarize] computes everything that a visitor sees.
//
// # Monitors
//
// A [Monitor] either expects pings, within an interval or at the times of a [Cron], or checks a target ([CheckSpec]). It is
// a [MonitorConfig], which people set, a [MonitorStatus], which the service keeps, and what is computed when it is loaded.
// [MonitorStatus.RecordPing] applies a ping, [Monitor.ApplyTick] a tick, and [Monitor.ApplyCheckResult] the result of a check.
// [PingWait.Deadline] decides when silence counts: the service may have been unable to receive pings, which it records
// as a [ListeningGap]. Jobs can also send a [Signal]: that a [Run] starts, has ended or has failed, with its output. Each
// [Condition] that runs violate makes a [Warning] or an [Outage].
//
// A monitor that goes down begins an [Outage], which adds a [Cause] to its component and opens an [Incident]. The next
// ping or good result ends the outage, removes the cause and resolves the incident. Package internal/alert decides who on
// call is notified.
//
// # Incidents and maintenances
//
// An [Incident] has a timeline of updates; [Incident.Change] and [Incident.AddUpdate] change it. A
// [Maintenance] is planned work: [Maintenance.Advance] begins and ends it at its scheduled time.
// While it runs, its components are under maintenance and their monitors are suppressed.
//
// # Notifications
//
// Every change that subscribers can be notified of writes an [Event]. Each event becomes one
// [Delivery] per [Subscriber]; [PlanDeliveries] decides which delivery is sent next and which ones
// it replaces.
//
// # Who may change what
//
// Every change on request has an [Actor], usually the holder of a [Token], whose [Scope] limits what
// it may do, and becomes an [AuditEntry]. Input types such as [NewMonitor] and [MonitorChange] have
// a method that returns a [*ValidationError] with every invalid field.
package allswell
