package alert

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/allswell/allswell"
)

// AuditObject returns what the audit log records of the channel.
func (c Channel) AuditObject() allswell.AuditObject {
	fields := map[string]any{"name": c.Name, "type": c.Type, "enabled": c.Enabled, "max_per_minute": c.MaxPerMinute, "fallback_id": c.FallbackID, "test_weekly": c.TestWeekly,
		"title_template": c.TitleTemplate, "text_template": c.TextTemplate}
	var config map[string]any
	if json.Unmarshal(c.Config, &config) == nil {
		maps.Copy(fields, config)
	}
	if to := c.UnconfirmedAddress(); to != "" {
		fields["unconfirmed_address"] = to
	}
	if len(c.SecretFields) > 0 {
		fields["secrets"] = c.SecretFields
	}
	if c.URLHost != "" {
		fields["url_host"] = c.URLHost
	}
	return allswell.AuditObject{Kind: allswell.ObjectAlertChannel, ID: c.ID, Name: c.Name, Fields: fields, Secrets: c.SecretVersions}
}

// AuditObject returns what the audit log records of the on-call schedule.
func (o OnCall) AuditObject() allswell.AuditObject {
	fields := map[string]any{
		"name": o.Name, "slug": o.Slug, "zone": o.Zone, "hand_over_day": o.HandOverDay, "hand_over_at": o.HandOverAt, "starts_on": o.StartsOn.Format(time.DateOnly),
		"participants": o.Participants, "overrides": o.Overrides,
	}
	return allswell.AuditObject{Kind: allswell.ObjectOnCall, ID: o.ID, Name: o.Name, Fields: fields}
}

// AuditObject returns what the audit log records of the alert.
func (a Alert) AuditObject() allswell.AuditObject {
	return allswell.AuditObject{Kind: allswell.ObjectAlert, ID: a.ID, Name: a.Name, Fields: map[string]any{"acknowledged_by": a.AcknowledgedBy}}
}
