// Package kernel has the types that all books of the domain share: actors, the audit log, problems, ids, times, slugs
// and statuses.
//
// The domain is everything that Allswell decides, in types and pure functions: it does no I/O, takes the time as a
// parameter, and imports only the standard library and two small packages of internal/shared: hostname, and ical for
// calendars. It consists of seven books. Each imports only the books before it:
//
//   - kernel
//   - schedule: when a ping is due, and when silence counts
//   - statuspage: pages, components, incidents, maintenances, and what visitors see
//   - monitor: jobs that ping and targets that are checked, and what their outages change
//   - alert: which people on call are notified, and when
//   - audience: subscribers, events, and which delivery is sent next
//   - account: workspaces, users, tokens, and what they may do
//
// Package internal/store loads and saves these types, and docs/architecture.md describes the rest of the program.
//
// # Who changes what
//
// Every change on request has an [Actor], usually the holder of an API token, whose [Scope] limits what it may do. The
// change becomes an [AuditEntry] in the same transaction. An object that can be changed is [Auditable]; [EntityTag]
// names its state, and a [Precondition] makes a change depend on it.
//
// # Problems
//
// Input is checked as a whole. A [ValidationError] has a [Problem] for every invalid field, as data: surfaces choose
// the words. [ErrBusy] means that nothing was changed, and [ErrUnknownOutcome] that a change may have been committed.
//
// # Statuses
//
// A [Status] is the state of a component, and [RankedStatuses] orders them by severity. An [Impact] is the severity of
// an incident. A new status is a constant and a row in [StatusTable], with its translations.
package kernel
