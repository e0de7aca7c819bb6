package configfield

import (
	"encoding/json"
	"slices"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
)

// Config is the configuration of an object of a type.
type Config struct {
	Type         string
	Shown        json.RawMessage            // the values of the type's fields, without secrets; nil: it was never set
	Secrets      map[string]json.RawMessage // values by field; secrets that cannot be decrypted are missing
	SecretFields []string                   // the fields that have a secret
	Versions     kernel.SecretVersions      // of the secrets
}

// Types are the types of some objects, such as channels.
type Types struct {
	Noun string // such as "channel"
	Size int    // the maximum length of a configuration in bytes
	All  []Type
}

// Type is a type of objects.
type Type struct {
	Name   string
	Fields []Field
	New    func() Destined // with the defaults of its fields
}

// Fields returns the fields of all types, each once, in the order of the types.
func (t Types) Fields() (all []Shared) {
	for _, of := range t.All {
		all = Share(all, of.Name, of.Fields)
	}
	return all
}

// Change sets given values of a configuration. A null sets the default, or removes a secret. If replace is set, a field
// that is not given gets its default; secrets are kept in any case. The error is a *kernel.ValidationError with every
// invalid field, and with every secret that would be sent elsewhere: see CheckKeptSecrets. The configuration must not
// be used then.
func (t Types) Change(c *Config, given map[string]json.RawMessage, replace bool) error {
	i := slices.IndexFunc(t.All, func(of Type) bool { return of.Name == c.Type })
	if i < 0 {
		return nil // the check of the type reports it
	}
	of, own, before := t.All[i], make(map[string]json.RawMessage), *c
	var foreign kernel.ValidationError
	for name, value := range given {
		if _, ok := Find(of.Fields, name); ok {
			own[name] = value
		} else if string(value) != "null" {
			foreign.Add(name, "A %s of the type %s has no %s.", t.Noun, of.Name, kernel.Name(name))
		}
	}
	if len(own) == 0 && c.Shown != nil && !replace {
		return foreign.Err()
	}
	base := c.Shown
	if replace {
		base = nil
	}
	values, err := Merge(base, c.Secrets, own)
	if err != nil {
		return err
	}
	if c.Shown, c.Secrets, err = Read(of.Fields, of.New(), values, t.Size); err != nil {
		return kernel.JoinInvalid(foreign.Err(), err)
	}
	c.SecretFields = nil
	var kept, changed []string
	for _, f := range of.Fields {
		if !f.Secret {
			continue
		}
		value, set := own[f.Name]
		had, has := slices.Contains(before.SecretFields, f.Name), set && string(value) != "null"
		if had {
			kept = append(kept, f.Name)
		}
		if has || had && !set {
			c.SecretFields = append(c.SecretFields, f.Name)
		}
		if has && !(had && monitor.SameJSON(before.Secrets[f.Name], value)) || set && had && !has {
			changed = append(changed, f.Name)
		}
	}
	slices.Sort(c.SecretFields)
	if before.Shown != nil {
		c.Versions = c.Versions.Changed(changed...)
	}
	return kernel.JoinInvalid(foreign.Err(), CheckKeptSecrets(func() Destined { return of.New() }, Change{
		Before: before.Shown, After: c.Shown, Secrets: before.Secrets, Kept: kept, Given: own,
	}))
}
