package signin

import (
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// routes lists the routes of the room.
var routes = []frame.RouteOf[*request]{
	frame.On("GET /admin/sign-in", rights.Anyone, (*request).showSignIn),
	frame.On("POST /admin/sign-in", rights.Anyone, (*request).signIn),
	frame.On("POST /admin/sign-in/code", rights.Anyone, (*request).finishSignIn),
	frame.On("POST /admin/sign-in/passkey", rights.Anyone, (*request).signInWithPasskey),
	frame.On("POST /admin/sign-in/passkey/options", rights.Anyone, (*request).signInOptions),
	frame.On("POST /admin/sign-out", rights.Anyone, (*request).signOut),
	frame.On("GET /admin/enter", rights.Anyone, (*request).signInWithCode),
	frame.On("GET /admin/oidc/start", rights.Anyone, (*request).startOIDC),
	frame.On("GET "+OIDCCallbackPath, rights.Anyone, (*request).finishOIDC),
	frame.On("GET /admin/reset", rights.Anyone, (*request).showReset),
	frame.On("POST /admin/reset", rights.Anyone, (*request).reset),
	frame.On("GET /admin/forgot", rights.Anyone, (*request).showForgot),
	frame.On("POST /admin/forgot", rights.Anyone, (*request).requestReset),

	frame.On("GET /admin/setup", rights.Anyone, (*request).showSetup),
	frame.On("POST /admin/setup", rights.Anyone, (*request).setUp),

	frame.On("GET /admin/accept", rights.Anyone, (*request).showAccept),
	frame.On("POST /admin/accept", rights.Anyone, (*request).accept),

	frame.On("GET /admin/account", rights.AccountChange, (*request).showOwnAccount),
	frame.On("POST /admin/account", rights.AccountChange, (*request).changeAccount),
	frame.On("POST /admin/account/password", rights.AccountChange, (*request).changePassword),
	frame.On("POST /admin/account/sessions/{session}/end", rights.AccountChange, (*request).endSession),
	frame.On("POST /admin/account/end-other-sessions", rights.AccountChange, (*request).endOtherSessions),
	frame.On("POST /admin/account/authenticator/begin", rights.AccountChange,
		changesFactors(frame.Confirmed((*request).beginAuthenticator))),
	frame.On("GET /admin/account/authenticator", rights.AccountChange, changesFactors((*request).showAuthenticator)),
	frame.On("POST /admin/account/authenticator", rights.AccountChange,
		changesFactors(frame.Confirmed((*request).setAuthenticator))),
	frame.On("POST /admin/account/authenticator/remove", rights.AccountChange,
		changesFactors(frame.Confirmed((*request).removeAuthenticator))),
	frame.On("POST /admin/account/passkeys", rights.AccountChange,
		changesFactors(frame.Confirmed((*request).addPasskey))),
	frame.On("POST /admin/account/passkeys/options", rights.AccountChange, changesFactors((*request).creationOptions)),
	frame.On("POST /admin/account/passkeys/confirm-options", rights.AccountChange, (*request).confirmOptions),
	frame.On("POST /admin/account/passkeys/{passkey}/name", rights.AccountChange, (*request).renamePasskey),
	frame.On("POST /admin/account/passkeys/{passkey}/remove", rights.AccountChange,
		changesFactors(frame.Confirmed((*request).removePasskey))),
	frame.On("POST /admin/account/recovery-codes", rights.AccountChange,
		changesFactors(frame.Confirmed((*request).renewRecoveryCodes))),
	frame.On("POST /admin/switch-workspace", rights.AccountChange, (*request).switchWorkspace),

	frame.On("GET /admin/members", rights.MemberManage, (*request).showMembers),
	frame.On("POST /admin/members/invite", rights.MemberManage, frame.Confirmed((*request).invite)),
	frame.On("POST /admin/members/{member}/role", rights.MemberManage, frame.Confirmed((*request).changeMember)),
	frame.On("POST /admin/members/{member}/remove", rights.MemberManage, frame.Confirmed((*request).removeMember)),
	frame.On("POST /admin/invitations/{invitation}/withdraw", rights.MemberManage, (*request).withdrawInvitation),
}
