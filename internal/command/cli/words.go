package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/domain/audience"
)

// fieldWords are the names of a command's flags and arguments, for errors about fields of the API.
type fieldWords struct {
	command               *kong.Node // nil: there are none
	given, givenArguments []string   // flags and arguments on the command line
}

// newFieldWords returns the names for a command line; nil: it could not be parsed.
func newFieldWords(parsed *kong.Context) (w fieldWords) {
	if parsed == nil || parsed.Error != nil {
		return w
	}
	w.command = parsed.Selected()
	for _, p := range parsed.Path {
		switch {
		case p.Flag != nil:
			w.given = append(w.given, p.Flag.Name)
		case p.Positional != nil:
			w.givenArguments = append(w.givenArguments, p.Positional.Name)
		}
	}
	return w
}

// listItem matches a field of an item of a list: components.0.status.
var listItem = regexp.MustCompile(`^(\w+)\.([0-9]{1,4})(?:\.(\w+))?$`)

// of returns the name for a field: its flags that are given, or else all flags of the command for it, such as
// "--until/--for"; or the name of its argument; or its key.
func (w fieldWords) of(field string) string {
	if m := listItem.FindStringSubmatch(field); m != nil {
		word := w.of(m[1])
		if word == m[1] {
			word = strings.ReplaceAll(singular(word), "_", " ")
		}
		n, _ := strconv.Atoi(m[2]) // digits
		word = fmt.Sprintf("%s %d", word, n+1)
		if m[3] != "" {
			word += ", " + m[3]
		}
		return word
	}
	if w.command == nil {
		return field
	}
	names := w.names(field)
	if field == "slug" && len(w.command.Positional) > 0 { // of the command put
		names = append(names, w.command.Positional[0].Name)
	}
	flags, arguments := w.all()
	for _, words := range []struct {
		prefix string
		known  []string
	}{{"--", w.given}, {"", w.givenArguments}, {"--", flags}, {"", arguments}} {
		var found []string
		for _, name := range names {
			if word := words.prefix + name; slices.Contains(words.known, name) && !slices.Contains(found, word) {
				found = append(found, word)
			}
		}
		if len(found) > 0 {
			return strings.Join(found, "/")
		}
	}
	return field
}

// all returns the names of the flags and of the arguments of the command.
func (w fieldWords) all() (flags, arguments []string) {
	for _, f := range w.command.Flags {
		flags = append(flags, f.Name)
	}
	for _, p := range w.command.Positional {
		arguments = append(arguments, p.Name)
	}
	return flags, arguments
}

// names returns the names that the flag or the argument of a field can have.
func (w fieldWords) names(field string) []string {
	key := field[strings.LastIndexByte(field, '.')+1:]
	flags, arguments := w.all()
	if slices.ContainsFunc(otherFlags[key], func(name string) bool {
		return slices.Contains(flags, name) || slices.Contains(arguments, name)
	}) {
		return otherFlags[key]
	}
	return ownFlags(key)
}

// subject returns the name for the field that an error is about: the flag that removes its value, if that is given.
func (w fieldWords) subject(field string) string {
	if w.command == nil {
		return field
	}
	for _, name := range w.names(field) {
		for _, no := range []string{"no-" + name, "no-" + name + "s"} {
			if slices.Contains(w.given, no) {
				return "--" + no
			}
		}
	}
	return w.of(field)
}

// otherFlags are the flags and arguments of fields whose names differ from the field's.
var otherFlags = map[string][]string{
	"scheduled_for": {"at", "in"}, "scheduled_until": {"until", "for"}, "remind_before": {"remind"},
	"shown_from": {"from"}, "shown_until": {"until", "for"}, "starts_at": {"from"}, "ends_at": {"until", "for"},
	"paused_until": {"until", "for"}, "began_at": {"began"}, "resolved_at": {"ended"}, "incident_id": {"into"},
	"footer_links": {"footer"}, "custom_css": {"css"}, "languages": {"offer-language"}, "password": {"password-file"},
	"schedule": {"cron", "calendar"}, "expression": {"cron", "calendar"}, "token": {"ping-token"},
	"quiet_hours": {"quiet-hours", "quiet-zone", "quiet-day"}, "escalation": {"escalate"},
	"overrides": {"participant", "from", "until", "for"}, "per_page": {"limit"}, "csv": {"file"}, "body": {"text"},
	"target": namesOfChannels(),
}

// ownFlags returns the names of a flag that is named after a field: channel_ids is given by --channel.
func ownFlags(key string) []string {
	name := strings.ReplaceAll(key, "_", "-")
	if slices.Contains(commonFlags, name) {
		name = "channel-" + name // see flagName
	}
	names := []string{name, singular(name)}
	for _, suffix := range []string{"-id", "-ids"} {
		if short, ok := strings.CutSuffix(name, suffix); ok {
			names = append(names, short)
		}
	}
	return names
}

// singular returns the singular of a name: expected-statuses becomes expected-status, the name of the flag.
func singular(name string) string {
	switch {
	case strings.HasSuffix(name, "sses"), strings.HasSuffix(name, "uses"):
		return strings.TrimSuffix(name, "es")
	case strings.HasSuffix(name, "ies"):
		return strings.TrimSuffix(name, "ies") + "y"
	}
	return strings.TrimSuffix(name, "s")
}

// namesOfChannels returns the flags of the targets of all channels of subscribers.
func namesOfChannels() []string {
	names := make([]string, len(audience.OperatorChannels))
	for i, channel := range audience.OperatorChannels {
		names[i] = flagOfChannel(client.SubscriberChannel(channel))[2:]
	}
	return names
}
