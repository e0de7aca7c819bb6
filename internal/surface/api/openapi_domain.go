package api

import (
	"maps"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/configfield"
	"github.com/allswell/allswell/internal/surface/web"
)

// The values of the domain to which the YAML files refer by name: see notation.

// domainLists returns the values of enumerations.
func domainLists() map[string][]any {
	return map[string][]any{
		"ActorKinds":          anyOf(kernel.ActorKinds),
		"AffectedStatuses":    anyOf(kernel.AffectedStatuses),
		"AuditActions":        anyOf(kernel.AuditActions),
		"AutoIncidentModes":   anyOf(statuspage.AutoIncidentModes),
		"CheckStatuses":       anyOf(monitor.CheckStatuses),
		"ConditionActions":    anyOf(monitor.ConditionActions),
		"DeliveryPurposes":    anyOf(audience.DeliveryPurposes),
		"DeliveryStates":      anyOf(audience.DeliveryStates),
		"DomainLookupResults": anyOf(statuspage.DomainLookupResults),
		"DomainResults":       anyOf(statuspage.DomainResults),
		"DomainStatuses":      anyOf(statuspage.DomainStatuses),
		"DownStatuses":        anyOf(kernel.DownStatuses),
		"ExtensionReasons":    anyOf(monitor.ExtensionReasons),
		"GapCauses":           anyOf(monitor.GapCauses),
		"HistoryKinds":        anyOf(monitor.HistoryKinds),
		"ImportResults":       anyOf(audience.ImportResults),
		"DisplayStates":       anyOf(monitor.DisplayStates),
		"ObjectKinds":         anyOf(kernel.ObjectKinds),
		"OutageReasons":       anyOf(monitor.OutageReasons),
		"PingAccesses":        anyOf(monitor.PingAccesses),
		"RankedStatuses":      anyOf(kernel.RankedStatuses),
		"Roles":               anyOf(kernel.Roles),
		"ScheduleKinds":       anyOf(schedule.ScheduleKinds),
		"Scopes":              anyOf(kernel.Scopes),
		"SubscriberEvents":    anyOf(statuspage.SubscriberEvents),
		"Visibilities":        anyOf(statuspage.Visibilities),
		"WarningConditions":   anyOf(monitor.WarningConditions),
		"alert.Events":        anyOf(alert.Events),
		"alert.HoldReasons":   anyOf(alert.HoldReasons),
		"alert.NoticeKinds":   anyOf(alert.NoticeKinds),
		"alert.States":        anyOf(alert.States),
		"check.MonitorTypes":  anyOf(check.MonitorTypes()),
		"web.ErrorCodes":      anyOf(web.ErrorCodes),
	}
}

// domainLimits returns limits of texts, lists and numbers. Durations are in seconds.
func domainLimits() map[string]int {
	return map[string]int{
		"HistoryDays":           statuspage.HistoryDays,
		"MaxAffectedComponents": statuspage.MaxAffectedComponents,
		"MaxCheckTimeout":       inSeconds(monitor.MaxCheckTimeout),
		"MaxConsentLength":      audience.MaxConsentLength,
		"MaxDescriptionLength":  kernel.MaxDescriptionLength,
		"MaxAccessNetworks":     statuspage.MaxAccessNetworks,
		"MaxDomainLength":       statuspage.MaxDomainLength,
		"MaxDueTimes":           monitor.MaxDueTimes,
		"MaxEmailLength":        kernel.MaxEmailLength,
		"MaxExitCode":           monitor.MaxExitCode,
		"MaxFailedBody":         monitor.MaxFailedBody,
		"MaxFailureThreshold":   monitor.MaxFailureThreshold,
		"MaxGrace":              inSeconds(monitor.MaxGrace),
		"MaxImportBytes":        audience.MaxImportBytes,
		"MaxImportLines":        audience.MaxImportLines,
		"MaxInterval":           inSeconds(monitor.MaxInterval),
		"MaxLookupAddresses":    statuspage.MaxLookupAddresses,
		"MaxMessageLength":      kernel.MaxMessageLength,
		"MaxNameLength":         kernel.MaxNameLength,
		"MaxOutput":             monitor.MaxOutput,
		"MaxPageLimit":          account.MaxPageLimit,
		"MaxRecoveryThreshold":  monitor.MaxRecoveryThreshold,
		"MaxShownGaps":          monitor.MaxShownGaps,
		"MaxSlugLength":         kernel.MaxSlugLength,
		"MaxTitleLength":        kernel.MaxTitleLength,
		"MaxUserAgentLength":    monitor.MaxUserAgentLength,
		"maxPerPage":            maxPerPage,
	}
}

// domainTypes returns types that are written out in the document wherever they are used, instead of as named schemas.
func domainTypes() map[string]object {
	return map[string]object{
		"AlertID":      idSchema(alert.PrefixAlert),
		"AuditEntryID": idSchema(kernel.PrefixAuditEntry),
		"ComponentID":  idSchema(kernel.PrefixComponent),
		"DeliveryID":   {"type": "string", "pattern": "^" + kernel.PrefixDelivery + "[0-9a-v]{20}([0-9a-v]{20})?$"},
		"GroupID":      idSchema(kernel.PrefixGroup), "InvitationID": idSchema(kernel.PrefixInvitation),
		"MaintenanceID": idSchema(kernel.PrefixMaintenance), "MonitorID": idSchema(kernel.PrefixMonitor),
		"NoteID": idSchema(kernel.PrefixNote), "OutageID": idSchema(kernel.PrefixOutage),
		"SessionID": idSchema(kernel.PrefixSession), "SignalID": idSchema(kernel.PrefixSignal),
		"StatusDurations": statusDurations(), "SubscriberID": idSchema(kernel.PrefixSubscriber),
		"TokenID": idSchema(kernel.PrefixToken), "UUID": {"type": "string", "format": "uuid"},
		"UpdateID": idSchema(kernel.PrefixUpdate), "UserID": idSchema(kernel.PrefixUser),
		"WarningID": idSchema(kernel.PrefixWarning),
	}
}

// typeFields returns the fields of all types of checks and of channels.
func typeFields() map[string][]configfield.Shared {
	return map[string][]configfield.Shared{"check": check.Fields(), "channel": alertchannel.Fields()}
}

func inSeconds(d time.Duration) int { return int(d / time.Second) }

// idSchema returns the schema of ids with a prefix.
func idSchema(prefix string) object {
	return object{"type": "string", "pattern": "^" + prefix + "[0-9a-v]{20}$"}
}

// statusDurations returns the schema of the seconds of a day in each status. A day has up to 25 hours.
func statusDurations() object {
	properties := make(object)
	for _, s := range kernel.RankedStatuses {
		properties[string(s)] = object{"type": "number", "minimum": 0, "maximum": inSeconds(25 * time.Hour)}
	}
	return object{"type": "object", "required": slices.Sorted(maps.Keys(properties)), "properties": properties}
}

func anyOf[T any](values []T) (all []any) {
	for _, v := range values {
		all = append(all, v)
	}
	return all
}
