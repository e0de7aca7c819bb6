package spelling

import "testing"

func TestClosest(t *testing.T) {
	known := []string{"impact", "component_id", "time_zone", "id", "BOOTSTRAP_TOKEN", "LISTEN"}
	for name, want := range map[string]string{
		"impct": "impact", "imapct": "impact", "IMPACT": "impact", "componentId": "component_id",
		"time-zone": "time_zone",
		"comp":      "component_id", "co": "", "i": "id", "LITSEN": "LISTEN", "BOOTSTRAP": "BOOTSTRAP_TOKEN",
		"TOKEN": "", "": "", "wholly other": "",
	} {
		if got := Closest(name, known); got != want {
			t.Errorf("Closest(%q) = %q, want %q", name, got, want)
		}
	}
	if got := Closest("x", nil); got != "" {
		t.Errorf("of no names: %q", got)
	}
}
