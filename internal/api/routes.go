package api

import (
	"net/http"
	"path"
	"slices"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/web"
)

// route is a method and a path, the scope that a token needs, and the action.
type route struct {
	method string
	path   string
	scope  allswell.Scope
	do     action
}

// The scope that a route requires.
const (
	open  = allswell.Scope("") // no token
	read  = allswell.ScopeRead
	write = allswell.ScopeWrite
	admin = allswell.ScopeAdmin
)

// maxBodySize returns the maximum size of a request body in bytes. 0: no body is read.
// Bodies are images or JSON.
func (rt route) maxBodySize() int64 {
	switch {
	case rt.method == http.MethodPut && slices.Contains(allswell.ImageKinds, allswell.ImageKind(path.Base(rt.path))):
		return allswell.MaxImageSize
	case rt.method == http.MethodPost, rt.method == http.MethodPut, rt.method == http.MethodPatch:
		return web.MaxBody
	}
	return 0
}

// isContract reports whether the route is one of the contract (see docs/api.md), which must not refuse what it does not
// know. The fifth one is the heartbeat, which reads no body.
func (rt route) isContract() bool {
	switch rt.method + " " + rt.path {
	case "POST /api/v1/pages/{pageSlug}/incidents", "PATCH /api/v1/incidents/{incidentId}", "POST /api/v1/incidents/{incidentId}/updates",
		"PATCH /api/v1/pages/{pageSlug}/components/{componentId}":
		return true
	}
	return false
}

// routes returns all routes of the API except the heartbeat, which package ping
// serves. A route of GET serves HEAD too.
func (a *api) routes() []route {
	return slices.Concat(a.pageRoutes(), a.incidentRoutes(), a.monitorRoutes(), a.subscriberRoutes(), a.alertRoutes(), a.workspaceRoutes())
}

// pageRoutes are the routes of pages, groups and components.
func (a *api) pageRoutes() []route {
	return []route{
		{"GET", "/api/v1/pages", read, a.listPages},
		{"POST", "/api/v1/pages", write, a.createPage},
		{"GET", "/api/v1/pages/{pageSlug}", read, a.getPage},
		{"PUT", "/api/v1/pages/{pageSlug}", write, a.putPage},
		{"PATCH", "/api/v1/pages/{pageSlug}", write, a.changePage},
		{"DELETE", "/api/v1/pages/{pageSlug}", write, a.deletePage},
		{"PUT", "/api/v1/pages/{pageSlug}/logo", write, a.putImage(allswell.ImageLogo)},
		{"DELETE", "/api/v1/pages/{pageSlug}/logo", write, a.deleteImage(allswell.ImageLogo)},
		{"PUT", "/api/v1/pages/{pageSlug}/logo_dark", write, a.putImage(allswell.ImageLogoDark)},
		{"DELETE", "/api/v1/pages/{pageSlug}/logo_dark", write, a.deleteImage(allswell.ImageLogoDark)},
		{"PUT", "/api/v1/pages/{pageSlug}/icon", write, a.putImage(allswell.ImageIcon)},
		{"DELETE", "/api/v1/pages/{pageSlug}/icon", write, a.deleteImage(allswell.ImageIcon)},
		{"GET", "/api/v1/pages/{pageSlug}/access", write, a.getPageAccess},
		{"PATCH", "/api/v1/pages/{pageSlug}/access", write, a.changePageAccess},
		{"GET", "/api/v1/pages/{pageSlug}/ping-key", write, a.getPingKey},
		{"PATCH", "/api/v1/pages/{pageSlug}/ping-key", write, a.changePingKey},
		{"POST", "/api/v1/pages/{pageSlug}/ping-key/rotate", write, a.rotatePingKey},
		{"GET", "/api/v1/pages/{pageSlug}/domain", read, a.getDomain},
		{"POST", "/api/v1/pages/{pageSlug}/domain/verify", write, a.verifyDomain},
		{"GET", "/api/v1/pages/{pageSlug}/uptime", read, a.getUptime},

		{"GET", "/api/v1/pages/{pageSlug}/groups", read, a.listGroups},
		{"POST", "/api/v1/pages/{pageSlug}/groups", write, a.createGroup},
		{"PATCH", "/api/v1/groups/{groupId}", write, a.changeGroup},
		{"DELETE", "/api/v1/groups/{groupId}", write, a.deleteGroup},

		{"GET", "/api/v1/pages/{pageSlug}/components", read, a.listComponents},
		{"POST", "/api/v1/pages/{pageSlug}/components", write, a.createComponent},
		{"GET", "/api/v1/pages/{pageSlug}/components/{componentId}", read, a.getComponent},
		{"PUT", "/api/v1/pages/{pageSlug}/components/{componentId}", write, a.putComponent},
		{"PATCH", "/api/v1/pages/{pageSlug}/components/{componentId}", write, a.changeComponent},
		{"DELETE", "/api/v1/pages/{pageSlug}/components/{componentId}", write, a.deleteComponent},
		{"PATCH", "/api/v1/components/{componentId}", write, a.editComponent},
	}
}

