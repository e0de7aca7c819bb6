package settings

import "testing"

func TestValues(t *testing.T) {
	group := struct {
		Plain           string `env:"ALLSWELL_PLAIN" default:"1m"`
		Given           string `env:"ALLSWELL_GIVEN" default:"1m"`
		Secret          string `env:"ALLSWELL_SECRET" secret:""`
		Unset           string `env:"ALLSWELL_UNSET" secret:""`
		Ignored         string
		DatabaseSetting `embed:""`
	}{Given: " 2m ", Secret: "hunter2"}
	want := []Value{
		{Text: "1m", Source: SourceDefault}, {Text: "2m", Source: SourceFile}, {Text: "set", Source: SourceFile},
		{Text: "", Source: SourceDefault}, {Text: "sqlite:allswell.db", Source: SourceDefault},
	}
	got := Values(&group, func(string) Source { return SourceFile })
	if len(got) != len(want) {
		t.Fatalf("Values = %+v", got)
	}
	for i, v := range got {
		if v.Text != want[i].Text || v.Source != want[i].Source {
			t.Errorf("value of %s: %q from %s, want %q from %s", v.Env, v.Text, v.Source, want[i].Text, want[i].Source)
		}
	}
}
