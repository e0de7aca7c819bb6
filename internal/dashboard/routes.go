package dashboard

import (
	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
)

// access is who may use a route: the least role, or anyone.
type access string

const (
	accessAnyone access = "anyone"
	accessSigned access = "signed" // programs that sign what they send: there is no session, and the body is not read before
	accessViewer access = access(allswell.RoleViewer)
	accessEditor access = access(allswell.RoleEditor)
	accessAdmin  access = access(allswell.RoleAdmin)
	accessOwner  access = access(allswell.RoleOwner)
)

// route is a screen or an action.
type route struct {
	pattern string // of http.ServeMux
	access  access
	serve   func(*visit) error
}

// liveScreens are the patterns of the screens that are kept current while they are open: see showLive. An event stream
// can name no other path, such as that of an export.
var liveScreens = []string{
	"GET /admin", "GET /admin/alerts", "GET /admin/alerts/{alert}", "GET /admin/silences", "GET /admin/incidents", "GET /admin/maintenances",
	"GET /admin/monitors", "GET /admin/monitors/{monitor}", "GET /admin/monitors/{monitor}/first-ping", "GET /admin/channels", "GET /admin/alert-rules",
	"GET /admin/deliveries", "GET /admin/pages", "GET /admin/pages/{page}/components", "GET /admin/pages/{page}/announcements",
}

