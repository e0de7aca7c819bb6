package configfield

import "slices"

// Shared is a field with the types that have it. The Kind is the same in all of them.
type Shared struct {
	Field         // of the first type; Default and Example only if all types have the same
	Of    []Owner // in the order of the types
}

// SameHelp reports whether the help of the field is the same in all types that have it.
func (s Shared) SameHelp() bool {
	return !slices.ContainsFunc(s.Of, func(o Owner) bool { return o.Field.Help != s.Help })
}

// Owner is a type that has a field.
type Owner struct {
	Type  string
	Field Field
}

// Share adds the fields of a type to the fields of others.
func Share(all []Shared, owner string, fields []Field) []Shared {
	for _, f := range fields {
		i := slices.IndexFunc(all, func(s Shared) bool { return s.Name == f.Name })
		if i < 0 {
			i, all = len(all), append(all, Shared{Field: f})
		}
		all[i].Of = append(all[i].Of, Owner{owner, f})
		if f.Default != all[i].Default {
			all[i].Default = ""
		}
		if f.Example != all[i].Example {
			all[i].Example = ""
		}
	}
	return all
}

// OfType returns the field as a type has it; the shared one if the type does not have it.
func (s Shared) OfType(kind string) Field {
	for _, o := range s.Of {
		if o.Type == kind {
			return o.Field
		}
	}
	return s.Field
}

// Types returns the names of the types that have the field.
func (s Shared) Types() (names []string) {
	for _, o := range s.Of {
		names = append(names, o.Type)
	}
	return names
}

// AlwaysSecret reports whether the field is a secret in all types that have it.
func (s Shared) AlwaysSecret() bool {
	return !slices.ContainsFunc(s.Of, func(o Owner) bool { return !o.Field.Secret })
}
