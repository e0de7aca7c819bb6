package field

import (
	"errors"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/allswell/allswell/internal/shared/timeinput"
)

// Zone is the IANA name of a time zone.
func Zone[T any](name string, at func(*T) *string) *Field[T] {
	c := texts[string]()
	c.zeroIsValue = true
	c.check = func(i Info, v string, bad *kernel.ValidationError) {
		if !kernel.ValidZone(v) {
			bad.Add(i.Name, "must be the name of a time zone, such as Europe/Berlin")
		}
	}
	return newField(Info{Name: name, Kind: KindLine, Max: kernel.MaxNameLength}, at, c)
}

// Date is a day, as midnight UTC.
func Date[T any](name string, at func(*T) *time.Time) *Field[T] {
	const wrong = "must be a day such as 2026-11-21"
	parse := func(text string, _ *time.Location, _ time.Time) (time.Time, error) {
		day, err := time.Parse(time.DateOnly, text)
		if err != nil || day.Year() < 2000 || day.Year() > 2200 {
			err = errors.New(wrong)
		}
		return day, err
	}
	format := func(v time.Time, _ *time.Location) string { return v.Format(time.DateOnly) }
	return newField(Info{Name: name, Kind: KindDate}, at, codec[time.Time]{
		json: func(v time.Time) any { return format(v, nil) },
		read: func(o *jsonobject.Object, name string) *time.Time {
			text := o.Text(name)
			if text == nil {
				return nil
			}
			day, err := parse(*text, nil, time.Time{})
			if err != nil {
				o.Add(name, wrong)
				return nil
			}
			return &day
		},
		format: format, parse: parse,
	})
}

// Clock is a time of day, in minutes since midnight. Its text is like a clock's, such as 22:00.
func Clock[T any, V ~int](name string, at func(*T) *V) *Field[T] {
	const layout, wrong = "15:04", "must be a time of day, such as 22:00"
	parse := func(text string, _ *time.Location, _ time.Time) (V, error) {
		t, err := time.Parse(layout, text)
		if err != nil {
			return 0, errors.New(wrong)
		}
		return V(t.Hour()*60 + t.Minute()), nil
	}
	format := func(v V, _ *time.Location) string {
		return time.Date(1, 1, 1, 0, int(v), 0, 0, time.UTC).Format(layout)
	}
	return newField(Info{Name: name, Kind: KindClock}, at, codec[V]{
		zeroIsValue: true,
		json:        func(v V) any { return format(v, nil) },
		format:      format,
		parse:       parse,
		read: func(o *jsonobject.Object, name string) *V {
			text := o.Text(name)
			if text == nil {
				return nil
			}
			v, err := parse(*text, nil, time.Time{})
			if err != nil {
				o.Add(name, wrong)
				return nil
			}
			return &v
		},
	})
}

// clockLayout is the form of times in inputs of the type datetime-local.
const clockLayout = "2006-01-02T15:04"

// Time is an instant. The zero Time is null.
func Time[T any](name string, at func(*T) *time.Time) *Field[T] {
	return newField(Info{Name: name, Kind: KindTime}, at, codec[time.Time]{
		json: func(v time.Time) any {
			if v.IsZero() {
				return nil
			}
			return kernel.FormatTime(v)
		},
		read: func(o *jsonobject.Object, name string) *time.Time { return o.Instant(name) },
		check: func(i Info, v time.Time, bad *kernel.ValidationError) {
			if i.Required && v.IsZero() {
				bad.Add(i.Name, kernel.Required)
			}
		},
		format: func(v time.Time, zone *time.Location) string {
			if v.IsZero() {
				return ""
			}
			return v.In(zone).Format(clockLayout)
		},
		parse: func(text string, zone *time.Location, now time.Time) (time.Time, error) {
			var m timeinput.Moment
			if text == "" {
				return time.Time{}, nil
			}
			if err := m.UnmarshalText([]byte(text)); err != nil {
				return time.Time{}, err
			}
			return m.In(zone, now)
		},
	})
}