// routes lists all routes.
func (d *Dashboard) routes() []route {
	return []route{
		{"GET /admin/sign-in", accessAnyone, (*visit).showSignIn},
		{"POST /admin/sign-in", accessAnyone, (*visit).signIn},
		{"POST /admin/sign-in/code", accessAnyone, (*visit).finishSignIn},
		{"POST /admin/sign-in/passkey", accessAnyone, (*visit).signInWithPasskey},
		{"POST /admin/sign-in/passkey/options", accessAnyone, (*visit).signInOptions},
		{"POST /admin/sign-out", accessAnyone, (*visit).signOut},
		{"GET /admin/enter", accessAnyone, (*visit).signInWithCode},
		{"GET /admin/oidc/start", accessAnyone, (*visit).startOIDC},
		{"GET " + OIDCCallbackPath, accessAnyone, (*visit).finishOIDC},
		{"GET /admin/reset", accessAnyone, (*visit).showReset},
		{"POST /admin/reset", accessAnyone, (*visit).reset},
		{"GET /admin/forgot", accessAnyone, (*visit).showForgot},
		{"POST /admin/forgot", accessAnyone, (*visit).requestReset},

		{"GET " + alert.ConfirmPath, accessAnyone, (*visit).showConfirmAddress},
		{"POST " + alert.ConfirmPath, accessAnyone, (*visit).confirmAddress},
		{"GET " + alert.LinkPath, accessAnyone, (*visit).showAlertLink},
		{"POST " + alert.LinkPath, accessAnyone, (*visit).acknowledgeAlertLink},
		{"GET " + alert.CalendarPath, accessAnyone, (*visit).showOnCallCalendar},
		{"POST " + alert.SlackPath, accessSigned, (*visit).pressSlackButton},

		{"GET /admin/alerts", accessViewer, (*visit).showAlerts},
		{"GET /admin/alerts/{alert}", accessViewer, (*visit).showAlert},
		{"POST /admin/alerts/{alert}/acknowledge", accessEditor, (*visit).acknowledgeAlert},
		{"POST /admin/alerts/{alert}/silence", accessEditor, (*visit).silenceAlert},
		{"GET /admin/silences", accessViewer, (*visit).showSilences},
		{"GET /admin/silences/new", accessEditor, (*visit).showNewSilence},
		{"POST /admin/silences/new", accessEditor, (*visit).createSilence},
		{"GET /admin/silences/{silence}", accessEditor, (*visit).showSilence},
		{"POST /admin/silences/{silence}", accessEditor, (*visit).editSilence},
		{"POST /admin/silences/{silence}/end", accessEditor, (*visit).endSilence},
		{"GET /admin/on-call", accessViewer, (*visit).showOnCallList},
		{"GET /admin/on-call/new", accessEditor, (*visit).showNewOnCall},
		{"POST /admin/on-call/new", accessEditor, (*visit).createOnCall},
		{"GET /admin/on-call/{schedule}", accessViewer, (*visit).showOnCall},
		{"GET /admin/on-call/{schedule}/edit", accessEditor, (*visit).showEditOnCall},
		{"POST /admin/on-call/{schedule}/edit", accessEditor, (*visit).editOnCall},
		{"POST /admin/on-call/{schedule}/overrides", accessEditor, (*visit).addOverride},
		{"POST /admin/on-call/{schedule}/overrides/{override}/delete", accessEditor, (*visit).removeOverride},
		{"POST /admin/on-call/{schedule}/delete", accessEditor, (*visit).deleteOnCall},

		{"GET /admin/setup", accessAnyone, (*visit).showSetup},
		{"POST /admin/setup", accessAnyone, (*visit).setUp},
		{"GET /admin/setup/page", accessAdmin, (*visit).showSetupPage},
		{"POST /admin/setup/page", accessAdmin, (*visit).setUpPage},
		{"GET /admin/setup/{page}/components", accessAdmin, (*visit).showSetupComponents},
		{"POST /admin/setup/{page}/components", accessAdmin, (*visit).setUpComponents},
		{"GET /admin/setup/{page}/monitor", accessAdmin, (*visit).showSetupMonitor},
		{"POST /admin/setup/{page}/monitor", accessAdmin, (*visit).setUpMonitor},

		{"GET /admin/accept", accessAnyone, (*visit).showAccept},
		{"POST /admin/accept", accessAnyone, (*visit).accept},

		{"GET /admin/account", accessViewer, (*visit).showOwnAccount},
		{"POST /admin/account", accessViewer, (*visit).changeAccount},
		{"POST /admin/account/password", accessViewer, (*visit).changePassword},
		{"POST /admin/account/sessions/{session}/end", accessViewer, (*visit).endSession},
		{"POST /admin/account/end-other-sessions", accessViewer, (*visit).endOtherSessions},
		{"POST /admin/account/authenticator/begin", accessViewer, changesFactors(confirmed((*visit).beginAuthenticator))},
		{"GET /admin/account/authenticator", accessViewer, changesFactors((*visit).showAuthenticator)},
		{"POST /admin/account/authenticator", accessViewer, changesFactors(confirmed((*visit).setAuthenticator))},
		{"POST /admin/account/authenticator/remove", accessViewer, changesFactors(confirmed((*visit).removeAuthenticator))},
		{"POST /admin/account/passkeys", accessViewer, changesFactors(confirmed((*visit).addPasskey))},
		{"POST /admin/account/passkeys/options", accessViewer, changesFactors((*visit).creationOptions)},
		{"POST /admin/account/passkeys/confirm-options", accessViewer, (*visit).confirmOptions},
		{"POST /admin/account/passkeys/{passkey}/name", accessViewer, (*visit).renamePasskey},
		{"POST /admin/account/passkeys/{passkey}/remove", accessViewer, changesFactors(confirmed((*visit).removePasskey))},
		{"POST /admin/account/recovery-codes", accessViewer, changesFactors(confirmed((*visit).renewRecoveryCodes))},
		{"POST /admin/switch-workspace", accessViewer, (*visit).switchWorkspace},

		{"GET /admin/members", accessAdmin, (*visit).showMembers},
		{"POST /admin/members/invite", accessAdmin, confirmed((*visit).invite)},
		{"POST /admin/members/{member}/role", accessAdmin, confirmed((*visit).changeMember)},
		{"POST /admin/members/{member}/remove", accessAdmin, confirmed((*visit).removeMember)},
		{"POST /admin/invitations/{invitation}/withdraw", accessAdmin, (*visit).withdrawInvitation},

		{"GET /admin/visit/{page}", accessViewer, (*visit).visitPage},
		{"GET /admin", accessViewer, (*visit).showOverview},
		{"GET /admin/search", accessViewer, (*visit).showSearch},
		{"GET /admin/live", accessViewer, (*visit).serveLive},
		{"GET /admin/incidents", accessViewer, (*visit).showIncidents},
		{"GET /admin/incidents/new", accessEditor, (*visit).showNewIncident},
		{"POST /admin/incidents/new", accessEditor, (*visit).createIncident},
		{"GET /admin/incidents/{incident}", accessViewer, (*visit).showIncident},
		{"POST /admin/incidents/{incident}", accessEditor, (*visit).updateIncident},
		{"POST /admin/incidents/{incident}/edit", accessEditor, (*visit).editIncident},
		{"GET /admin/incidents/{incident}/updates/{update}", accessEditor, (*visit).showIncidentUpdate},
		{"POST /admin/incidents/{incident}/updates/{update}", accessEditor, (*visit).editIncidentUpdate},
		{"POST /admin/incidents/{incident}/updates/{update}/delete", accessEditor, (*visit).deleteIncidentUpdate},
		{"POST /admin/incidents/{incident}/take-over", accessEditor, (*visit).takeOverIncident},
		{"POST /admin/incidents/{incident}/merge", accessEditor, (*visit).mergeIncident},
		{"GET /admin/incidents/{incident}/postmortem", accessEditor, (*visit).showPostmortem},
		{"POST /admin/incidents/{incident}/postmortem", accessEditor, (*visit).writePostmortem},
		{"POST /admin/incidents/{incident}/postmortem/delete", accessEditor, (*visit).deletePostmortem},
		{"POST /admin/incidents/{incident}/publish", accessEditor, (*visit).publishIncident},
		{"POST /admin/incidents/{incident}/delete", accessEditor, (*visit).deleteIncident},

		{"GET /admin/incident-templates", accessViewer, (*visit).showIncidentTemplates},
		{"GET /admin/incident-templates/new", accessEditor, (*visit).showNewIncidentTemplate},
		{"POST /admin/incident-templates/new", accessEditor, (*visit).createIncidentTemplate},
		{"GET /admin/incident-templates/{template}", accessEditor, (*visit).showIncidentTemplate},
		{"POST /admin/incident-templates/{template}", accessEditor, (*visit).editIncidentTemplate},
		{"POST /admin/incident-templates/{template}/delete", accessEditor, (*visit).deleteIncidentTemplate},

		{"GET /admin/maintenances", accessViewer, (*visit).showMaintenances},
		{"GET /admin/maintenances/new", accessEditor, (*visit).showNewMaintenance},
		{"POST /admin/maintenances/new", accessEditor, (*visit).createMaintenance},
		{"GET /admin/maintenances/{maintenance}", accessViewer, (*visit).showMaintenance},
		{"POST /admin/maintenances/{maintenance}", accessEditor, (*visit).updateMaintenance},
		{"POST /admin/maintenances/{maintenance}/edit", accessEditor, (*visit).editMaintenance},
		{"POST /admin/maintenances/{maintenance}/delete", accessEditor, (*visit).deleteMaintenance},

		{"GET /admin/monitors", accessViewer, (*visit).showMonitors},
		{"POST /admin/monitors", accessEditor, (*visit).changeMonitors},
		{"GET /admin/monitors/pause", accessEditor, (*visit).showPauseMonitors},
		{"POST /admin/monitors/pause", accessEditor, (*visit).pauseMonitors},
		{"GET /admin/monitors/delete", accessEditor, (*visit).showDeleteMonitors},
		{"POST /admin/monitors/delete", accessEditor, (*visit).deleteMonitors},
		{"GET /admin/monitors/new", accessEditor, (*visit).showNewMonitor},
		{"POST /admin/monitors/new", accessEditor, (*visit).createMonitor},
		{"GET /admin/monitors/{monitor}", accessViewer, (*visit).showMonitor},
		{"GET /admin/monitors/{monitor}/signals/{signal}", accessViewer, (*visit).showOutput},
		{"GET /admin/monitors/{monitor}/edit", accessEditor, (*visit).showEditMonitor},
		{"POST /admin/monitors/{monitor}/edit", accessEditor, (*visit).editMonitor},
		{"POST /admin/monitors/{monitor}/interval", accessEditor, (*visit).setInterval},
		{"POST /admin/monitors/{monitor}/test", accessEditor, (*visit).testMonitor},
		{"POST /admin/monitors/{monitor}/rotate", accessEditor, (*visit).rotateMonitor},
		{"GET /admin/monitors/{monitor}/first-ping", accessViewer, (*visit).showFirstPing},

		{"GET /admin/channels", accessViewer, (*visit).showChannels},
		{"GET /admin/channels/new", accessAdmin, (*visit).showNewChannel},
		{"POST /admin/channels/new", accessAdmin, (*visit).createChannel},
		{"GET /admin/channels/{channel}", accessViewer, (*visit).showChannel},
		{"POST /admin/channels/{channel}", accessAdmin, (*visit).editChannel},
		{"POST /admin/channels/{channel}/test", accessAdmin, (*visit).testChannel},
		{"POST /admin/channels/{channel}/enable", accessAdmin, (*visit).enableChannel},
		{"POST /admin/channels/{channel}/delete", accessAdmin, confirmed((*visit).deleteChannel)},

		{"GET /admin/alert-rules", accessViewer, (*visit).showAlertRules},
		{"GET /admin/alert-rules/test", accessViewer, (*visit).showForecast},
		{"GET /admin/alert-rules/new", accessAdmin, (*visit).showNewAlertRule},
		{"POST /admin/alert-rules/new", accessAdmin, (*visit).createAlertRule},
		{"GET /admin/alert-rules/{rule}", accessAdmin, (*visit).showAlertRule},
		{"POST /admin/alert-rules/{rule}", accessAdmin, (*visit).editAlertRule},
		{"POST /admin/alert-rules/{rule}/enable", accessAdmin, (*visit).enableAlertRule},
		{"POST /admin/alert-rules/{rule}/delete", accessAdmin, (*visit).deleteAlertRule},

		{"GET /admin/deliveries", accessViewer, (*visit).showDeliveries},
		{"POST /admin/deliveries/{delivery}/retry", accessEditor, (*visit).retryDelivery},

		{"GET /admin/tokens", accessAdmin, (*visit).showTokens},
		{"POST /admin/tokens", accessAdmin, confirmed((*visit).createToken)},
		{"POST /admin/tokens/{token}/revoke", accessAdmin, confirmed((*visit).revokeToken)},

		{"GET /admin/audit", accessAdmin, (*visit).showAudit},
		{"GET /admin/audit/export", accessAdmin, (*visit).exportAudit},

		{"GET /admin/pages", accessViewer, (*visit).showPages},
		{"POST /admin/pages", accessAdmin, (*visit).createPage},
		{"GET /admin/new-page", accessAdmin, (*visit).showNewPage},
		{"GET /admin/pages/{page}", accessViewer, (*visit).showPageSettings},
		{"POST /admin/pages/{page}", accessAdmin, (*visit).changePage},
		{"GET /admin/pages/{page}/subscribers", accessAdmin, (*visit).showSubscribers},
		{"GET /admin/pages/{page}/subscribers/export", accessAdmin, (*visit).exportSubscribers},
		{"GET /admin/pages/{page}/subscribers/import", accessAdmin, (*visit).showSubscriberImport},
		{"POST /admin/pages/{page}/subscribers/import", accessAdmin, (*visit).importSubscribers},
		{"POST /admin/pages/{page}/subscribers", accessAdmin, (*visit).addSubscriber},
		{"POST /admin/pages/{page}/subscribers/{subscriber}/resume", accessAdmin, (*visit).resumeSubscriber},
		{"GET /admin/pages/{page}/subscribers/{subscriber}", accessAdmin, (*visit).showSubscriber},
		{"POST /admin/pages/{page}/subscribers/{subscriber}", accessAdmin, (*visit).editSubscriber},
		{"POST /admin/pages/{page}/subscribers/{subscriber}/test", accessAdmin, (*visit).testSubscriber},
		{"POST /admin/pages/{page}/subscribers/{subscriber}/remove", accessAdmin, (*visit).removeSubscriber},
		{"GET /admin/pages/{page}/access", accessViewer, (*visit).showPageAccess},
		{"POST /admin/pages/{page}/access", accessAdmin, (*visit).changePageAccess},
		{"GET /admin/pages/{page}/ping-key", accessEditor, (*visit).showPingKey},
		{"POST /admin/pages/{page}/ping-key", accessEditor, (*visit).changePingKey},
		{"POST /admin/pages/{page}/delete", accessAdmin, confirmed((*visit).deletePage)},
		{"POST /admin/pages/{page}/domain", accessAdmin, (*visit).verifyPageDomain},
		{"GET /admin/pages/{page}/preview", accessViewer, (*visit).showPreview},
		{"POST /admin/pages/{page}/preview", accessAdmin, (*visit).showPreview},
		{"GET /admin/pages/{page}/images/{kind}", accessViewer, (*visit).showPageImage},
		{"POST /admin/pages/{page}/images/{kind}", accessAdmin, (*visit).setPageImage},

		{"GET /admin/pages/{page}/components", accessViewer, (*visit).showComponents},
		{"POST /admin/pages/{page}/components", accessEditor, (*visit).createComponent},
		{"GET /admin/pages/{page}/components/{component}", accessEditor, (*visit).showComponent},
		{"POST /admin/pages/{page}/components/{component}", accessEditor, (*visit).changeComponent},
		{"POST /admin/pages/{page}/components/{component}/status", accessEditor, (*visit).setComponentStatus},
		{"POST /admin/pages/{page}/components/{component}/move", accessEditor, (*visit).moveComponent},
		{"POST /admin/pages/{page}/components/{component}/place", accessEditor, (*visit).placeComponent},
		{"POST /admin/pages/{page}/components/{component}/delete", accessEditor, (*visit).deleteComponent},
		{"POST /admin/pages/{page}/groups", accessEditor, (*visit).createGroup},
		{"GET /admin/pages/{page}/groups/{group}", accessEditor, (*visit).showGroup},
		{"POST /admin/pages/{page}/groups/{group}", accessEditor, (*visit).changeGroup},
		{"POST /admin/pages/{page}/groups/{group}/move", accessEditor, (*visit).moveGroup},
		{"POST /admin/pages/{page}/groups/{group}/place", accessEditor, (*visit).placeGroup},
		{"POST /admin/pages/{page}/groups/{group}/delete", accessEditor, (*visit).deleteGroup},

		{"GET /admin/pages/{page}/share", accessViewer, (*visit).showShare},
		{"GET /admin/pages/{page}/announcements", accessViewer, (*visit).showAnnouncements},
		{"POST /admin/pages/{page}/announcements", accessEditor, (*visit).createAnnouncement},
		{"GET /admin/pages/{page}/announcements/{announcement}", accessEditor, announcementScreens.show},
		{"POST /admin/pages/{page}/announcements/{announcement}", accessEditor, announcementScreens.save},
		{"POST /admin/pages/{page}/announcements/{announcement}/delete", accessEditor, announcementScreens.delete},
		{"GET /admin/system", accessAdmin, (*visit).showSystem},
		{"POST /admin/system/backup", accessOwner, confirmed((*visit).downloadBackup)},
	}
}
