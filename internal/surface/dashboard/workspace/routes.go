package workspace

import (
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// routes lists the routes of the room.
var routes = []frame.RouteOf[*request]{
	frame.Live("GET /admin", rights.AccountChange, (*request).showOverview),
	frame.On("GET /admin/search", rights.AccountChange, (*request).showSearch),

	frame.On("GET /admin/tokens", rights.TokenManage, (*request).showTokens),
	frame.On("POST /admin/tokens", rights.TokenManage, frame.Confirmed((*request).createToken)),
	frame.On("POST /admin/tokens/{token}/revoke", rights.TokenManage, frame.Confirmed((*request).revokeToken)),

	frame.On("GET /admin/audit", rights.AuditRead, (*request).showAudit),
	frame.On("GET /admin/audit/export", rights.AuditRead, (*request).exportAudit),

	frame.On("GET /admin/system", rights.SystemRead, (*request).showSystem),
	frame.On("POST /admin/system/backup", rights.SystemBackUp, frame.Confirmed((*request).downloadBackup)),
}
