package monitors

import (
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// routes lists the routes of the room.
var routes = []frame.RouteOf[*request]{
	frame.On("GET /admin/setup/{page}/monitor", rights.PageCreate, (*request).showSetupMonitor),
	frame.On("POST /admin/setup/{page}/monitor", rights.PageCreate, (*request).setUpMonitor),

	frame.Live("GET /admin/monitors", rights.MonitorRead, (*request).showMonitors),
	frame.On("POST /admin/monitors", rights.MonitorChange, (*request).changeMonitors),
	frame.On("GET /admin/monitors/pause", rights.MonitorChange, (*request).showPauseMonitors),
	frame.On("POST /admin/monitors/pause", rights.MonitorChange, (*request).pauseMonitors),
	frame.On("GET /admin/monitors/delete", rights.MonitorChange, (*request).showDeleteMonitors),
	frame.On("POST /admin/monitors/delete", rights.MonitorChange, (*request).deleteMonitors),
	frame.On("GET /admin/monitors/new", rights.MonitorChange, (*request).showNewMonitor),
	frame.On("POST /admin/monitors/new", rights.MonitorChange, (*request).createMonitor),
	frame.Live("GET /admin/monitors/{monitor}", rights.MonitorRead, (*request).showMonitor),
	frame.On("GET /admin/monitors/{monitor}/signals/{signal}", rights.MonitorRead, (*request).showOutput),
	frame.On("GET /admin/monitors/{monitor}/edit", rights.MonitorChange, (*request).showEditMonitor),
	frame.On("POST /admin/monitors/{monitor}/edit", rights.MonitorChange, (*request).editMonitor),
	frame.On("POST /admin/monitors/{monitor}/interval", rights.MonitorChange, (*request).setInterval),
	frame.On("POST /admin/monitors/{monitor}/test", rights.MonitorChange, (*request).testMonitor),
	frame.On("POST /admin/monitors/{monitor}/rotate", rights.MonitorChange, (*request).rotateMonitor),
	frame.Live("GET /admin/monitors/{monitor}/first-ping", rights.MonitorRead, (*request).showFirstPing),

	frame.On("GET /admin/pages/{page}/ping-key", rights.PingKeyRead, (*request).showPingKey),
	frame.On("POST /admin/pages/{page}/ping-key", rights.PingKeyChange, (*request).changePingKey),
}
