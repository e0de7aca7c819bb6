package dashboard

import (
	"net/http"
	"net/url"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/alert"
)

const alertRulesPath = Path + "/alert-rules"

// alertRulesScreen is what the template alert_rules shows.
type alertRulesScreen struct {
	Rules   []alert.Rule
	Pager   pager
	CanEdit bool
}

// showAlertRules lists the rules that say who is told of alerts.
func (v *visit) showAlertRules() error {
	r := pagination(v.r.URL.Query())
	rules, total, err := v.store.AlertRules(v.r.Context(), v.actor(), r)
	if err != nil {
		return err
	}
	s := alertRulesScreen{rules, newPager(alertRulesPath, url.Values{}, r, len(rules), total), v.can(allswell.RoleAdmin)}
	return v.show(http.StatusOK, "alert_rules", "Alert rules", s)
}
