package dashboard

import (
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell"
)

// routeAccess lists the routes, as paths below /admin ("." is /admin itself), by the least role that may use them. It
// repeats the table of routes on purpose, so that no role changes by mistake. docs/dashboard.md has the rule: viewers
// see what is no secret and change their own account, editors report and watch, admins decide who sees and receives what.
var routeAccess = map[access]struct{ get, post string }{
	accessAnyone: {
		get: `/accept /alert-link /confirm-address /enter /forgot /oidc/callback /oidc/start /on-call.ics /reset
			/setup /sign-in`,
		post: `/accept /alert-link /confirm-address /forgot /reset /setup /sign-in /sign-in/code /sign-in/passkey
			/sign-in/passkey/options /sign-out`,
	},
	accessSigned: {
		post: `/slack`,
	},
	accessViewer: {
		get: `. /account /account/authenticator /alert-rules /alert-rules/test /alerts /alerts/{alert} /channels
			/channels/{channel} /deliveries /incident-templates /incidents /incidents/{incident} /live /maintenances
			/maintenances/{maintenance} /monitors /monitors/{monitor} /monitors/{monitor}/first-ping
			/monitors/{monitor}/signals/{signal} /on-call /on-call/{schedule} /pages /pages/{page}
			/pages/{page}/access /pages/{page}/announcements /pages/{page}/components /pages/{page}/images/{kind}
			/pages/{page}/preview /pages/{page}/share /search /silences /visit/{page}`,
		post: `/account /account/authenticator /account/authenticator/begin /account/authenticator/remove
			/account/end-other-sessions /account/passkeys /account/passkeys/confirm-options /account/passkeys/options
			/account/passkeys/{passkey}/name /account/passkeys/{passkey}/remove /account/password
			/account/recovery-codes /account/sessions/{session}/end /switch-workspace`,
	},
	accessEditor: {
		get: `/incident-templates/new /incident-templates/{template} /incidents/new
			/incidents/{incident}/postmortem /incidents/{incident}/updates/{update} /maintenances/new /monitors/delete
			/monitors/new /monitors/pause /monitors/{monitor}/edit /on-call/new /on-call/{schedule}/edit
			/pages/{page}/announcements/{announcement} /pages/{page}/components/{component}
			/pages/{page}/groups/{group} /pages/{page}/ping-key /silences/new /silences/{silence}`,
		post: `/alerts/{alert}/acknowledge /alerts/{alert}/silence /deliveries/{delivery}/retry
			/incident-templates/new /incident-templates/{template} /incident-templates/{template}/delete
			/incidents/new /incidents/{incident} /incidents/{incident}/delete /incidents/{incident}/edit
			/incidents/{incident}/merge /incidents/{incident}/postmortem /incidents/{incident}/postmortem/delete
			/incidents/{incident}/publish /incidents/{incident}/take-over /incidents/{incident}/updates/{update}
			/incidents/{incident}/updates/{update}/delete /maintenances/new /maintenances/{maintenance}
			/maintenances/{maintenance}/delete /maintenances/{maintenance}/edit /monitors /monitors/delete
			/monitors/new /monitors/pause /monitors/{monitor}/edit /monitors/{monitor}/interval
			/monitors/{monitor}/rotate /monitors/{monitor}/test /on-call/new /on-call/{schedule}/delete
			/on-call/{schedule}/edit /on-call/{schedule}/overrides /on-call/{schedule}/overrides/{override}/delete
			/pages/{page}/announcements /pages/{page}/announcements/{announcement}
			/pages/{page}/announcements/{announcement}/delete /pages/{page}/components
			/pages/{page}/components/{component} /pages/{page}/components/{component}/delete
			/pages/{page}/components/{component}/move /pages/{page}/components/{component}/place
			/pages/{page}/components/{component}/status /pages/{page}/groups /pages/{page}/groups/{group}
			/pages/{page}/groups/{group}/delete /pages/{page}/groups/{group}/move /pages/{page}/groups/{group}/place
			/pages/{page}/ping-key /silences/new /silences/{silence} /silences/{silence}/end`,
	},
	accessAdmin: {
		get: `/alert-rules/new /alert-rules/{rule} /audit /audit/export /channels/new /members /new-page
			/pages/{page}/subscribers /pages/{page}/subscribers/export /pages/{page}/subscribers/import
			/pages/{page}/subscribers/{subscriber} /setup/page /setup/{page}/components /setup/{page}/monitor /system
			/tokens`,
		post: `/alert-rules/new /alert-rules/{rule} /alert-rules/{rule}/delete /alert-rules/{rule}/enable
			/channels/new /channels/{channel} /channels/{channel}/delete /channels/{channel}/enable
			/channels/{channel}/test /invitations/{invitation}/withdraw /members/invite /members/{member}/remove
			/members/{member}/role /pages /pages/{page} /pages/{page}/access /pages/{page}/delete /pages/{page}/domain
			/pages/{page}/images/{kind} /pages/{page}/preview /pages/{page}/subscribers
			/pages/{page}/subscribers/import /pages/{page}/subscribers/{subscriber}
			/pages/{page}/subscribers/{subscriber}/remove /pages/{page}/subscribers/{subscriber}/resume
			/pages/{page}/subscribers/{subscriber}/test /setup/page /setup/{page}/components /setup/{page}/monitor
			/tokens /tokens/{token}/revoke`,
	},
	accessOwner: {
		post: `/system/backup`,
	},
}

