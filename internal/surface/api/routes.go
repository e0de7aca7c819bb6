package api

import (
	"iter"
	"net/http"
	"path"
	"slices"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/web"
)

// route is a method and a path, the operation that a token must allow, the action, and what the OpenAPI document says
// about it.
type route struct {
	method string
	path   string
	needs  rights.Operation
	do     func(*api, *call) (store.Response, error)
	operation
}

// imageKind returns the kind of image that the route sets or removes, or "" if it is for none.
func (rt *route) imageKind() statuspage.ImageKind {
	if kind := statuspage.ImageKind(path.Base(rt.path)); slices.Contains(statuspage.ImageKinds, kind) {
		return kind
	}
	return ""
}

// maxBodySize returns the maximum size of a request body in bytes; 0: no body is read.
func (rt *route) maxBodySize() int64 {
	switch {
	case rt.method == http.MethodPut && rt.imageKind() != "":
		return statuspage.MaxImageSize
	case rt.method == http.MethodPost, rt.method == http.MethodPut, rt.method == http.MethodPatch:
		return web.MaxBody
	}
	return 0
}

// family is a group of routes with its tag and its description in the OpenAPI document.
type family struct {
	tag, text string
	tables    [][]route
}

// families has all routes of the API. Package ping serves the heartbeat. A GET route serves HEAD too.
var families = []family{
	{"Pages", "Status pages, their settings, images, domains and ping keys, and who can see private ones.",
		[][]route{pageRoutes, imageRoutes, pageAccessRoutes, pingKeyRoutes, domainRoutes, uptimeRoutes}},
	{"Groups", "Groups of components on a page.", [][]route{groupRoutes}},
	{"Components", "What a page shows the status of.", [][]route{componentRoutes}},
	{"Incidents", "Incidents with their updates, affected components, templates and post-mortems.",
		[][]route{incidentRoutes, incidentHandlingRoutes, templateRoutes, updateRoutes, postmortemRoutes}},
	{"Maintenance", "Scheduled maintenance and its updates.", [][]route{maintenanceRoutes}},
	{"Announcements", "Notices at the top of a page.", [][]route{announcementRoutes}},
	{"Monitors",
		"What finds failures: heartbeats, which expect the pings of jobs, and checks of targets; with their results, " +
			"outages and warnings.",
		[][]route{monitorRoutes, monitorCheckRoutes, scheduleRoutes, signalRoutes, warningRoutes, metricsRoutes}},
	{"Heartbeat", "Pings and signals of jobs. The token or the key in the path is the credential.", nil},
	{"Subscribers", "Who is notified of what happens on a page, and the deliveries to them.",
		[][]route{subscriberRoutes, importRoutes, deliveryRoutes}},
	{"Alerts", "How members are notified: channels, rules, silences and on-call schedules, and the alerts themselves.",
		[][]route{alertRoutes, silenceRoutes, channelRoutes, alertRuleRoutes, onCallRoutes}},
	{"Tokens", "API tokens of the workspace.", [][]route{tokenRoutes}},
	{"Members", "Members of the workspace, their invitations and sessions.", [][]route{memberRoutes}},
	{"Audit", "Who changed what.", [][]route{auditRoutes}},
	{"Description", "This document.", [][]route{documentRoutes}},
}

// routes iterates over the routes of a family.
func (f family) routes() iter.Seq[*route] {
	return func(yield func(*route) bool) {
		for _, table := range f.tables {
			for i := range table {
				if !yield(&table[i]) {
					return
				}
			}
		}
	}
}

// routes returns all routes.
func routes() (all []*route) {
	for _, f := range families {
		all = slices.AppendSeq(all, f.routes())
	}
	return all
}
