package faults

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/allswell/allswell/test/binary"
)

// maxCarefulRuns is how many runs of a careful job begin within its interval, which are as many as may.
const maxCarefulRuns = 100

// carefulJob is a job whose runs satisfy all conditions of its monitor. It repeats each signal until it is
// acknowledged, also after a restart of the server.
type carefulJob struct {
	id, token string
	takes     time.Duration // a run
	run       string        // "": none is in progress
	runs      int
	begun     time.Time // when the start of the run was acknowledged; zero: not yet
}

// carelessJob is a job that has violated conditions.
type carelessJob struct {
	id, state string
	warnings  []string
	outages   int
}

// createJobsWithConditions creates careful jobs, whose conditions warn or make them down, and two careless jobs. The
// second of these is down.
func (w *environment) createJobsWithConditions() {
	w.t.Helper()
	create := func(name string, conditions params) (id, token string) {
		monitor := params{"name": name, "interval": 3600, "max_runtime": 3600, "no_overlap": true}
		for field, value := range conditions {
			monitor[field] = value
		}
		var made binary.Data[struct{ ID, Token string }]
		w.api.Must(w.t, "POST", "/api/v1/monitors", monitor, &made)
		return made.Data.ID, made.Data.Token
	}
	for _, action := range []string{"warn", "down"} {
		limits := params{"max_per_interval": maxCarefulRuns}
		quick, slow := &carefulJob{}, &carefulJob{takes: time.Second}
		for _, c := range []string{"max_runtime", "min_runtime", "max_per_interval", "no_overlap"} {
			limits[c+"_action"] = action
		}
		quick.id, quick.token = create("Quick, "+action, limits)
		limits["min_runtime"] = 1
		slow.id, slow.token = create("Slow, "+action, limits)
		w.careful = append(w.careful, quick, slow)
	}
	for _, action := range []string{"warn", "down"} {
		id, token := create("Careless, "+action, params{"min_runtime": 60, "no_overlap_action": action})
		signal := func(kind, run string) {
			w.api.Must(w.t, "POST", "/api/v1/heartbeat/"+token+"/"+kind+"?rid="+run, nil, nil)
		}
		first, second := uuid.NewString(), uuid.NewString()
		signal("start", first)
		signal("start", second)
		signal("success", second)
		job := carelessJob{id: id, state: "up", warnings: []string{"min_runtime", "no_overlap"}}
		if action == "down" {
			job = carelessJob{id: id, state: "down", warnings: []string{"min_runtime"}, outages: 1}
		}
		w.careless = append(w.careless, job)
	}
}

// work runs a careful job again and again.
func (l *load) work(ctx context.Context, j *carefulJob) {
	for ctx.Err() == nil && (j.run != "" || j.runs < maxCarefulRuns) {
		kind := "success"
		switch {
		case j.run == "":
			j.run, j.runs = uuid.NewString(), j.runs+1
			kind = "start"
		case j.begun.IsZero():
			kind = "start"
		default:
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Until(j.begun.Add(j.takes))):
			}
		}
		status, err := l.w.api.Do(ctx, "POST", fmt.Sprintf("/api/v1/heartbeat/%s/%s?rid=%s", j.token, kind, j.run), nil,
			nil)
		switch {
		case err == nil && status == http.StatusOK && kind == "start":
			j.begun = time.Now()
		case err == nil && status == http.StatusOK:
			j.run, j.begun = "", time.Time{}
			l.w.carefulRuns.Add(1)
		case err == nil && status != http.StatusServiceUnavailable:
			l.w.t.Errorf("a %s was answered %d", kind, status)
			return
		default:
			pause(ctx)
		}
	}
}

// checkConditions checks that the warnings and outages of careless jobs are stored, and that careful ones have none.
func (w *environment) checkConditions() {
	w.t.Helper()
	for _, j := range w.careful {
		w.checkJob(carelessJob{id: j.id, state: "up"})
	}
	for _, j := range w.careless {
		w.checkJob(j)
	}
}

func (w *environment) checkJob(want carelessJob) {
	w.t.Helper()
	var monitor binary.Data[struct{ Name, State string }]
	var warnings binary.List[struct {
		Condition, Message string
		EndedAt            *time.Time `json:"ended_at"`
	}]
	var outages binary.List[struct{ Reason string }]
	w.api.Must(w.t, "GET", "/api/v1/monitors/"+want.id, nil, &monitor)
	w.api.Must(w.t, "GET", "/api/v1/monitors/"+want.id+"/warnings", nil, &warnings)
	w.api.Must(w.t, "GET", "/api/v1/monitors/"+want.id+"/outages", nil, &outages)
	var warned []string
	for _, warning := range warnings.Data {
		if warning.EndedAt == nil {
			warned = append(warned, warning.Condition)
		}
	}
	slices.Sort(warned)
	if monitor.Data.State != want.state || !slices.Equal(warned, want.warnings) || len(warnings.Data) != len(warned) ||
		len(outages.Data) != want.outages {
		w.t.Errorf("%s is %s with the warnings %+v and the outages %+v, want %+v", monitor.Data.Name,
			monitor.Data.State, warnings.Data, outages.Data, want)
	}
}