// incidentRoutes are the routes of incidents, maintenances and announcements.
func (a *api) incidentRoutes() []route {
	return []route{
		{"GET", "/api/v1/pages/{pageSlug}/incidents", read, a.listIncidents},
		{"POST", "/api/v1/pages/{pageSlug}/incidents", write, a.createIncident},
		{"GET", "/api/v1/incident-templates", read, a.listIncidentTemplates},
		{"POST", "/api/v1/incident-templates", write, a.createIncidentTemplate},
		{"GET", "/api/v1/incident-templates/{templateId}", read, a.getIncidentTemplate},
		{"PATCH", "/api/v1/incident-templates/{templateId}", write, a.changeIncidentTemplate},
		{"DELETE", "/api/v1/incident-templates/{templateId}", write, a.deleteIncidentTemplate},
		{"GET", "/api/v1/incidents/{incidentId}", read, a.getIncident},
		{"PATCH", "/api/v1/incidents/{incidentId}", write, a.changeIncident},
		{"DELETE", "/api/v1/incidents/{incidentId}", write, a.deleteIncident},
		{"POST", "/api/v1/incidents/{incidentId}/publish", write, a.publishIncident},
		{"POST", "/api/v1/incidents/{incidentId}/take-over", write, a.takeOverIncident},
		{"POST", "/api/v1/incidents/{incidentId}/give-back", write, a.giveBackIncident},
		{"PUT", "/api/v1/incidents/{incidentId}/merged-into", write, a.mergeIncident},
		{"GET", "/api/v1/incidents/{incidentId}/notes", read, a.listIncidentNotes},
		{"GET", "/api/v1/incidents/{incidentId}/updates", read, a.listUpdates},
		{"POST", "/api/v1/incidents/{incidentId}/updates", write, a.postUpdate},
		{"GET", "/api/v1/incidents/{incidentId}/updates/{updateId}", read, a.getUpdate},
		{"PATCH", "/api/v1/incidents/{incidentId}/updates/{updateId}", write, a.editUpdate},
		{"DELETE", "/api/v1/incidents/{incidentId}/updates/{updateId}", write, a.deleteUpdate},
		{"GET", "/api/v1/incidents/{incidentId}/postmortem", read, a.getPostmortem},
		{"PUT", "/api/v1/incidents/{incidentId}/postmortem", write, a.putPostmortem},
		{"DELETE", "/api/v1/incidents/{incidentId}/postmortem", write, a.deletePostmortem},
		{"GET", "/api/v1/incidents/{incidentId}/components", read, a.getIncidentComponents},
		{"PUT", "/api/v1/incidents/{incidentId}/components", write, a.putIncidentComponents},

		{"GET", "/api/v1/pages/{pageSlug}/maintenances", read, a.listMaintenances},
		{"POST", "/api/v1/pages/{pageSlug}/maintenances", write, a.createMaintenance},
		{"GET", "/api/v1/maintenances/{maintenanceId}", read, a.getMaintenance},
		{"PATCH", "/api/v1/maintenances/{maintenanceId}", write, a.changeMaintenance},
		{"DELETE", "/api/v1/maintenances/{maintenanceId}", write, a.deleteMaintenance},
		{"GET", "/api/v1/maintenances/{maintenanceId}/updates", read, a.listMaintenanceUpdates},
		{"POST", "/api/v1/maintenances/{maintenanceId}/updates", write, a.postMaintenanceUpdate},

		{"GET", "/api/v1/pages/{pageSlug}/announcements", read, a.listAnnouncements},
		{"POST", "/api/v1/pages/{pageSlug}/announcements", write, a.createAnnouncement},
		{"GET", "/api/v1/announcements/{announcementId}", read, a.getAnnouncement},
		{"PATCH", "/api/v1/announcements/{announcementId}", write, a.changeAnnouncement},
		{"DELETE", "/api/v1/announcements/{announcementId}", write, a.deleteAnnouncement},
	}
}

