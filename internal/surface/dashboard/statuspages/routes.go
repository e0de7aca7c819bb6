package statuspages

import (
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// live are the patterns of the screens that are kept current while they are open.
var live = []string{
	"GET /admin/incidents",
	"GET /admin/maintenances",
	"GET /admin/pages",
	"GET /admin/pages/{page}/components",
	"GET /admin/pages/{page}/announcements",
}

// routes lists the routes of the room.
var routes = []frame.RouteOf[*request]{
	frame.On("GET /admin/setup/page", rights.PageCreate, (*request).showSetupPage),
	frame.On("POST /admin/setup/page", rights.PageCreate, (*request).setUpPage),
	frame.On("GET /admin/setup/{page}/components", rights.PageCreate, (*request).showSetupComponents),
	frame.On("POST /admin/setup/{page}/components", rights.PageCreate, (*request).setUpComponents),

	frame.On("GET /admin/visit/{page}", rights.PageRead, (*request).visitPage),
	frame.On("GET /admin/incidents", rights.IncidentRead, (*request).showIncidents),
	frame.On("GET /admin/incidents/new", rights.IncidentChange, (*request).showNewIncident),
	frame.On("POST /admin/incidents/new", rights.IncidentChange, (*request).createIncident),
	frame.On("GET /admin/incidents/{incident}", rights.IncidentRead, (*request).showIncident),
	frame.On("POST /admin/incidents/{incident}", rights.IncidentChange, (*request).updateIncident),
	frame.On("POST /admin/incidents/{incident}/edit", rights.IncidentChange, (*request).editIncident),
	frame.On("GET /admin/incidents/{incident}/updates/{update}", rights.IncidentChange, (*request).showIncidentUpdate),
	frame.On("POST /admin/incidents/{incident}/updates/{update}", rights.IncidentChange, (*request).editIncidentUpdate),
	frame.On("POST /admin/incidents/{incident}/updates/{update}/delete", rights.IncidentChange,
		(*request).deleteIncidentUpdate),
	frame.On("POST /admin/incidents/{incident}/take-over", rights.IncidentChange, (*request).takeOverIncident),
	frame.On("POST /admin/incidents/{incident}/merge", rights.IncidentChange, (*request).mergeIncident),
	frame.On("GET /admin/incidents/{incident}/postmortem", rights.IncidentChange, (*request).showPostmortem),
	frame.On("POST /admin/incidents/{incident}/postmortem", rights.IncidentChange, (*request).writePostmortem),
	frame.On("POST /admin/incidents/{incident}/postmortem/delete", rights.IncidentChange, (*request).deletePostmortem),
	frame.On("POST /admin/incidents/{incident}/publish", rights.IncidentChange, (*request).publishIncident),
	frame.On("POST /admin/incidents/{incident}/delete", rights.IncidentChange, (*request).deleteIncident),

	frame.On("GET /admin/incident-templates", rights.TemplateRead, (*request).showIncidentTemplates),
	frame.On("GET /admin/incident-templates/new", rights.TemplateChange, templateScreens.showNew),
	frame.On("POST /admin/incident-templates/new", rights.TemplateChange, templateScreens.createNew),
	frame.On("GET /admin/incident-templates/{template}", rights.TemplateChange, templateScreens.show),
	frame.On("POST /admin/incident-templates/{template}", rights.TemplateChange, templateScreens.save),
	frame.On("POST /admin/incident-templates/{template}/delete", rights.TemplateChange, templateScreens.delete),

	frame.On("GET /admin/maintenances", rights.MaintenanceRead, (*request).showMaintenances),
	frame.On("GET /admin/maintenances/new", rights.MaintenanceChange, (*request).showNewMaintenance),
	frame.On("POST /admin/maintenances/new", rights.MaintenanceChange, (*request).createMaintenance),
	frame.On("GET /admin/maintenances/{maintenance}", rights.MaintenanceRead, (*request).showMaintenance),
	frame.On("POST /admin/maintenances/{maintenance}", rights.MaintenanceChange, (*request).updateMaintenance),
	frame.On("POST /admin/maintenances/{maintenance}/edit", rights.MaintenanceChange, (*request).editMaintenance),
	frame.On("POST /admin/maintenances/{maintenance}/delete", rights.MaintenanceChange, (*request).deleteMaintenance),

	frame.On("GET /admin/pages", rights.PageRead, (*request).showPages),
	frame.On("POST /admin/pages", rights.PageCreate, (*request).createPage),
	frame.On("GET /admin/new-page", rights.PageCreate, (*request).showNewPage),
	frame.On("GET /admin/pages/{page}", rights.PageRead, (*request).showPageSettings),
	frame.On("POST /admin/pages/{page}", rights.PageChange, (*request).changePage),
	frame.On("GET /admin/pages/{page}/access", rights.PageAccessRead, (*request).showPageAccess),
	frame.On("POST /admin/pages/{page}/access", rights.PageAccessChange, (*request).changePageAccess),
	frame.On("POST /admin/pages/{page}/delete", rights.PageDelete, frame.Confirmed((*request).deletePage)),
	frame.On("POST /admin/pages/{page}/domain", rights.PageChange, (*request).verifyPageDomain),
	frame.On("GET /admin/pages/{page}/preview", rights.PageRead, (*request).showPreview),
	frame.On("POST /admin/pages/{page}/preview", rights.PageChange, (*request).showPreview),
	frame.On("GET /admin/pages/{page}/images/{kind}", rights.PageRead, (*request).showPageImage),
	frame.On("POST /admin/pages/{page}/images/{kind}", rights.PageChange, (*request).setPageImage),

	frame.On("GET /admin/pages/{page}/components", rights.ComponentRead, (*request).showComponents),
	frame.On("POST /admin/pages/{page}/components", rights.ComponentChange, (*request).createComponent),
	frame.On("GET /admin/pages/{page}/components/{component}", rights.ComponentChange, componentScreens.show),
	frame.On("POST /admin/pages/{page}/components/{component}", rights.ComponentChange, componentScreens.save),
	frame.On("POST /admin/pages/{page}/components/{component}/status", rights.ComponentChange,
		(*request).setComponentStatus),
	frame.On("POST /admin/pages/{page}/components/{component}/move", rights.ComponentChange, (*request).moveComponent),
	frame.On("POST /admin/pages/{page}/components/{component}/place", rights.ComponentChange,
		(*request).placeComponent),
	frame.On("POST /admin/pages/{page}/components/{component}/delete", rights.ComponentChange, componentScreens.delete),
	frame.On("POST /admin/pages/{page}/groups", rights.GroupChange, (*request).createGroup),
	frame.On("GET /admin/pages/{page}/groups/{group}", rights.GroupChange, groupScreens.show),
	frame.On("POST /admin/pages/{page}/groups/{group}", rights.GroupChange, groupScreens.save),
	frame.On("POST /admin/pages/{page}/groups/{group}/move", rights.GroupChange, (*request).moveGroup),
	frame.On("POST /admin/pages/{page}/groups/{group}/place", rights.GroupChange, (*request).placeGroup),
	frame.On("POST /admin/pages/{page}/groups/{group}/delete", rights.GroupChange, groupScreens.delete),

	frame.On("GET /admin/pages/{page}/share", rights.PageRead, (*request).showShare),
	frame.On("GET /admin/pages/{page}/announcements", rights.AnnouncementRead, (*request).showAnnouncements),
	frame.On("POST /admin/pages/{page}/announcements", rights.AnnouncementChange, (*request).createAnnouncement),
	frame.On("GET /admin/pages/{page}/announcements/{announcement}", rights.AnnouncementChange,
		announcementScreens.show),
	frame.On("POST /admin/pages/{page}/announcements/{announcement}", rights.AnnouncementChange,
		announcementScreens.save),
	frame.On("POST /admin/pages/{page}/announcements/{announcement}/delete", rights.AnnouncementChange,
		announcementScreens.delete),
}
