package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/timeinput"
)

// resourceFlags are the flags of fields of a resource. Because the fields are a table, the struct that the parser fills
// in is made at run time.
type resourceFlags struct {
	kong.Plugins
	of []field.Info
}

// newResourceFlags returns the flags of fields for a command that creates, replaces or changes an object. For a change,
// a field that can be removed has a second flag that begins with no-. A duration with a default always has it.
func newResourceFlags(of []field.Info, request field.Request) resourceFlags {
	var flags []reflect.StructField
	add := func(i field.Info, name string, kind reflect.Type, tag string) {
		flags = append(flags, reflect.StructField{
			Name: name + field.GoName(i.Name), Type: kind, Tag: reflect.StructTag(tag),
		})
	}
	create := request != field.Changing
	of = slices.DeleteFunc(slices.Clone(of), func(i field.Info) bool {
		return !i.In(request) || i.Part != nil // the command has flags of its own for parts
	})
	for _, i := range of {
		if _, ok := finders[i.Of]; !ok && i.Kind == field.KindReferences {
			panic("no command finds a " + i.Of)
		}
		kind := reflect.PointerTo(i.Type)
		switch i.Kind {
		case field.KindTime:
			kind = reflect.TypeFor[*timeinput.Moment]()
		case field.KindDuration:
			kind = reflect.TypeFor[*timeinput.Duration]()
		case field.KindDate:
			kind = reflect.TypeFor[*string]()
		case field.KindComponents:
			kind = reflect.TypeFor[[]string]()
		case field.KindTexts, field.KindChoices, field.KindReferences:
			kind = i.Type
		}
		if i.IsPointer() {
			kind = i.Type
		}
		tag := fmt.Sprintf(`name:%q placeholder:%q help:%q`, i.FlagName(), resourcePlaceholder(i),
			resourceHelp(i, request))
		if create && i.Required {
			tag += ` required:""`
		}
		switch {
		case i.Kind == field.KindComponents, i.Kind == field.KindReferences && i.Of != "page": // names can have commas
			tag += ` sep:"none"`
		case i.Kind == field.KindBool:
			tag += fmt.Sprintf(` negatable:%q`, negation(i))
		}
		no := removalHelp(i, create)
		if no == "" {
			add(i, "", kind, tag)
			continue
		}
		either := fmt.Sprintf(` xor:%q`, i.Name)
		add(i, "", kind, tag+either)
		add(i, "No", reflect.TypeFor[bool](), fmt.Sprintf(`name:%q help:%q`, i.NoFlagName(), no)+either)
	}
	return resourceFlags{kong.Plugins{reflect.New(reflect.StructOf(flags)).Interface()}, of}
}

// newPutFlags returns the flags of fields for a command that creates or replaces an object, whose slug is an argument.
func newPutFlags(of []field.Info) resourceFlags {
	return newResourceFlags(slices.DeleteFunc(slices.Clone(of), func(i field.Info) bool {
		return i.Kind == field.KindSlug
	}), field.Replacement)
}

// negation returns the name of the flag that sets false, if it is not "no-" and the name of the flag; the help then
// shows both.
func negation(i field.Info) string {
	if no := i.NoFlagName(); no != "no-"+i.FlagName() {
		return no
	}
	return ""
}

// removalHelp returns the help of the flag that removes the value of a field; "": there is none.
func removalHelp(i field.Info, create bool) string {
	switch {
	case i.Kind == field.KindDuration && (create && i.Default == "" || i.Empty == ""): // "": it cannot be removed
		return ""
	case i.Kind == field.KindDuration:
		return strings.ToUpper(i.Empty[:1]) + i.Empty[1:] + "."
	case create, i.Kind == field.KindChoice && i.Default != "", // the default can be given
		i.Kind == field.KindChoices && i.Empty == "": // an empty list means nothing
		return ""
	case i.Kind == field.KindComponents:
		return "Remove all components."
	case i.Type.Kind() == reflect.Slice && i.Empty == "":
		return "Remove all."
	case i.Nullable, i.Type.Kind() == reflect.Slice:
		return "As if --" + i.FlagName() + " had not been given: " + i.Empty + "."
	}
	return ""
}

func resourcePlaceholder(i field.Info) string {
	if len(i.Suggested) > 0 {
		return strings.Join(i.Suggested, "|")
	}
	switch i.Kind {
	case field.KindChoice:
		return lastWord(strings.ReplaceAll(i.Name, "_", "-"))
	case field.KindTime, field.KindClock:
		return "TIME"
	case field.KindDate:
		return "DATE"
	case field.KindInteger:
		return "NUMBER"
	case field.KindSlug, field.KindReference:
		return "SLUG"
	case field.KindLine: // a name, or the name of a zone
		return lastWord(i.FlagName())
	case field.KindText:
		if i.Pattern != "" {
			return lastWord(i.FlagName())
		}
	case field.KindDuration:
		return "DURATION"
	case field.KindComponents:
		return "COMPONENT"
	case field.KindTexts, field.KindChoices:
		return lastWord(i.FlagName())
	case field.KindReferences:
		return strings.ToUpper(i.Of[strings.LastIndexByte(i.Of, ' ')+1:])
	}
	return "TEXT"
}

// lastWord returns the last word of a name with hyphens, in upper case.
func lastWord(name string) string { return strings.ToUpper(name[strings.LastIndexByte(name, '-')+1:]) }