func (a *api) monitorRoutes() []route {
	return []route{
		{"GET", "/api/v1/monitors", read, a.listMonitors},
		{"POST", "/api/v1/monitors", write, a.createMonitor},
		{"POST", testPath, write, a.testNewMonitor},
		{"GET", monitorPath, read, a.getMonitor},
		{"PUT", monitorPath, write, a.putMonitor},
		{"PATCH", "/api/v1/monitors/{monitorId}", write, a.changeMonitor},
		{"DELETE", "/api/v1/monitors/{monitorId}", write, a.deleteMonitor},
		{"GET", "/api/v1/monitors/{monitorId}/outages", read, a.listOutages},
		{"GET", "/api/v1/monitors/{monitorId}/pings", read, a.listPings},
		{"GET", "/api/v1/monitors/{monitorId}/pings/{pingId}/body", read, a.getPingBody},
		{"GET", "/api/v1/monitors/{monitorId}/warnings", read, a.listWarnings},
		{"GET", "/api/v1/monitors/{monitorId}/metrics", read, a.getMonitorMetrics},
		{"GET", "/api/v1/monitors/{monitorId}/explain", read, a.explainMonitor},
		{"GET", "/api/v1/monitors/{monitorId}/schedule", read, a.getMonitorSchedule},
		{"GET", "/api/v1/monitors/{monitorId}/results", read, a.listCheckResults},
		{"POST", monitorTestPath, write, a.testMonitor},
		{"POST", "/api/v1/monitors/{monitorId}/rotate", write, a.rotateMonitor},
	}
}

// subscriberRoutes are the routes of subscribers and of the deliveries to them. E-mail
// addresses are personal data, and the URL of a webhook may contain a credential: tokens
// with the scope read are widely shared and see neither.
func (a *api) subscriberRoutes() []route {
	return []route{
		{"GET", "/api/v1/pages/{pageSlug}/subscribers", write, a.listSubscribers},
		{"POST", "/api/v1/pages/{pageSlug}/subscribers", write, a.createSubscriber},
		{"POST", "/api/v1/pages/{pageSlug}/subscribers/import", write, a.importSubscribers},
		{"GET", "/api/v1/pages/{pageSlug}/subscribers/{subscriberId}", write, a.getSubscriber},
		{"PATCH", "/api/v1/pages/{pageSlug}/subscribers/{subscriberId}", write, a.changeSubscriber},
		{"DELETE", "/api/v1/pages/{pageSlug}/subscribers/{subscriberId}", write, a.deleteSubscriber},
		{"POST", "/api/v1/pages/{pageSlug}/subscribers/{subscriberId}/rotate", write, a.rotateSubscriber},
		{"POST", "/api/v1/pages/{pageSlug}/subscribers/{subscriberId}/resume", write, a.resumeSubscriber},
		{"POST", "/api/v1/pages/{pageSlug}/subscribers/{subscriberId}/test", write, a.testSubscriber},
		{"GET", "/api/v1/pages/{pageSlug}/deliveries", write, a.listDeliveries},
		{"POST", "/api/v1/deliveries/{deliveryId}/retry", write, a.retryDelivery},
	}
}

