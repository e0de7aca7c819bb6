package server

import (
	"context"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/check"
)

// testCheck runs a check once.
func testCheck(ctx context.Context, _ string, kind allswell.MonitorType, spec allswell.CheckSpec) (allswell.CheckResult, error) {
	t, ok := check.TypeOf(kind)
	if !ok {
		return allswell.CheckResult{}, allswell.ErrNotFound
	}
	p, err := t.Probe(spec.Config, spec.Secrets)
	if err != nil {
		return allswell.CheckResult{}, err
	}
	now := time.Now()
	o := check.Run(ctx, new(check.Network), p, spec.Timeout)
	r := allswell.CheckResult{DueAt: now, StartedAt: now, Status: allswell.CheckOK, Reason: o.Warning, Warning: o.Warning != "", Phases: o.Phases, Answered: o.Answered, Body: o.Body, CertificateExpiresAt: o.CertificateExpiresAt}
	switch {
	case o.Failure != "":
		r.Status, r.Reason, r.Warning = allswell.CheckFailed, o.Failure, false
	case spec.SlowAfter > 0 && o.Phases.Total > spec.SlowAfter:
		r.Status = allswell.CheckSlow
	}
	return r, nil
}