// resourceHelp returns the help of a field's flag, for a command that creates, replaces or changes an object.
func resourceHelp(i field.Info, request field.Request) string {
	create, kept := request != field.Changing, request == field.Replacement && i.Kept
	help, rest, more := strings.Cut(i.Doc, ". ")
	if i.Max > 0 && i.Kind != field.KindSlug {
		help += fmt.Sprintf(", at most %s characters", grouped(i.Max))
	}
	missing := i.Empty
	switch i.Kind {
	case field.KindSlug:
		help += ": a-z, 0-9 and hyphens, at most 63"
	case field.KindMarkdown:
		help += "; - reads it from standard input"
	case field.KindChoice, field.KindChoices:
		help += ": " + choices(i, kept)
	case field.KindTime:
		help += ", such as 2026-11-24 22:00 or tomorrow 22:00 in the page's time zone"
	case field.KindDuration:
		help += ", at most " + kernel.FormatDuration(i.Longest)
		if n, err := strconv.Atoi(i.Default); err == nil {
			missing = kernel.FormatDuration(time.Duration(n) * time.Second)
		} else if !i.Nullable { // an empty value is not the default
			missing = ""
		}
	case field.KindBool:
		missing = cmp.Or(map[string]string{"true": "yes", "false": "no"}[i.Default], missing)
	case field.KindLine: // the name of a zone
		missing = cmp.Or(i.Default, missing)
	case field.KindReferences, field.KindComponents:
		help += ", by " + cmp.Or(map[string]string{"page": "slug"}[i.Of], "id, name or slug")
	}
	if i.Type.Kind() == reflect.Slice {
		help += "; repeatable"
		if !create {
			help += ". Replaces all others"
		}
	}
	if more {
		help += ". " + rest
	}
	switch {
	case kept:
		help += ". By default kept"
		if i.Kind == field.KindReference && i.Nullable {
			help += "; '' removes it"
		}
		if missing != "" {
			help += "; of a new one, " + missing
		}
	case create && missing != "":
		help += ". By default " + missing
	}
	return strings.NewReplacer("${", "$${", "`", "").Replace(help) + "."
}

// choices returns the values of a choice: "info (the default) or warning". If kept is set, the default applies only to
// new objects.
func choices(i field.Info, kept bool) string {
	standard := " (the default)"
	if kept {
		standard = " (the default of a new one)"
	}
	var values []string
	for _, o := range i.Options {
		if o.Value == i.Default {
			o.Value += standard
		}
		values = append(values, o.Value)
	}
	return typeNames(values)
}

// grouped writes a number with commas: 2,000.
func grouped(n int) string {
	if n < 1_000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1_000), n%1_000)
}

// given returns the given fields, in the form of the API. Times are in the zone of the page.
func (f resourceFlags) given(c *commandContext, page *pageFlag) (map[string]any, error) {
	given := make(map[string]any)
	values := reflect.ValueOf(f.Plugins[0]).Elem()
	for _, i := range f.of {
		if no := values.FieldByName("No" + field.GoName(i.Name)); no.IsValid() && no.Bool() {
			given[i.Name] = map[field.Missing]any{field.MissingZero: 0, field.MissingEmpty: []string{}}[i.Missing()]
		}
		var err error
		switch value := values.FieldByName(field.GoName(i.Name)); {
		case value.IsNil():
		case i.Kind == field.KindMarkdown:
			given[i.Name], err = c.message(value.Interface().(*string))
		case i.Kind == field.KindTime:
			given[i.Name], err = c.moment(*value.Interface().(*timeinput.Moment), page)
		case i.Kind == field.KindDuration:
			d := time.Duration(*value.Interface().(*timeinput.Duration))
			if d < 0 || d == 0 && i.Default != "" || d > i.Longest {
				err = console.UsageErrorf("--%s must be from 1s to %s", i.FlagName(), kernel.FormatDuration(i.Longest))
				if values.FieldByName("No" + field.GoName(i.Name)).IsValid() {
					err = console.UsageErrorf("%w, or give --%s", err, i.NoFlagName())
				}
			}
			given[i.Name] = client.SecondsOf(d)
			if i.Nullable && d == 0 {
				given[i.Name] = nil
			}
		case i.Kind == field.KindInteger && i.Nullable && i.Least > 0 && *value.Interface().(*int) == 0:
			given[i.Name] = nil
		case i.Kind == field.KindComponents:
			given[i.Name], err = c.components(value.Interface().([]string), page)
		case i.Kind == field.KindReferences:
			given[i.Name], err = c.references(i.Of, value.Interface().([]string))
		default:
			given[i.Name] = value.Interface()
		}
		if err != nil {
			return nil, err
		}
	}
	return given, nil
}

// finders return the id of an object that is given by its id, slug or name, by noun. Pages have no id: nil.
var finders = map[string]func(*commandContext, string) (string, error){
	"monitor": (*commandContext).monitor, "channel": (*commandContext).channel,
	"on-call schedule": (*commandContext).onCall, "page": nil,
}

// references returns ids of objects that are given, and slugs of pages.
func (c *commandContext) references(of string, given []string) (ids []string, err error) {
	find := finders[of]
	if find == nil {
		return given, nil
	}
	for _, ref := range given {
		id, err := find(c, ref)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// asInput returns given fields as the input of a call of the client. It returns err if that is not nil, and a usage
// error if no field is given.
func asInput[T any](given map[string]any, err error) (input T, _ error) {
	if err == nil && len(given) == 0 {
		err = console.UsageErrorf("nothing to set: give at least one flag (--help lists them)")
	}
	if err != nil {
		return input, err
	}
	return convert[T](given)
}

// convert returns given fields as the input of a call of the client.
func convert[T any](given map[string]any) (input T, err error) {
	text, err := json.Marshal(given)
	if err == nil {
		err = json.Unmarshal(text, &input)
	}
	return input, err
}
