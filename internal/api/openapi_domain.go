package api

import (
	"maps"
	"slices"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/configfield"
	"github.com/allswell/allswell/internal/web"
)

// What the YAML files name of the domain: see notation. Names without a package are those of package allswell.

// domainLists returns the values of enumerations.
func domainLists() map[string][]any {
	return map[string][]any{
		"ActorKinds":          anyOf(allswell.ActorKinds),
		"AffectedStatuses":    anyOf(allswell.AffectedStatuses),
		"AuditActions":        anyOf(allswell.AuditActions),
		"AutoIncidentModes":   anyOf(allswell.AutoIncidentModes),
		"CheckStatuses":       anyOf(allswell.CheckStatuses),
		"ConditionActions":    anyOf(allswell.ConditionActions),
		"DeliveryPurposes":    anyOf(allswell.DeliveryPurposes),
		"DeliveryStates":      anyOf(allswell.DeliveryStates),
		"DomainLookupResults": anyOf(allswell.DomainLookupResults),
		"DomainResults":       anyOf(allswell.DomainResults),
		"DomainStatuses":      anyOf(allswell.DomainStatuses),
		"DownStatuses":        anyOf(allswell.DownStatuses),
		"ExtensionReasons":    anyOf(allswell.ExtensionReasons),
		"GapCauses":           anyOf(allswell.GapCauses),
		"HistoryKinds":        anyOf(allswell.HistoryKinds),
		"ImportResults":       anyOf(allswell.ImportResults),
		"MonitorConditions":   anyOf(allswell.MonitorConditions),
		"ObjectKinds":         anyOf(allswell.ObjectKinds),
		"OutageReasons":       anyOf(allswell.OutageReasons),
		"PingAccesses":        anyOf(allswell.PingAccesses),
		"RankedStatuses":      anyOf(allswell.RankedStatuses),
		"Roles":               anyOf(allswell.Roles),
		"ScheduleKinds":       anyOf(allswell.ScheduleKinds),
		"Scopes":              anyOf(allswell.Scopes),
		"SubscriberEvents":    anyOf(allswell.SubscriberEvents),
		"Visibilities":        anyOf(allswell.Visibilities),
		"WarningConditions":   anyOf(allswell.WarningConditions),
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
		"HistoryDays":           allswell.HistoryDays,
		"MaxAffectedComponents": allswell.MaxAffectedComponents,
		"MaxCheckTimeout":       inSeconds(allswell.MaxCheckTimeout),
		"MaxConsentLength":      allswell.MaxConsentLength,
		"MaxDescriptionLength":  allswell.MaxDescriptionLength,
		"MaxAccessNetworks":     allswell.MaxAccessNetworks,
		"MaxDomainLength":       allswell.MaxDomainLength,
		"MaxDueTimes":           allswell.MaxDueTimes,
		"MaxEmailLength":        allswell.MaxEmailLength,
		"MaxExitCode":           allswell.MaxExitCode,
		"MaxFailedBody":         allswell.MaxFailedBody,
		"MaxFailureThreshold":   allswell.MaxFailureThreshold,
		"MaxGrace":              inSeconds(allswell.MaxGrace),
		"MaxImportBytes":        allswell.MaxImportBytes,
		"MaxImportLines":        allswell.MaxImportLines,
		"MaxInterval":           inSeconds(allswell.MaxInterval),
		"MaxLookupAddresses":    allswell.MaxLookupAddresses,
		"MaxMessageLength":      allswell.MaxMessageLength,
		"MaxNameLength":         allswell.MaxNameLength,
		"MaxOutput":             allswell.MaxOutput,
		"MaxPageLimit":          allswell.MaxPageLimit,
		"MaxRecoveryThreshold":  allswell.MaxRecoveryThreshold,
		"MaxShownGaps":          allswell.MaxShownGaps,
		"MaxSlugLength":         allswell.MaxSlugLength,
		"MaxTitleLength":        allswell.MaxTitleLength,
		"MaxUserAgentLength":    allswell.MaxUserAgentLength,
		"maxPerPage":            maxPerPage,
	}
}

// domainTypes returns types that the document has wherever they are used, and not as schemas with a name.
func domainTypes() map[string]object {
	return map[string]object{
		"AlertID":         idSchema(alert.PrefixAlert),
		"AuditEntryID":    idSchema(allswell.PrefixAuditEntry),
		"ComponentID":     idSchema(allswell.PrefixComponent),
		"DeliveryID":      {"type": "string", "pattern": "^" + allswell.PrefixDelivery + "[0-9a-v]{20}([0-9a-v]{20})?$"},
		"GroupID":         idSchema(allswell.PrefixGroup),
		"InvitationID":    idSchema(allswell.PrefixInvitation),
		"MaintenanceID":   idSchema(allswell.PrefixMaintenance),
		"MonitorID":       idSchema(allswell.PrefixMonitor),
		"NoteID":          idSchema(allswell.PrefixNote),
		"OutageID":        idSchema(allswell.PrefixOutage),
		"SessionID":       idSchema(allswell.PrefixSession),
		"SignalID":        idSchema(allswell.PrefixSignal),
		"StatusDurations": statusDurations(),
		"SubscriberID":    idSchema(allswell.PrefixSubscriber),
		"TokenID":         idSchema(allswell.PrefixToken),
		"UUID":            {"type": "string", "format": "uuid"},
		"UpdateID":        idSchema(allswell.PrefixUpdate),
		"UserID":          idSchema(allswell.PrefixUser),
		"WarningID":       idSchema(allswell.PrefixWarning),
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
	for _, s := range allswell.RankedStatuses {
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
