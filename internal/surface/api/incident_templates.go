package api

import (
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
)

var templateRoutes = resourceActions[statuspage.IncidentTemplate]{
	Resource: resource.IncidentTemplate, objects: (*store.Store).IncidentTemplates, id: "templateId",
	reading: rights.TemplateRead, changing: rights.TemplateChange,
	deletion: "Incidents that began with it stay as they are.",
	byPage:   "Only templates that can be used on this page.",
}.routes(
	operation{summary: "List the templates of incidents, the oldest first."},
	operation{
		summary: "Create a template of incidents.",
		text: "`title` and `message` may contain the variables `{{component}}` (the names of the affected " +
			"components, or of the page), `{{date}}`, `{{page}}` and `{{time}}` (in the page's time zone). Others " +
			"are 422. A workspace can have 200 templates, each with a name of its own.",
	})
