package alerting

import (
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// routes lists the routes of the room.
var routes = []frame.RouteOf[*request]{
	frame.On("GET "+alert.ConfirmPath, rights.Anyone, (*request).showConfirmAddress),
	frame.On("POST "+alert.ConfirmPath, rights.Anyone, (*request).confirmAddress),
	frame.On("GET "+alert.LinkPath, rights.Anyone, (*request).showAlertLink),
	frame.On("POST "+alert.LinkPath, rights.Anyone, (*request).acknowledgeAlertLink),
	frame.On("GET "+alert.CalendarPath, rights.Anyone, (*request).showOnCallCalendar),
	frame.On("POST "+alert.SlackPath, rights.Signed, (*request).pressSlackButton),

	frame.Live("GET /admin/alerts", rights.AlertRead, (*request).showAlerts),
	frame.Live("GET /admin/alerts/{alert}", rights.AlertRead, (*request).showAlert),
	frame.On("POST /admin/alerts/{alert}/acknowledge", rights.AlertAcknowledge, (*request).acknowledgeAlert),
	frame.On("POST /admin/alerts/{alert}/silence", rights.SilenceChange, (*request).silenceAlert),
	frame.Live("GET /admin/silences", rights.SilenceRead, (*request).showSilences),
	frame.On("GET /admin/silences/new", rights.SilenceChange, (*request).showNewSilence),
	frame.On("POST /admin/silences/new", rights.SilenceChange, (*request).createSilence),
	frame.On("GET /admin/silences/{silence}", rights.SilenceChange, (*request).showSilence),
	frame.On("POST /admin/silences/{silence}", rights.SilenceChange, (*request).editSilence),
	frame.On("POST /admin/silences/{silence}/end", rights.SilenceChange, (*request).endSilence),
	frame.On("GET /admin/on-call", rights.OnCallRead, (*request).showOnCallList),
	frame.On("GET /admin/on-call/new", rights.OnCallChange, (*request).showNewOnCall),
	frame.On("POST /admin/on-call/new", rights.OnCallChange, (*request).createOnCall),
	frame.On("GET /admin/on-call/{schedule}", rights.OnCallRead, (*request).showOnCall),
	frame.On("GET /admin/on-call/{schedule}/edit", rights.OnCallChange, (*request).showEditOnCall),
	frame.On("POST /admin/on-call/{schedule}/edit", rights.OnCallChange, (*request).editOnCall),
	frame.On("POST /admin/on-call/{schedule}/overrides", rights.OnCallChange, (*request).addOverride),
	frame.On("POST /admin/on-call/{schedule}/overrides/{override}/delete", rights.OnCallChange,
		(*request).removeOverride),
	frame.On("POST /admin/on-call/{schedule}/delete", rights.OnCallChange, (*request).deleteOnCall),

	frame.Live("GET /admin/channels", rights.ChannelRead, (*request).showChannels),
	frame.On("GET /admin/channels/new", rights.ChannelChange, (*request).showNewChannel),
	frame.On("POST /admin/channels/new", rights.ChannelChange, (*request).createChannel),
	frame.On("GET /admin/channels/{channel}", rights.ChannelRead, (*request).showChannel),
	frame.On("POST /admin/channels/{channel}", rights.ChannelChange, (*request).editChannel),
	frame.On("POST /admin/channels/{channel}/test", rights.ChannelChange, (*request).testChannel),
	frame.On("POST /admin/channels/{channel}/enable", rights.ChannelChange, (*request).enableChannel),
	frame.On("POST /admin/channels/{channel}/delete", rights.ChannelChange, frame.Confirmed((*request).deleteChannel)),

	frame.Live("GET /admin/alert-rules", rights.AlertRuleRead, (*request).showAlertRules),
	frame.On("GET /admin/alert-rules/test", rights.AlertRuleRead, (*request).showForecast),
	frame.On("GET /admin/alert-rules/new", rights.AlertRuleChange, (*request).showNewAlertRule),
	frame.On("POST /admin/alert-rules/new", rights.AlertRuleChange, (*request).createAlertRule),
	frame.On("GET /admin/alert-rules/{rule}", rights.AlertRuleChange, (*request).showAlertRule),
	frame.On("POST /admin/alert-rules/{rule}", rights.AlertRuleChange, (*request).editAlertRule),
	frame.On("POST /admin/alert-rules/{rule}/enable", rights.AlertRuleChange, (*request).enableAlertRule),
	frame.On("POST /admin/alert-rules/{rule}/delete", rights.AlertRuleChange, (*request).deleteAlertRule),
}
