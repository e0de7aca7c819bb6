package subscribers

import (
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// routes lists the routes of the room.
var routes = []frame.RouteOf[*request]{
	frame.Live("GET /admin/deliveries", rights.DeliveryRead, (*request).showDeliveries),
	frame.On("POST /admin/deliveries/{delivery}/retry", rights.DeliveryRetry, (*request).retryDelivery),

	frame.On("GET /admin/pages/{page}/subscribers", rights.SubscriberRead, (*request).showSubscribers),
	frame.On("GET /admin/pages/{page}/subscribers/export", rights.SubscriberRead, (*request).exportSubscribers),
	frame.On("GET /admin/pages/{page}/subscribers/import", rights.SubscriberChange, (*request).showSubscriberImport),
	frame.On("POST /admin/pages/{page}/subscribers/import", rights.SubscriberChange, (*request).importSubscribers),
	frame.On("POST /admin/pages/{page}/subscribers", rights.SubscriberChange, (*request).addSubscriber),
	frame.On("POST /admin/pages/{page}/subscribers/{subscriber}/resume", rights.SubscriberChange,
		(*request).resumeSubscriber),
	frame.On("GET /admin/pages/{page}/subscribers/{subscriber}", rights.SubscriberRead, (*request).showSubscriber),
	frame.On("POST /admin/pages/{page}/subscribers/{subscriber}", rights.SubscriberChange, (*request).editSubscriber),
	frame.On("POST /admin/pages/{page}/subscribers/{subscriber}/test", rights.SubscriberChange,
		(*request).testSubscriber),
	frame.On("POST /admin/pages/{page}/subscribers/{subscriber}/remove", rights.SubscriberChange,
		(*request).removeSubscriber),
}
