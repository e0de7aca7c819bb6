package alert

import (
	"slices"
	"strings"
	"time"
)

// Recipient is a channel that is notified.
type Recipient struct {
	ChannelID   string
	OnCallID    string // the schedule by which it is notified; "": the rule names the channel
	Participant string // who is on call by that schedule
}

// Recipients returns the channels of targets and of the people who are on call at that time, each once.
func Recipients(targets []Target, schedules []OnCall, at time.Time) (all []Recipient) {
	known := make(map[string]bool)
	add := func(r Recipient) {
		if !known[r.ChannelID] {
			known[r.ChannelID] = true
			all = append(all, r)
		}
	}
	asked := make(map[string]bool) // schedules: all targets are notified at the same instant
	for _, t := range targets {
		for _, id := range t.ChannelIDs {
			add(Recipient{ChannelID: id})
		}
		for _, o := range schedules {
			if asked[o.ID] || !slices.Contains(t.OnCallIDs, o.ID) {
				continue
			}
			asked[o.ID] = true
			p, _ := o.On(at)
			for _, id := range p.ChannelIDs {
				add(Recipient{ChannelID: id, OnCallID: o.ID, Participant: p.Name})
			}
		}
	}
	return all
}

// MaxForecast is the maximum number of steps of a forecast.
const MaxForecast = 50

// ForecastStep is what a rule will do about an alert.
type ForecastStep struct {
	At         time.Time
	Kind       NoticeKind // "": nothing is sent, because of Held
	Held       HoldReason // why nothing is sent before the next step; "": nothing is held
	Recipients []Recipient
}

// ForecastFrom returns up to limit steps that the rule will take about an alert, from the progress p on. It assumes
// that the alert lasts, that nobody acknowledges it, and that the configuration does not change.
func (r Rule) ForecastFrom(
	p Progress, a Alert, silences []Silence, schedules []OnCall, limit int,
) (steps []ForecastStep) {
	for !p.DueAt.IsZero() && len(steps) < limit {
		now := p.DueAt
		action := r.Advance(p, a, SilencedUntil(silences, a.Subject, now), now)
		if action.Kind != "" || action.Held != "" {
			steps = append(steps, ForecastStep{
				now, action.Kind, action.Held, Recipients(action.Notify, schedules, now),
			})
		}
		p = action.Next
	}
	return steps
}

// WhyNobody explains why a step of a rule notifies nobody: how many of its channels are disabled, and how many another
// rule has notified.
func WhyNobody(disabled, informed int) string {
	switch {
	case disabled+informed == 0:
		return "no one is on call, or has a channel"
	case informed == 0:
		return "the channels are disabled"
	case disabled == 0:
		return "all of its channels were notified by another rule"
	}
	return "its channels are disabled, or were notified by another rule"
}

// DescribeDisabled says that a disabled channel would not be notified.
func DescribeDisabled(name string) string { return name + " (disabled, would not be notified)" }

// DescribeChannel describes a channel that would be notified: "Phone (Ada is on call; if Phone fails: Mail)". onCall is
// the person on call whose channel it is; "": nobody. fallbacks are the channels that are notified if it fails.
func DescribeChannel(name, onCall string, fallbacks []string) string {
	var remarks []string
	if onCall != "" {
		remarks = append(remarks, onCall+" is on call")
	}
	if len(fallbacks) > 0 {
		remarks = append(remarks, "if "+name+" fails: "+strings.Join(fallbacks, ", then "))
	}
	if len(remarks) == 0 {
		return name
	}
	return name + " (" + strings.Join(remarks, "; ") + ")"
}
