package resource

import (
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/i18n"
)

// matchFields returns the fields that select the alerts of a rule or a silence. They are members of one column.
func matchFields[T any](column string, of func(*T) *alert.Filter) []*field.Field[T] {
	return field.Packed(column, field.Within("AlertMatch", "says which alerts a rule or a silence is about",
		field.Choices("events", func(v *T) *[]alert.Event {
			return &of(v).Events
		}, field.Options(alert.Events, alert.Event.Label)...).
			Schema("AlertEvent").Flag("event").NoFlag("no-events").
			Doc("Events that it is about").Empty("all events").
			Form("Events", "", ""),
		field.References("pages", "page", func(v *T) *[]string {
			return &of(v).Pages
		}).AtMost(alert.MaxFilter).Flag("page").NoFlag("no-pages").
			Doc("Pages that it is about").Empty("all pages").
			Form("Pages", "Comma-separated slugs; any of them matches. Default: all.", ""),
		field.References("monitors", "monitor", func(v *T) *[]string {
			return &of(v).Monitors
		}).AtMost(alert.MaxFilter).Flag("monitor").NoFlag("no-monitors").
			Doc("Monitors that it is about").Empty("all monitors").
			Form("Monitors", "Comma-separated slugs; any of them matches. Default: all.", ""),
		field.Texts("tags", func(v *T) *[]string {
			return &of(v).Tags
		}).AtMost(alert.MaxFilter).Flag("tag").NoFlag("no-tags").
			Settle(func(v *T) { of(v).Tags = monitor.SortTags(of(v).Tags) }).
			Check(func(v *T, bad *kernel.ValidationError) { alert.CheckTags(bad, of(v).Tags) }).
			Doc("Tags: a monitor must have at least one of them").Empty("all monitors").
			Form("Tags of monitors", "Comma-separated; any of them matches. Default: all.", ""),
		field.Choices("severities", func(v *T) *[]kernel.Impact {
			return &of(v).Severities
		}, field.Options(kernel.Impacts, i18n.English().Impact)...).
			Flag("severity").NoFlag("no-severities").
			Doc("Severities that it is about").Empty("all severities").
			Form("Severities", "", ""),
	)...)
}
