package console

import (
	"testing"

	"github.com/alecthomas/kong"
)

func TestSettingValues(t *testing.T) {
	t.Setenv("ALLSWELL_ENVIRONMENT", "3")
	t.Setenv("ALLSWELL_BOTH", "4")
	var cli struct {
		Default     string `env:"ALLSWELL_DEFAULT" default:"1"`
		Flag        string `env:"ALLSWELL_FLAG" default:"1" secret:""`
		Environment string `env:"ALLSWELL_ENVIRONMENT"`
		Both        string `env:"ALLSWELL_BOTH"`
		File        string `env:"ALLSWELL_FILE"`
		None        string `env:"ALLSWELL_NONE" secret:""`
	}
	file := kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		if flag.Name == "file" {
			return "6", nil
		}
		return nil, nil
	})
	parser, err := kong.New(&cli, kong.Resolvers(file))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.Parse([]string{"--flag=2", "--both=5"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][2]string{
		"ALLSWELL_DEFAULT": {"1", "default"}, "ALLSWELL_FLAG": {"set", "flag"},
		"ALLSWELL_ENVIRONMENT": {"3", "environment"},
		"ALLSWELL_BOTH":        {"5", "flag"}, "ALLSWELL_FILE": {"6", "file"}, "ALLSWELL_NONE": {"", "default"},
	}
	for _, v := range SettingValues(&cli, parsed) {
		if got := [2]string{v.Text, string(v.Source)}; got != want[v.Env] {
			t.Errorf("%s: %q, want %q", v.Env, got, want[v.Env])
		}
	}
}
