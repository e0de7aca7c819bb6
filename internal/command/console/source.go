package console

import (
	"slices"

	"github.com/alecthomas/kong"

	"github.com/allswell/allswell/internal/shared/settings"
)

// SettingValues returns the settings of a parsed command with their values, and where each comes from. group is a
// struct of settings, as for settings.List.
func SettingValues(group any, parsed *kong.Context) []settings.Value {
	return settings.Values(group, func(env string) settings.Source {
		source := settings.SourceDefault
		for _, p := range parsed.Path {
			switch {
			case p.Flag == nil || !slices.Contains(p.Flag.Envs, env):
			case !p.Resolved:
				return settings.SourceFlag
			default:
				source = settings.SourceFile
			}
		}
		if isSet(env) {
			source = settings.SourceEnvironment
		}
		return source
	})
}
