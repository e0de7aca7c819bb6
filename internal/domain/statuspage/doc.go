// Package statuspage describes what visitors see: a [Page] with its components, incidents, maintenances and
// announcements.
//
// A [Component] has a baseline, which people set, and causes, which outages, incidents and maintenances add and remove.
// [Component.Status] is the most severe of the baseline and the causes that are not acknowledged, and [Rollup] computes
// the status of the page. [PageContents.Summarize] computes everything that a page shows. [NewHistory] computes uptime
// from the changes of a status; time in which the service could not receive pings is unknown, not down.
//
// An [Incident] has a timeline of updates; [Incident.Change] and [Incident.AddUpdate] change it. Updates that the
// service writes have a [SystemMessage], so that pages can translate them. A [Postmortem] follows a resolved incident.
// A [Maintenance] is planned work: [Maintenance.Advance] begins and ends it at its times.
//
// A page has a [Visibility], who may see it ([PageAccess]), and perhaps a domain of its own, which its owner proves
// ([DomainClaim]).
package statuspage
