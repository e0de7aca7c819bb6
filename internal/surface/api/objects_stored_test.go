package api

import (
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/allswell/allswell/test/stored"
)

var updateObjects = flag.Bool("update-objects", false, "write testdata/objects.txt")

// fill gives a value, and what is in it, values of their own, which the path of each says: they stay if others are
// added.
func fill(v reflect.Value, path string) {
	hash := fnv.New32a()
	hash.Write([]byte(path))
	n := int64(hash.Sum32() % 10_000)
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = time.Date(2031, 3, 1, 8, 0, int(n), 5e6, time.FixedZone("", 3600))
		return
	case *json.RawMessage:
		*x = json.RawMessage(fmt.Sprintf(`{"url":%q}`, path))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(path)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(n)
		if v.Type() == reflect.TypeFor[time.Duration]() {
			v.SetInt(n*int64(time.Second) + int64(250*time.Millisecond))
		}
	case reflect.Uint8:
		v.SetUint('a' + uint64(n%26))
	case reflect.Float64:
		v.SetFloat(float64(n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), path)
	case reflect.Slice:
		count := 2
		if strings.Contains(path, ".0") || strings.Contains(path, ".1") {
			count = 1 // of a list in a list
		}
		v.Set(reflect.MakeSlice(v.Type(), count, count))
		for i := range count {
			fill(v.Index(i), fmt.Sprintf("%s.%d", path, i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				fill(v.Field(i), strings.TrimPrefix(path+"."+field.Name, "."))
			}
		}
	}
}

// filled returns an object with all of its fields.
func filled[T any](change func(*T)) (object T) {
	fill(reflect.ValueOf(&object).Elem(), "")
	if change != nil {
		change(&object)
	}
	return object
}

// presented is JSON under a title.
type presented struct {
	title string
	json  any
}

// pair returns an object with all of its fields and one with none as they are presented.
func pair[T, J any](title string, present func(T) J) []presented {
	var zero T
	return []presented{{title, present(filled[T](nil))}, {title + ", empty", present(zero)}}
}

// callOf returns a request with a token of the scope.
func callOf(scope kernel.Scope) *call {
	return &call{base: "https://status.example.com", token: account.Token{Scope: scope}}
}

func objectsOfAlerts() []presented {
	return slices.Concat(
		pair("alert rule", resource.AlertRule.JSON),
		pair("alert", newAlertJSON),
		pair("alert with its history", newAlertDetailJSON),
		pair("forecast", newAlertForecastJSON),
		pair("silence", resource.Silence.JSON),
		pair("channel", resource.Channel.JSON),
		pair("subscriber", resource.Subscriber.JSON),
		pair("subscriber with its secret", resource.Subscriber.DetailJSON),
		pair("signal", newSignalJSON),
		pair("output", newSignalBodyJSON),
		pair("note", newIncidentNoteJSON),
		pair("warning", newWarningJSON),
		pair("outage", newOutageJSON),
		pair("ping key", callOf(kernel.ScopeWrite).newPingKeyJSON),
		pair("explanation", callOf(kernel.ScopeRead).newExplanationJSON),
		pair("incident template", resource.IncidentTemplate.JSON),
	)
}

func deliveriesOfEachState() (all []presented) {
	for _, state := range audience.DeliveryStates {
		all = append(all, presented{
			"delivery " + string(state), newDeliveryJSON(filled(func(d *audience.DeliveryLogEntry) {
				d.State = state
			})),
		})
	}
	all = append(all, presented{"delivery that is held", newDeliveryJSON(filled(func(d *audience.DeliveryLogEntry) {
		d.State, d.HeldUntil = audience.DeliveryPending, d.NextAttemptAt.Add(time.Hour)
	}))}, presented{"delivery that is held no more", newDeliveryJSON(filled(func(d *audience.DeliveryLogEntry) {
		d.State, d.HeldUntil = audience.DeliveryPending, d.NextAttemptAt.Add(-time.Hour)
	}))})
	return all
}

func monitorsOfEachScope() (all []presented) {
	shownMonitor := func(c *call, m monitor.Monitor) json.RawMessage { return monitorActions.shown(nil, c)(m) }
	heartbeat := func(m *monitor.Monitor) { m.Type, m.Cron = monitor.MonitorHeartbeat, schedule.Cron{} }
	for _, scope := range kernel.Scopes {
		all = append(all,
			presented{"heartbeat of the scope " + string(scope), shownMonitor(callOf(scope), filled(heartbeat))},
			presented{
				"check of the scope " + string(scope),
				shownMonitor(callOf(scope), filled(func(m *monitor.Monitor) {
					m.Type = "http"
				})),
			})
	}
	all = append(all,
		presented{"heartbeat with cron", shownMonitor(callOf(kernel.ScopeRead), filled(func(m *monitor.Monitor) {
			heartbeat(m)
			m.Cron = schedule.Cron{Expression: "0 2 * * *", TimeZone: "Asia/Tokyo", Kubernetes: true}
		}))}, presented{
			"heartbeat with a calendar", shownMonitor(callOf(kernel.ScopeRead), filled(func(m *monitor.Monitor) {
				heartbeat(m)
				m.Cron = schedule.Cron{Expression: "daily", TimeZone: "Asia/Tokyo", Calendar: true}
			})),
		})
	return all
}

func onCallSchedules() []presented {
	now := time.Date(2031, 3, 5, 8, 0, 0, 0, time.UTC)
	schedule := alert.OnCall{
		ID: "onc_1", Slug: "ops", Name: "Ops", Zone: "Asia/Tokyo", HandOverDay: "fri", HandOverAt: 8*60 + 5,
		StartsOn: now.AddDate(0, 0, -3).Truncate(24 * time.Hour), CalendarKey: "key",
		Participants: []alert.Participant{
			{Name: "Ann", ChannelIDs: []string{"chn_1"}}, {Name: "Bob", ChannelIDs: []string{"chn_2", "chn_3"}},
		},
		Overrides: []alert.Override{
			{ID: "ovr_1", Participant: "Bob", StartsAt: now.Add(time.Hour), EndsAt: now.Add(2 * time.Hour)},
		}, CreatedAt: now.Add(-time.Hour), UpdatedAt: now.Add(-time.Minute),
	}
	schedule.Show(now, "https://status.example.com")
	empty := alert.OnCall{Zone: "UTC", HandOverDay: "mon"}
	empty.Show(now, "")
	return []presented{
		{"on-call schedule", resource.OnCall.JSON(schedule)},
		{"on-call schedule, empty", resource.OnCall.JSON(empty)},
	}
}

// TestObjectsAsStored compares the JSON of objects of alerts and jobs with a file. With the flag -update-objects it
// writes the file; read its difference before you commit it.
func TestObjectsAsStored(t *testing.T) {
	var text strings.Builder
	all := slices.Concat(objectsOfAlerts(), deliveriesOfEachState(), monitorsOfEachScope(), onCallSchedules())
	for _, p := range all {
		body, err := jsonobject.Marshal(p.json)
		var indented any
		if err == nil {
			err = json.Unmarshal(body, &indented)
		}
		if err != nil {
			t.Fatal(p.title, err)
		}
		body, _ = json.MarshalIndent(indented, "", " ")
		fmt.Fprintf(&text, "# %s\n%s\n\n", p.title, body)
	}
	stored.Compare(t, "testdata/objects.txt", "\n", text.String(), *updateObjects)
}
