package ping

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/shared/timeinput"
	"github.com/allswell/allswell/internal/store"
)

// maxProvisioning is how many monitors are created at the same time, half of them by one key at most, and
// waitingToProvision is how many pings wait for that. Pings of monitors that exist have priority.
const (
	maxProvisioning    = 4
	waitingToProvision = 256
)

// provision creates the monitor of a contact if it does not exist. If there is one afterwards, a is nil, and created
// reports whether this call created it. Otherwise a is the answer. ctx has a deadline.
func (s *Server) provision(ctx context.Context, c contact) (created bool, a *answer) {
	key, slug, ok := monitor.CutSlugAddress(c.address)
	if _, _, signal := monitor.ParseSignal(slug); !ok || signal { // a ping key that was taken for a token
		return false, c.style.unknown
	}
	// Anybody can send this. Without a valid key, it must not cost the parsing of a configuration and a transaction.
	if known, err := s.hasPingKey(ctx, c.address); err != nil {
		s.batcher.log.Warn("finding a ping key failed", "error", err)
		return false, c.style.unavailable
	} else if !known {
		return false, c.style.unknown
	}
	if c.unreadable {
		return false, c.style.unreadable
	}
	change := readMonitor(c.query.values(), c.name)
	_, err := resource.NewMonitor(change, time.Now())
	if invalid := c.invalidMonitor(err); invalid != nil {
		return false, invalid
	}
	end, err := s.provisioning.Acquire(ctx, fair.Key{Kind: "ping key", Name: key})
	if err != nil {
		return false, c.style.unavailable
	}
	defer end()
	result, err := s.batcher.store.Provision(ctx, c.address, change)
	if invalid := c.invalidMonitor(err); invalid != nil {
		return false, invalid
	}
	if err != nil {
		s.batcher.log.Warn("creating a monitor for a ping failed", "error", err)
		return false, c.style.unavailable
	}
	switch result {
	case store.ProvisionCreated:
		return true, nil
	case store.ProvisionExists:
		return false, nil
	case store.ProvisionRefused:
		return false, c.style.refused
	case store.ProvisionTaken:
		return false, c.style.taken
	case store.ProvisionFull:
		return false, c.style.full
	case store.ProvisionTooMany:
		return false, c.style.hasty
	case store.ProvisionUnknown:
	}
	return false, c.style.unknown
}

// invalidMonitor returns the answer if err says that the configuration of the monitor to create is invalid; nil: it
// does not.
func (c contact) invalidMonitor(err error) *answer {
	var bad *kernel.ValidationError
	if !errors.As(err, &bad) {
		return nil
	}
	return c.style.invalid(queryFields(bad.Messages(), c.query.values()))
}

// hasPingKey reports whether a page may have the key of a ping address. Replicas do not know each other's new keys.
func (s *Server) hasPingKey(ctx context.Context, address string) (bool, error) {
	if s.batcher.tokens.has(hashOf(address)) {
		return true, nil
	}
	if !s.batcher.store.Shared() {
		return false, nil
	}
	return s.batcher.store.HasPingKey(ctx, address)
}

// readMonitor reads the configuration of a monitor to create from a query: interval, or cron or calendar with tz and
// kubernetes, and grace.
func readMonitor(query url.Values, name string) monitor.MonitorChange {
	var bad kernel.ValidationError
	one := func(field string) string {
		if len(query[field]) > 1 {
			bad.Add(field, "field is given more than once")
		}
		return query.Get(field)
	}
	duration := func(field, text string) (d timeinput.Duration) {
		if text != "" && strings.Trim(text, "0123456789") == "" {
			text += "s"
		}
		if text != "" && d.UnmarshalText([]byte(text)) != nil {
			bad.Add(field, "field must be a number of seconds or a duration such as 25h")
		}
		return d
	}
	cron, calendar, zone, interval, grace := one("cron"), one("calendar"), one("tz"), one("interval"), one("grace")
	kubernetes, valid := readSwitch(one("kubernetes"))
	var times schedule.Cron
	every, late := time.Duration(duration("interval", interval)), time.Duration(duration("grace", grace))
	if interval == "" {
		every = monitor.ProvisionedInterval
	}
	switch {
	case cron != "" && calendar != "":
		bad.Add("calendar", "field cannot be given with a cron field")
	case (cron != "" || calendar != "") && interval != "":
		bad.Add("interval", "field cannot be given with a cron or calendar field")
	case cron != "":
		times = schedule.NewCron(schedule.ScheduleCron, cron, zone)
		times.Kubernetes = kubernetes
	case calendar != "":
		times = schedule.NewCron(schedule.ScheduleCalendar, calendar, zone)
	case zone != "":
		bad.Add("tz", "field needs a cron or calendar field")
	case interval == "":
		if grace == "" {
			grace, late = "default", monitor.ProvisionedGrace
		}
	}
	switch {
	case !valid:
		bad.Add("kubernetes", "field must be true or false")
	case kubernetes && cron == "":
		bad.Add("kubernetes", "field needs a cron field")
	}
	return func(c *monitor.MonitorConfig) error {
		c.Name = name
		c.Reschedule(every, times)
		if grace != "" {
			c.Grace = late
		}
		return bad.Err()
	}
}

// readSwitch reads a parameter that is on or off; "" is off.
func readSwitch(text string) (on, valid bool) {
	switch strings.ToLower(text) {
	case "true", "1", "on":
		return true, true
	case "", "false", "0", "off":
		return false, true
	}
	return false, false
}

// queryFields returns the messages of invalid fields of a monitor by the parameters of the query.
func queryFields(fields map[string][]string, query url.Values) map[string][]string {
	expression := "cron"
	if query.Get("calendar") != "" {
		expression = "calendar"
	}
	parameter := strings.NewReplacer("schedule.expression", expression, "schedule.time_zone", "tz")
	named := make(map[string][]string, len(fields))
	for field, messages := range fields {
		named[parameter.Replace(field)] = messages
	}
	return named
}

// invalidAsJSON returns the answer of the API to an invalid configuration.
func invalidAsJSON(messages map[string][]string) *answer {
	body, err := json.Marshal(struct {
		Message string              `json:"message"`
		Errors  map[string][]string `json:"errors"`
	}{"The given data was invalid.", messages})
	if err != nil {
		panic(err) // strings always marshal
	}
	return newAnswer(http.StatusUnprocessableEntity, string(body))
}

// invalidAsText returns the same as text.
func invalidAsText(messages map[string][]string) *answer {
	all := slices.Concat(slices.Collect(maps.Values(messages))...)
	slices.Sort(all)
	return newAnswer(http.StatusBadRequest, strings.Join(all, " "))
}
