package alert

import "github.com/allswell/allswell/internal/domain/kernel"

// AuditObject returns what the audit log records of the alert.
func (a Alert) AuditObject() kernel.AuditObject {
	return kernel.AuditObject{
		Kind: kernel.ObjectAlert, ID: a.ID, Name: a.Name, Fields: map[string]any{"acknowledged_by": a.AcknowledgedBy},
	}
}
