package resource

import (
	"fmt"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/jsonobject"
)

// TestUnreadableValueOfALackingField checks that a field which a monitor does not have is refused as such, and not
// because its value cannot be read.
func TestUnreadableValueOfALackingField(t *testing.T) {
	tcp := func(c *monitor.MonitorConfig) error {
		c.Reset("tcp")
		c.Name, c.Check.Config = "a", []byte(`{"host":"localhost","port":1}`)
		return nil
	}
	heartbeat := monitor.MonitorOf(monitor.MonitorConfig{Name: "a", Interval: time.Minute})
	for _, c := range []struct {
		make monitor.MonitorChange
		kind string
		sent string
	}{{heartbeat, "heartbeat", `"interval":60`}, {tcp, "tcp", `"host":"localhost","port":1`}} {
		m, err := NewMonitor(c.make, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		lacks := 0
		for _, i := range Monitor.Infos() {
			if !i.OfSome || i.Name == "token" || i.Name == "schedule" { // which say more than whether they can be read
				continue
			}
			for request, text := range map[field.Request]string{
				field.Creation:    fmt.Sprintf(`{"name":"a","type":%q,%s,%q:{"a":1}}`, c.kind, c.sent, i.Name),
				field.Replacement: fmt.Sprintf(`{"name":"a","type":%q,%s,%q:{"a":1}}`, c.kind, c.sent, i.Name),
				field.Changing:    fmt.Sprintf(`{%q:{"a":1}}`, i.Name),
			} {
				o, err := jsonobject.Parse([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				change, changed := MonitorChange(Monitor.Read(o, request)), m
				if request == field.Creation {
					_, err = NewMonitor(change, time.Now())
				} else {
					err = ChangeMonitor(&changed, change, time.Now())
				}
				bad, _ := err.(*kernel.ValidationError)
				lacking := fmt.Sprintf("A monitor of the type %s has no %s.", c.kind, i.Name)
				if bad == nil || len(bad.Problems) != 1 {
					t.Errorf("%v with an unreadable %s of a %s: %v", request, i.Name, c.kind, err)
				} else if bad.Error() == lacking {
					lacks++
				}
			}
		}
		if lacks < 9 {
			t.Errorf("a %s lacks %d fields", c.kind, lacks)
		}
	}
}
