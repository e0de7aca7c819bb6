package store_test

import (
	"context"
	"time"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/store"
)

func init() {
	addVerbs("Announcements", resource.Announcement, (*store.Store).Announcements, func(x things) string {
		return x.announcement
	},
		func(things) statuspage.Announcement { return statuspage.Announcement{Title: "x"} }, "")
	addVerbs("Components", resource.Component, (*store.Store).Components, func(x things) string { return x.component },
		func(things) statuspage.Component { return statuspage.Component{Name: "x"} }, "")
	addVerbs("Groups", resource.Group, (*store.Store).Groups, func(x things) string { return x.group },
		func(things) statuspage.Group { return statuspage.Group{Name: "x"} }, "")
	addVerbs("IncidentTemplates", resource.IncidentTemplate, (*store.Store).IncidentTemplates, func(x things) string {
		return x.template
	},
		func(x things) statuspage.IncidentTemplate {
			return statuspage.IncidentTemplate{Page: x.slug, Name: "x", Title: "x"}
		}, "page")
	addVerbs("AlertRules", resource.AlertRule, (*store.Store).AlertRules, func(x things) string { return x.rule },
		func(x things) alert.Rule {
			return alert.Rule{Name: "x", Target: alert.Target{ChannelIDs: []string{x.channel}}}
		}, "channel_ids")
	addVerbs("Silences", resource.Silence, (*store.Store).Silences, func(x things) string { return x.silence },
		func(x things) alert.Silence {
			return alert.Silence{Filter: alert.Filter{Monitors: []string{x.monitor}}, EndsAt: began.Add(time.Hour)}
		}, "monitors")
	addVerbs("AlertChannels", resource.Channel, (*store.Store).AlertChannels, func(x things) string {
		return x.channel
	},
		func(x things) alert.Channel {
			return alert.Channel{Type: "discord", Name: "x", FallbackID: x.channel}
		}, "fallback_id")
	addVerbs("OnCallSchedules", resource.OnCall, (*store.Store).OnCallSchedules, func(x things) string {
		return x.onCall
	},
		func(x things) alert.OnCall {
			return alert.OnCall{
				Name: "x", Participants: []alert.Participant{{Name: "x", ChannelIDs: []string{x.channel}}},
			}
		}, "participants")
}

// addVerbs adds the methods of a collection to the verbs. id is the id of an object of another workspace, and example
// one that refers to others there, if it can; then reference is the field that must be refused.
func addVerbs[T any](
	name string, r *field.Resource[T], objects func(*store.Store) store.Collection[T], id func(things) string,
	example func(things) T, reference string,
) {
	verbs[name+".UniqueNames"] = nil // it reads nothing
	verbs[name+".List"] = func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		all, _, err := objects(s).List(ctx, ws, x.slug, store.Filter{}, firstHundred)
		return none(len(all), err, false)
	}
	verbs[name+".Get"] = func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := objects(s).Get(ctx, ws, "", id(x))
		return err
	}
	verbs[name+".Create"] = func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := objects(s).Create(ctx, ws, x.slug, r.From(example(x)))
		return refused(err, reference)
	}
	verbs[name+".Change"] = func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, err := objects(s).Change(ctx, ws, "", id(x), r.From(example(x)), kernel.Precondition{})
		return err
	}
	verbs[name+".Put"] = func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		_, _, err := objects(s).Put(ctx, ws, "", id(x), r.From(example(x)), kernel.Precondition{})
		return err
	}
	verbs[name+".Delete"] = func(s *store.Store, ctx context.Context, ws kernel.Actor, x things) error {
		return objects(s).Delete(ctx, ws, "", id(x), kernel.Precondition{})
	}
}
