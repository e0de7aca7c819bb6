// Package resource describes the resources of the API: a file for each.
package resource

import (
	"time"

	"github.com/allswell/allswell/internal/resource/field"
)

// Descriptions are the descriptions of all resources.
var Descriptions = []field.Description{
	Announcement.Describe(), Component.Describe(), Group.Describe(), IncidentTemplate.Describe(),
	Maintenance.Describe(), MaintenanceUpdate.Describe(), Silence.Describe(), Monitor.Describe(), Page.Describe(),
	AlertRule.Describe(), Channel.Describe(), OnCall.Describe(), Subscriber.Describe(),
}

// exampleDay is the instant of examples.
var exampleDay = time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)
