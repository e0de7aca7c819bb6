package client

import (
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// The words of the API. A program can also use the texts themselves: Status("operational").
type (
	// ActorKind is the kind of an actor.
	ActorKind = kernel.ActorKind

	// AuditAction is what an actor did to an object.
	AuditAction = kernel.AuditAction

	// AuditFilter limits a list of audit entries.
	AuditFilter = kernel.AuditFilter

	// Impact is how bad an incident is.
	Impact = kernel.Impact

	// ObjectKind is the kind of an audited object.
	ObjectKind = kernel.ObjectKind

	// Problem is what is wrong with a field of a request, as data.
	Problem = kernel.Problem

	// Role is the permission of a member of a workspace.
	Role = kernel.Role

	// Scope is the permission of a token.
	Scope = kernel.Scope

	// Status is the status of a component, a group or a page.
	Status = kernel.Status

	// ScheduleKind says how the due times of a monitor's pings are given.
	ScheduleKind = schedule.ScheduleKind

	// AnnouncementLevel is how urgent an announcement looks.
	AnnouncementLevel = statuspage.AnnouncementLevel

	// AutoIncidents decides what happens to the incident that an outage of a monitor opens.
	AutoIncidents = statuspage.AutoIncidents

	// DomainLookupResult says where a page's domain points to.
	DomainLookupResult = statuspage.DomainLookupResult

	// DomainResult is the result of a check of a page's domain.
	DomainResult = statuspage.DomainResult

	// DomainStatus is the state of a page's claim to its domain.
	DomainStatus = statuspage.DomainStatus

	// EventKind is the kind of an event.
	EventKind = statuspage.EventKind

	// IncidentState is the progress of work on an incident.
	IncidentState = statuspage.IncidentState

	// MaintenanceState is the progress of a maintenance.
	MaintenanceState = statuspage.MaintenanceState

	// Visibility decides who can see a page.
	Visibility = statuspage.Visibility

	// CheckStatus is the status of a check's result.
	CheckStatus = monitor.CheckStatus

	// Condition is a condition on the runs of a job.
	Condition = monitor.Condition

	// ConditionAction is the reaction to a run that violates a condition.
	ConditionAction = monitor.ConditionAction

	// ExtensionReason is a reason why a monitor's deadline is later than its last ping and its schedule say.
	ExtensionReason = monitor.ExtensionReason

	// GapCause is why a monitor had no result that counts.
	GapCause = monitor.GapCause

	// MonitorState is the state of a monitor.
	MonitorState = monitor.MonitorState

	// MonitorType is how a monitor finds out whether its target works.
	MonitorType = monitor.MonitorType

	// OutageReason is why an outage began.
	OutageReason = monitor.OutageReason

	// PingAccess is the permission of a page's ping key.
	PingAccess = monitor.PingAccess

	// SignalKind is the kind of a report by a job.
	SignalKind = monitor.SignalKind

	// SubscriberChannel is a way to reach a subscriber.
	SubscriberChannel = audience.Channel

	// DeliveryPurpose is the reason for a delivery.
	DeliveryPurpose = audience.DeliveryPurpose

	// DeliveryState is the progress of a delivery.
	DeliveryState = audience.DeliveryState

	// ImportResult is the outcome of one line of an import.
	ImportResult = audience.ImportResult

	// SubscriberState says whether a subscriber is notified.
	SubscriberState = audience.SubscriberState
)

// The values of ActorKind.
const (
	ActorToken      = kernel.ActorToken      // a client with an API token
	ActorUser       = kernel.ActorUser       // a person who has signed in to the dashboard
	ActorSubscriber = kernel.ActorSubscriber // a subscriber, through the link to the subscription
	ActorSystem     = kernel.ActorSystem     // the service itself, or a command on its database
	ActorLink       = kernel.ActorLink       // a person with the link of an alert who is not a member
	ActorSlack      = kernel.ActorSlack      // a person who presses a button in Slack
)

// The values of AuditAction.
const (
	AuditCreate      = kernel.AuditCreate
	AuditUpdate      = kernel.AuditUpdate
	AuditDelete      = kernel.AuditDelete
	AuditRotate      = kernel.AuditRotate      // a ping token, the secret of a subscriber's webhook, or a password
	AuditRevoke      = kernel.AuditRevoke      // an API token
	AuditRetry       = kernel.AuditRetry       // a delivery
	AuditConfirm     = kernel.AuditConfirm     // a subscription
	AuditResume      = kernel.AuditResume      // a suspended subscription
	AuditTest        = kernel.AuditTest        // a subscriber was sent a test message
	AuditExport      = kernel.AuditExport      // the subscribers of a page, or a backup of the database
	AuditImport      = kernel.AuditImport      // subscribers of a page
	AuditAcknowledge = kernel.AuditAcknowledge // an alert
)

// The values of Impact.
const (
	ImpactNone     = kernel.ImpactNone
	ImpactMinor    = kernel.ImpactMinor
	ImpactMajor    = kernel.ImpactMajor
	ImpactCritical = kernel.ImpactCritical
)

// The values of ObjectKind.
const (
	ObjectPage              = kernel.ObjectPage
	ObjectGroup             = kernel.ObjectGroup
	ObjectComponent         = kernel.ObjectComponent
	ObjectIncident          = kernel.ObjectIncident
	ObjectIncidentUpdate    = kernel.ObjectIncidentUpdate
	ObjectPostmortem        = kernel.ObjectPostmortem
	ObjectIncidentTemplate  = kernel.ObjectIncidentTemplate
	ObjectMaintenance       = kernel.ObjectMaintenance
	ObjectMaintenanceUpdate = kernel.ObjectMaintenanceUpdate
	ObjectAnnouncement      = kernel.ObjectAnnouncement
	ObjectMonitor           = kernel.ObjectMonitor
	ObjectSubscriber        = kernel.ObjectSubscriber
	ObjectDelivery          = kernel.ObjectDelivery
	ObjectToken             = kernel.ObjectToken
	ObjectUser              = kernel.ObjectUser
	ObjectMember            = kernel.ObjectMember
	ObjectInvitation        = kernel.ObjectInvitation
	ObjectSession           = kernel.ObjectSession // a sign-in
	ObjectPasskey           = kernel.ObjectPasskey
	ObjectDatabase          = kernel.ObjectDatabase // a backup of it
	ObjectAlertChannel      = kernel.ObjectAlertChannel
	ObjectAlertRule         = kernel.ObjectAlertRule
	ObjectAlert             = kernel.ObjectAlert
	ObjectSilence           = kernel.ObjectSilence
	ObjectOnCall            = kernel.ObjectOnCall
)

// The values of Role.
const (
	RoleViewer = kernel.RoleViewer
	RoleEditor = kernel.RoleEditor
	RoleAdmin  = kernel.RoleAdmin
	RoleOwner  = kernel.RoleOwner
)

// The values of Scope.
const (
	ScopeRead  = kernel.ScopeRead
	ScopeWrite = kernel.ScopeWrite
	ScopeAdmin = kernel.ScopeAdmin
)

// The values of Status.
const (
	StatusOperational         = kernel.StatusOperational
	StatusDegraded            = kernel.StatusDegraded
	StatusDegradedPerformance = kernel.StatusDegradedPerformance
	StatusPartialOutage       = kernel.StatusPartialOutage
	StatusMajorOutage         = kernel.StatusMajorOutage
	StatusMaintenance         = kernel.StatusMaintenance
	StatusUnknown             = kernel.StatusUnknown
)

// The values of ScheduleKind.
const (
	ScheduleInterval = schedule.ScheduleInterval // within an interval after the last ping
	ScheduleCron     = schedule.ScheduleCron     // at the times of an expression of cron
	ScheduleCalendar = schedule.ScheduleCalendar // at the times of an expression of systemd's OnCalendar
)

// The values of AnnouncementLevel.
const (
	AnnouncementInfo    = statuspage.AnnouncementInfo
	AnnouncementWarning = statuspage.AnnouncementWarning
)

// The values of AutoIncidents.
const (
	AutoIncidentsPublish = statuspage.AutoIncidentsPublish // the page shows the incident, and subscribers are notified
	AutoIncidentsDraft   = statuspage.AutoIncidentsDraft   // the incident waits until a person publishes it
	AutoIncidentsOff     = statuspage.AutoIncidentsOff     // no incident is opened
)

// The values of DomainLookupResult.
const (
	LookupMatch       = statuspage.LookupMatch       // to the installation
	LookupPartial     = statuspage.LookupPartial     // to the installation, and to something else
	LookupElsewhere   = statuspage.LookupElsewhere   // to something else
	LookupPrivate     = statuspage.LookupPrivate     // to private addresses, although the installation has public ones
	LookupNotFound    = statuspage.LookupNotFound    // nowhere: the name has no address
	LookupTimeout     = statuspage.LookupTimeout     // the DNS did not answer in time
	LookupFailed      = statuspage.LookupFailed      // the DNS answered with an error
	LookupUnknownHost = statuspage.LookupUnknownHost // the host of the base URL has no known address to compare with
)

// The values of DomainResult.
const (
	DomainUnchecked   = statuspage.DomainUnchecked   // not checked yet
	DomainFound       = statuspage.DomainFound       // the record exists
	DomainMissing     = statuspage.DomainMissing     // the DNS responded that the record does not exist
	DomainNoAnswer    = statuspage.DomainNoAnswer    // the DNS did not respond or failed; proves nothing
	DomainUsedByOther = statuspage.DomainUsedByOther // the record exists, but another page is served at the domain
)

// The values of DomainStatus.
const (
	DomainVerified = statuspage.DomainVerified // the page is served there
	DomainFailing  = statuspage.DomainFailing  // the page is served there until the grace period ends
	DomainPending  = statuspage.DomainPending  // the domain is not verified yet
	DomainDisabled = statuspage.DomainDisabled // the installation's settings do not allow the domain
)

// The values of EventKind.
const (
	EventIncidentCreated        = statuspage.EventIncidentCreated
	EventIncidentUpdated        = statuspage.EventIncidentUpdated // an update was added
	EventIncidentResolved       = statuspage.EventIncidentResolved
	EventIncidentPostmortem     = statuspage.EventIncidentPostmortem // its post-mortem was published for the first time
	EventComponentStatusChanged = statuspage.EventComponentStatusChanged
	EventMaintenanceScheduled   = statuspage.EventMaintenanceScheduled
	EventMaintenanceReminder    = statuspage.EventMaintenanceReminder
	EventMaintenanceBegun       = statuspage.EventMaintenanceBegun
	EventMaintenanceUpdated     = statuspage.EventMaintenanceUpdated // an update was added, or the schedule changed
	EventMaintenanceEnded       = statuspage.EventMaintenanceEnded
	EventMaintenanceCancelled   = statuspage.EventMaintenanceCancelled // deleted before its end
	EventMonitorWarning         = statuspage.EventMonitorWarning
	EventMonitorWarningEnded    = statuspage.EventMonitorWarningEnded
	EventMonitorDown            = statuspage.EventMonitorDown
	EventMonitorUp              = statuspage.EventMonitorUp // the outage is over
)

// The values of IncidentState.
const (
	IncidentInvestigating = statuspage.IncidentInvestigating
	IncidentIdentified    = statuspage.IncidentIdentified
	IncidentMonitoring    = statuspage.IncidentMonitoring
	IncidentResolved      = statuspage.IncidentResolved
)

// The values of MaintenanceState.
const (
	MaintenanceScheduled  = statuspage.MaintenanceScheduled
	MaintenanceInProgress = statuspage.MaintenanceInProgress
	MaintenanceVerifying  = statuspage.MaintenanceVerifying
	MaintenanceCompleted  = statuspage.MaintenanceCompleted
)

// The values of Visibility.
const (
	VisibilityPublic   = statuspage.VisibilityPublic   // everybody
	VisibilityUnlisted = statuspage.VisibilityUnlisted // everybody who has its address; not in lists and search engines
	// clients with a token of the workspace; for others it does not exist
	VisibilityPrivate = statuspage.VisibilityPrivate
)

// The values of CheckStatus.
const (
	CheckOK     = monitor.CheckOK
	CheckSlow   = monitor.CheckSlow   // good, but slower than CheckSpec.SlowAfter
	CheckFailed = monitor.CheckFailed // the target does not work as expected
	// the network of the replica did not work, so the result says nothing about the target
	CheckUnknown = monitor.CheckUnknown
)

// The values of Condition.
const (
	ConditionMaxRuntime = monitor.ConditionMaxRuntime // a run ends within MonitorConfig.RunLimit
	ConditionMinRuntime = monitor.ConditionMinRuntime // a run that succeeds takes at least that long
	// no more runs begin within an interval, or between two times of a Cron
	ConditionMaxPerInterval = monitor.ConditionMaxPerInterval
	ConditionNoOverlap      = monitor.ConditionNoOverlap // a run begins when no other one is in progress
)

// The values of ConditionAction.
const (
	// members see a Warning, and webhooks that ask for them are notified; the page does not change
	ActionWarn = monitor.ActionWarn
	ActionDown = monitor.ActionDown // the monitor is down, as after a failure
)

// The values of ExtensionReason.
const (
	ExtendedByMaintenance  = monitor.ExtendedByMaintenance
	ExtendedByRejectedPing = monitor.ExtendedByRejectedPing
	ExtendedByGap          = monitor.ExtendedByGap
)

// The values of GapCause.
const (
	GapUnknownResults = monitor.GapUnknownResults // the results were unknown
	GapLateChecks     = monitor.GapLateChecks     // its checks were late: see CheckWait.LateAt
)

// The values of MonitorState.
const (
	MonitorFailing    = monitor.MonitorFailing    // the last results failed, fewer than the threshold
	MonitorSlow       = monitor.MonitorSlow       // it is up, and its component degraded
	MonitorSuppressed = monitor.MonitorSuppressed // the last results failed while a parent was down
	MonitorUnknown    = monitor.MonitorUnknown    // the last results were unknown: see CheckState.UnknownSince
	MonitorUp         = monitor.MonitorUp
	MonitorDown       = monitor.MonitorDown
	MonitorWaiting    = monitor.MonitorWaiting  // enabled and never pinged
	MonitorDisabled   = monitor.MonitorDisabled // not enabled
	// the last tick found it overdue, or the next result of its check; see Monitor.Condition
	MonitorLate = monitor.MonitorLate
)

// The values of OutageReason.
const (
	OutageSilent      = monitor.OutageSilent      // pings are missing
	OutageFailed      = monitor.OutageFailed      // the job reported a failure
	OutageRunOverdue  = monitor.OutageRunOverdue  // a run of the job did not end in time
	OutageRunTooShort = monitor.OutageRunTooShort // a run of the job violated ConditionMinRuntime
	OutageRunTooOften = monitor.OutageRunTooOften // ConditionMaxPerInterval
	OutageRunOverlap  = monitor.OutageRunOverlap  // ConditionNoOverlap
	OutageCheckFailed = monitor.OutageCheckFailed // the checks of the target failed
)

// The values of PingAccess.
const (
	PingAccessOff       = monitor.PingAccessOff       // there is no key
	PingAccessPingOnly  = monitor.PingAccessPingOnly  // ping the monitors of the page
	PingAccessReadWrite = monitor.PingAccessReadWrite // also create monitors with their first pings
)

// The values of SignalKind.
const (
	SignalStart   = monitor.SignalStart   // a run has begun
	SignalSuccess = monitor.SignalSuccess // a run has succeeded: a ping
	SignalFail    = monitor.SignalFail    // a run has failed: the monitor is down immediately
	SignalLog     = monitor.SignalLog     // for the history only
)

// The values of SubscriberChannel.
const (
	ChannelEmail      = audience.ChannelEmail
	ChannelWebhook    = audience.ChannelWebhook
	ChannelSlack      = audience.ChannelSlack
	ChannelDiscord    = audience.ChannelDiscord
	ChannelTeams      = audience.ChannelTeams
	ChannelGoogleChat = audience.ChannelGoogleChat
	ChannelMattermost = audience.ChannelMattermost
	ChannelSMS        = audience.ChannelSMS
	ChannelPush       = audience.ChannelPush
)

// The values of DeliveryPurpose.
const (
	PurposeEvent        = audience.PurposeEvent        // notifies the subscriber of an event
	PurposeConfirmation = audience.PurposeConfirmation // asks the address to confirm the subscription
	PurposeLink         = audience.PurposeLink         // sends the link that manages the subscription, on request
	PurposeTest         = audience.PurposeTest         // shows that messages arrive, on request of an operator
)

// The values of DeliveryState.
const (
	DeliveryPending    = audience.DeliveryPending    // waiting to be sent, or to be retried
	DeliverySending    = audience.DeliverySending    // claimed by a replica until the lease ends
	DeliverySent       = audience.DeliverySent       // accepted by the receiver
	DeliverySuperseded = audience.DeliverySuperseded // merged into a later mail; see Delivery.CollapseKey
	DeliveryCancelled  = audience.DeliveryCancelled  // the subscription ended or was suspended
	DeliveryExpired    = audience.DeliveryExpired    // not accepted within DeliveryLifetime
	DeliveryDead       = audience.DeliveryDead       // rejected permanently
)

// The values of ImportResult.
const (
	ImportAdded      = audience.ImportAdded
	ImportSubscribed = audience.ImportSubscribed // it was subscribed already, and is unchanged
	// its owner has ended the subscription, and only the owner can begin it again
	ImportUnsubscribed = audience.ImportUnsubscribed
	ImportInvalid      = audience.ImportInvalid
)

// The values of SubscriberState.
const (
	SubscriberActive      = audience.SubscriberActive
	SubscriberUnconfirmed = audience.SubscriberUnconfirmed // the address has not confirmed the subscription
	SubscriberSuspended   = audience.SubscriberSuspended   // the receiver has rejected too many messages
)

// MonitorHeartbeat is the MonitorType of monitors that expect pings.
const MonitorHeartbeat = monitor.MonitorHeartbeat
