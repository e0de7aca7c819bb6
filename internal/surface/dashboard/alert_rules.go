package dashboard

import (
	"net/http"
	"net/url"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
)

const alertRulesPath = Path + "/alert-rules"

// alertRulesScreen is the data of the template alert_rules.
type alertRulesScreen struct {
	Rules      []alert.Rule
	Pager      pager
	CanEdit    bool
	NoChannels bool // the workspace has none, so that a rule cannot be created
}

// showAlertRules lists the rules that say who is notified of alerts.
func (v *visit) showAlertRules() error {
	r := pagination(v.r.URL.Query())
	rules, total, err := v.store.AlertRules().List(v.r.Context(), v.actor(), "", store.Filter{}, r)
	if err != nil {
		return err
	}
	s := alertRulesScreen{
		Rules: rules, Pager: newPager(alertRulesPath, url.Values{}, r, len(rules), total),
		CanEdit: v.may(rights.AlertRuleChange),
	}
	if total == 0 {
		_, channels, err := v.store.AlertChannels().List(v.r.Context(), v.actor(), "", store.Filter{},
			store.Pagination{Page: 1, PerPage: 1})
		if err != nil {
			return err
		}
		s.NoChannels = channels == 0
	}
	return v.showLive("alert_rules", "Alert rules", s)
}

// showNewAlertRule shows the form of a new rule.
func (v *visit) showNewAlertRule() error {
	values := url.Values{"events": {string(alert.MonitorDown)}, "quiet_hours.zone": {"UTC"}}
	if channel := v.r.URL.Query().Get("channel"); channel != "" {
		values.Set(targetsField, channel)
	}
	return v.answerAlertRule(http.StatusOK, &alertRuleForm{form: newForm(values)})
}

// createAlertRule creates a rule.
func (v *visit) createAlertRule() error {
	f := &alertRuleForm{form: newForm(v.r.PostForm)}
	if f.Value("preview") != "" {
		return v.previewAlertRule(f)
	}
	_, err := v.store.AlertRules().Create(v.r.Context(), v.actor(), "", f.read())
	if f.refused(err) {
		return v.answerAlertRule(http.StatusUnprocessableEntity, f)
	}
	if err != nil {
		return err
	}
	return v.redirect(alertRulesPath)
}

// showAlertRule shows the form of a rule.
func (v *visit) showAlertRule() error {
	r, err := v.store.AlertRules().Get(v.r.Context(), v.actor(), "", v.r.PathValue("rule"))
	if err != nil {
		return err
	}
	return v.answerAlertRule(http.StatusOK, &alertRuleForm{form: newForm(ruleValues(r)), Rule: r})
}

// editAlertRule changes a rule, unless somebody else has changed it since the form was shown.
func (v *visit) editAlertRule() error {
	before, err := v.store.AlertRules().Get(v.r.Context(), v.actor(), "", v.r.PathValue("rule"))
	if err != nil {
		return err
	}
	f := &alertRuleForm{form: newForm(v.r.PostForm), Rule: before}
	if f.Value("preview") != "" {
		return v.previewAlertRule(f)
	}
	_, err = v.store.AlertRules().Change(v.r.Context(), v.actor(), "", before.ID, f.read(), shownVersion(f.values))
	switch {
	case isConflict(err):
		f.Conflict = true
		return v.answerAlertRule(http.StatusConflict, f)
	case f.refused(err):
		return v.answerAlertRule(http.StatusUnprocessableEntity, f)
	case err != nil:
		return err
	}
	return v.redirect(alertRulesPath)
}

// enableAlertRule enables or disables a rule.
func (v *visit) enableAlertRule() error {
	if _, err := v.store.AlertRules().Change(
		v.r.Context(), v.actor(), "", v.r.PathValue("rule"), func(r *alert.Rule) error {
			r.Enabled = v.r.PostForm.Get("enabled") == "true"
			return nil
		}, kernel.Precondition{},
	); err != nil {
		return err
	}
	return v.redirect(alertRulesPath)
}

// deleteAlertRule deletes a rule.
func (v *visit) deleteAlertRule() error {
	if err := v.store.AlertRules().Delete(
		v.r.Context(), v.actor(), "", v.r.PathValue("rule"), kernel.Precondition{},
	); err != nil {
		return err
	}
	return v.redirect(alertRulesPath)
}