// TestEveryRouteChecksTheRole requests every route without a session, and as a member with each role.
func TestEveryRouteChecksTheRole(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(s *site) {
		owner, stranger := s.owner(), s.visitor()
		members := map[allswell.Role]*visitor{allswell.RoleOwner: owner}
		for _, role := range allswell.Roles[:len(allswell.Roles)-1] {
			members[role] = s.member(owner, role)
		}
		wanted := map[string]access{} // by pattern
		for least, paths := range routeAccess {
			for method, list := range map[string]string{"GET": paths.get, "POST": paths.post} {
				for _, path := range strings.Fields(list) {
					wanted[method+" /admin"+strings.TrimPrefix(path, ".")] = least
				}
			}
		}
		for _, route := range s.dashboard.routes() {
			least, listed := wanted[route.pattern]
			if delete(wanted, route.pattern); !listed {
				s.Errorf("who may use %s? There is no entry in routeAccess", route.pattern)
				continue
			}
			s.requestAs(route.pattern, least, stranger, members)
		}
		if len(wanted) > 0 {
			s.Errorf("entries of routeAccess without a route: %v", wanted)
		}
	})
}

// requestAs requests a route as a stranger and as each member, and checks who may.
func (s *site) requestAs(pattern string, least access, stranger *visitor, members map[allswell.Role]*visitor) {
	s.Helper()
	method, path, _ := strings.Cut(pattern, " ")
	path = strings.NewReplacer("{", "", "}", "").Replace(path)
	if path == "/admin/live" {
		path += "?of=/admin/nowhere" // a stream does not end
	}
	request := func(v *visitor) answer {
		if method == "GET" {
			return v.get(path)
		}
		return v.post(path)
	}
	open := least == accessAnyone || least == accessSigned
	a := request(stranger)
	location := a.Header.Get("Location")
	if strings.HasPrefix(location, "/admin/sign-in") == open && path != "/admin/sign-out" { // which leads there
		s.Errorf("%s without a session: status %d, Location %q", pattern, a.StatusCode, location)
	}
	if open {
		return
	}
	for role, member := range members {
		if a := request(member); (a.StatusCode == http.StatusForbidden) == role.Includes(allswell.Role(least)) {
			s.Errorf("%s as %s: status %d", pattern, role, a.StatusCode)
		}
	}
}
