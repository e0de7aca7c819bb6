package alert

import "github.com/allswell/allswell"

// AuditObject returns what the audit log records of the alert.
func (a Alert) AuditObject() allswell.AuditObject {
	return allswell.AuditObject{Kind: allswell.ObjectAlert, ID: a.ID, Name: a.Name, Fields: map[string]any{"acknowledged_by": a.AcknowledgedBy}}
}
