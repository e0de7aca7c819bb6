package field

import (
	"encoding/json"
	"fmt"

	"github.com/allswell/allswell/internal/shared/jsonobject"
)

// NewPart checks and returns the description of objects within others, such as the steps of an escalation. They have no
// ids, and change as a whole. Their kinds check no values: the Check of the field that has them does, or the rules of
// the resource.
func NewPart[U any](r Resource[U]) *Resource[U] {
	for _, f := range r.Fields {
		if err := f.complete(); err != nil {
			panic(fmt.Sprintf("the field %s of the %s: %v", f.info.Name, r.Noun, err))
		}
	}
	r.part = true
	return &r
}

// Part is an object within the object, or null.
func Part[T, U any](name string, of *Resource[U], at func(*T) **U) *Field[T] {
	return newField(Info{Name: name, Kind: KindPart, Nullable: true, Part: new(of.Describe())}, at, codec[*U]{
		json: func(v *U) any { return of.JSON(*v) },
		read: func(o *jsonobject.Object, name string) **U {
			if object, _ := o.Object(name); object != nil {
				return new(new(of.readPart(object)))
			}
			return nil
		},
	})
}

// Shown is an object within the object, which only the service sets.
func Shown[T, U any](name string, of *Resource[U], get func(*T) U) *Field[T] {
	info := Info{Name: name, Kind: KindPart, Part: new(of.Describe()), ReadOnly: true, column: "-"}
	return newProperty(info, get, unset[T, U], codec[U]{json: func(v U) any { return of.JSON(v) }})
}

// Parts is a list of at most most objects within the object. Null in a request is an empty list.
func Parts[T, U any](name string, most int, of *Resource[U], at func(*T) *[]U) *Field[T] {
	return newField(Info{Name: name, Kind: KindParts, Part: new(of.Describe()), Items: most}, at, codec[[]U]{
		json: func(v []U) any {
			all := make([]json.RawMessage, len(v))
			for i, u := range v {
				all[i] = of.JSON(u)
			}
			return all
		},
		read: func(o *jsonobject.Object, name string) *[]U {
			objects := o.Objects(name, most)
			if objects == nil && !o.Null(name) {
				return nil
			}
			all := make([]U, len(objects))
			for i, object := range objects {
				all[i] = of.readPart(object)
			}
			return &all
		},
		check: checkItems[U],
	})
}

// readPart reads an object. What is missing or cannot be read is an error of o.
func (r *Resource[T]) readPart(o *jsonobject.Object) (v T) {
	for _, f := range r.Fields {
		if f.info.Required {
			o.Require(f.info.Name)
		}
		if set := f.read(o, false); set != nil {
			_ = set(&v) // only configurations refuse values, and no part has one
		}
	}
	return v
}
