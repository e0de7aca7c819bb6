package alerting

import (
	"net/http"
	"net/url"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// alertRulesScreen is the data of the template alert_rules.
type alertRulesScreen struct {
	Rules      []alert.Rule
	Pager      frame.Pager
	CanEdit    bool
	NoChannels bool // the workspace has none, so that a rule cannot be created
}

// showAlertRules lists the alert rules.
func (r *request) showAlertRules() error {
	rows := frame.Pagination(r.URL.Query())
	rules, total, err := r.Store.AlertRules().List(r.Context(), r.Actor(), "", store.Filter{}, rows)
	if err != nil {
		return err
	}
	s := alertRulesScreen{
		Rules: rules, Pager: frame.NewPager(frame.AlertRulesPath, url.Values{}, rows, len(rules), total),
		CanEdit: r.May(rights.AlertRuleChange),
	}
	if total == 0 {
		_, channels, err := r.Store.AlertChannels().List(r.Context(), r.Actor(), "", store.Filter{},
			store.Pagination{Page: 1, PerPage: 1})
		if err != nil {
			return err
		}
		s.NoChannels = channels == 0
	}
	return r.Show(http.StatusOK, "alert_rules", "Alert rules", s)
}

// showNewAlertRule shows the form of a new rule.
func (r *request) showNewAlertRule() error {
	values := url.Values{"events": {string(alert.MonitorDown)}, "quiet_hours.zone": {"UTC"}}
	if channel := r.URL.Query().Get("channel"); channel != "" {
		values.Set(targetsField, channel)
	}
	return r.answerAlertRule(http.StatusOK, newAlertRuleForm(values, alert.Rule{}))
}

// createAlertRule creates a rule.
func (r *request) createAlertRule() error {
	f := newAlertRuleForm(r.PostForm, alert.Rule{})
	if f.Value("preview") != "" {
		return r.previewAlertRule(f)
	}
	_, err := r.Store.AlertRules().Create(r.Context(), r.Actor(), "", f.read())
	if f.Refused(err) {
		return r.answerAlertRule(http.StatusUnprocessableEntity, f)
	}
	if err != nil {
		return err
	}
	return r.Redirect(frame.AlertRulesPath)
}

// showAlertRule shows the form of a rule.
func (r *request) showAlertRule() error {
	rule, err := r.Store.AlertRules().Get(r.Context(), r.Actor(), "", r.PathValue("rule"))
	if err != nil {
		return err
	}
	return r.answerAlertRule(http.StatusOK, newAlertRuleForm(ruleValues(rule), rule))
}

// editAlertRule changes a rule, unless somebody else has changed it since the form was shown.
func (r *request) editAlertRule() error {
	before, err := r.Store.AlertRules().Get(r.Context(), r.Actor(), "", r.PathValue("rule"))
	if err != nil {
		return err
	}
	f := newAlertRuleForm(r.PostForm, before)
	if f.Value("preview") != "" {
		return r.previewAlertRule(f)
	}
	_, err = r.Store.AlertRules().Change(r.Context(), r.Actor(), "", before.ID, f.read(),
		frame.UnchangedSince(f.Values))
	switch {
	case isConflict(err):
		f.Conflict = true
		return r.answerAlertRule(http.StatusConflict, f)
	case f.Refused(err):
		return r.answerAlertRule(http.StatusUnprocessableEntity, f)
	case err != nil:
		return err
	}
	return r.Redirect(frame.AlertRulesPath)
}

// enableAlertRule enables or disables a rule.
func (r *request) enableAlertRule() error {
	if _, err := r.Store.AlertRules().Change(
		r.Context(), r.Actor(), "", r.PathValue("rule"), func(rule *alert.Rule) error {
			rule.Enabled = r.PostForm.Get("enabled") == "true"
			return nil
		}, kernel.Precondition{},
	); err != nil {
		return err
	}
	return r.Redirect(frame.AlertRulesPath)
}

// deleteAlertRule deletes a rule.
func (r *request) deleteAlertRule() error {
	err := r.Store.AlertRules().Delete(r.Context(), r.Actor(), "", r.PathValue("rule"), kernel.Precondition{})
	if err != nil {
		return err
	}
	return r.Redirect(frame.AlertRulesPath)
}
