package frame

// The paths of screens to which several rooms link.
const (
	SearchPath     = Path + "/search"
	MonitorsPath   = Path + "/monitors"
	AlertRulesPath = Path + "/alert-rules"
	ForecastPath   = AlertRulesPath + "/test"
	ChannelsPath   = Path + "/channels"
	SilencesPath   = Path + "/silences"
	OnCallPath     = Path + "/on-call"
)