// alertRoutes are the routes of alerts, and of who is notified of them.
func (a *api) alertRoutes() []route {
	return []route{
		{"GET", "/api/v1/channels", read, a.listChannels},
		{"POST", "/api/v1/channels", admin, a.createChannel},
		{"POST", newChannelTestPath, admin, a.testNewChannel},
		{"GET", "/api/v1/channels/{channelId}", read, a.getChannel},
		{"PATCH", "/api/v1/channels/{channelId}", admin, a.changeChannel},
		{"DELETE", "/api/v1/channels/{channelId}", admin, a.deleteChannel},
		{"POST", channelTestPath, admin, a.testChannel},

		{"GET", "/api/v1/alert-rules", read, a.listAlertRules},
		{"POST", "/api/v1/alert-rules", admin, a.createAlertRule},
		{"POST", ruleTestPath, read, a.testAlertRules},
		{"GET", "/api/v1/alert-rules/{ruleId}", read, a.getAlertRule},
		{"PATCH", "/api/v1/alert-rules/{ruleId}", admin, a.changeAlertRule},
		{"DELETE", "/api/v1/alert-rules/{ruleId}", admin, a.deleteAlertRule},

		{"GET", "/api/v1/alerts", read, a.listAlerts},
		{"GET", "/api/v1/alerts/{alertId}", read, a.getAlert},
		{"POST", "/api/v1/alerts/{alertId}/acknowledge", write, a.acknowledgeAlert},

		{"GET", "/api/v1/silences", read, a.listSilences},
		{"POST", "/api/v1/silences", write, a.createSilence},
		{"GET", "/api/v1/silences/{silenceId}", read, a.getSilence},
		{"PATCH", "/api/v1/silences/{silenceId}", write, a.changeSilence},
		{"DELETE", "/api/v1/silences/{silenceId}", write, a.endSilence},

		{"GET", "/api/v1/on-call", read, a.listOnCall},
		{"POST", "/api/v1/on-call", admin, a.createOnCall},
		{"GET", "/api/v1/on-call/{onCallId}", read, a.getOnCall},
		{"PATCH", "/api/v1/on-call/{onCallId}", admin, a.changeOnCall},
		{"DELETE", "/api/v1/on-call/{onCallId}", admin, a.deleteOnCall},
	}
}

// workspaceRoutes are the routes of tokens, of members, of the audit log and of this API's document.
func (a *api) workspaceRoutes() []route {
	return []route{
		{"GET", "/api/v1/tokens", admin, a.listTokens},
		{"POST", "/api/v1/tokens", admin, a.issueToken},
		{"DELETE", "/api/v1/tokens/{tokenId}", admin, a.revokeToken},

		{"GET", "/api/v1/members", admin, a.listMembers},
		{"PATCH", "/api/v1/members/{memberId}", admin, a.changeMember},
		{"DELETE", "/api/v1/members/{memberId}", admin, a.removeMember},
		{"GET", "/api/v1/invitations", admin, a.listInvitations},
		{"POST", "/api/v1/invitations", admin, a.createInvitation},
		{"DELETE", "/api/v1/invitations/{invitationId}", admin, a.withdrawInvitation},
		{"GET", "/api/v1/sessions", admin, a.listSessions},
		{"DELETE", "/api/v1/sessions/{sessionId}", admin, a.endSession},

		{"GET", "/api/v1/audit", admin, a.listAudit},

		{"GET", "/api/v1/openapi.json", open, a.getOpenAPI},
	}
}
