package dashboard

import (
	"net/url"
	"strconv"
	"time"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/settings"
)

// actionOptions are the choices of what a run does that violates a condition, the default first.
func actionOptions(byDefault allswell.ConditionAction) []option {
	all := []option{{Value: string(allswell.ActionWarn), Label: "is only a warning"}, {Value: string(allswell.ActionDown), Label: "is a failure"}}
	if byDefault == allswell.ActionDown {
		all[0], all[1] = all[1], all[0]
	}
	return all
}

// conditionFields are the fields of the conditions on runs, except for the longest run.
func conditionFields() []field {
	return []field{
		{Name: "max_runtime_action", Label: "A run that takes longer", Type: "select", Options: actionOptions(allswell.ActionDown),
			Hint: "A failure makes the monitor down. A warning is for members and for webhooks that ask for it: the page does not change."},
		{Name: "min_runtime", Label: "A run must take", Optional: true, Placeholder: "30s",
			Hint: "A run that succeeds in less time is too short. Left empty, any time will do. Like the next fields, for jobs that report the start of a run."},
		{
			Name: "min_runtime_action", Label: "A run that is too short", Type: "select",
			Options: actionOptions(allswell.ActionWarn),
		},
		{Name: "max_per_interval", Label: "Runs that may begin within the interval", Optional: true, Placeholder: "2",
			Hint: "With a cron expression, between two of its times. Left empty, any number."},
		{Name: "max_per_interval_action", Label: "A run too many", Type: "select", Options: actionOptions(allswell.ActionWarn)},
		{Name: "no_overlap", Label: "A run that begins before the others have ended", Type: "select",
			Options: append([]option{{Label: "is fine"}}, actionOptions(allswell.ActionWarn)...)},
	}
}

// setConditionValues sets the values of the fields of conditionFields.
func setConditionValues(values url.Values, r allswell.RunConditions) {
	r = r.WithDefaults()
	if r.MinRuntime > 0 {
		values.Set("min_runtime", settings.ShortDuration(r.MinRuntime))
	}
	if r.MaxPerInterval > 0 {
		values.Set("max_per_interval", strconv.Itoa(r.MaxPerInterval))
	}
	if r.NoOverlap {
		values.Set("no_overlap", string(r.NoOverlapAction))
	}
	values.Set("max_runtime_action", string(r.MaxRuntimeAction))
	values.Set("min_runtime_action", string(r.MinRuntimeAction))
	values.Set("max_per_interval_action", string(r.MaxPerIntervalAction))
}

// readConditions reads the fields of conditionFields.
func readConditions(typed url.Values, bad *allswell.ValidationError) allswell.RunConditions {
	action := func(name string) allswell.ConditionAction { return allswell.ConditionAction(typed.Get(name)) }
	return allswell.RunConditions{
		MinRuntime: readRuntime(typed, "min_runtime", bad), NoOverlap: typed.Get("no_overlap") != "", NoOverlapAction: action("no_overlap"),
		MaxPerInterval:   readCount(typed, "max_per_interval", bad, allswell.CheckMaxPerInterval),
		MaxRuntimeAction: action("max_runtime_action"), MinRuntimeAction: action("min_runtime_action"), MaxPerIntervalAction: action("max_per_interval_action"),
	}
}

// readRuntime reads the duration of a run, and adds to bad that it cannot be read or is 0; 0: nothing was typed.
func readRuntime(typed url.Values, name string, bad *allswell.ValidationError) time.Duration {
	d, ok := readDuration(typed, name, bad)
	if ok && d == 0 {
		allswell.CheckRuntime(bad, name, d)
	}
	return d
}
