package store

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/database"
	"github.com/allswell/allswell/internal/field"
)

// table is a table with the objects of a resource. SELECT, INSERT and UPDATE follow from one list of columns.
type table[T any] struct {
	name     string
	resource *field.Resource[T]
	columns  []column[T]
	selected string // the columns for a SELECT, in the order of scan
}

// column is a column of a table.
type column[T any] struct {
	name  string
	at    func(*T) any // points to its value
	fixed bool         // it does not change
}

// newTable returns the table of a resource, which has a column for each field, and others.
func newTable[T any](name string, r *field.Resource[T], others ...column[T]) *table[T] {
	t := &table[T]{name: name, resource: r, columns: others}
	for _, f := range r.Fields {
		info := f.Info()
		t.columns = append(t.columns, column[T]{info.Column(), f.Pointer, info.ReadOnly && info.Name != "updated_at"})
	}
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	t.selected = strings.Join(names, ", ")
	return t
}

// scan scans a row of the selected columns.
func (t *table[T]) scan(row database.Row) (v T, err error) {
	to := make([]any, len(t.columns))
	for i, c := range t.columns {
		to[i] = destination(c.at(&v))
	}
	err = row.Scan(to...)
	return v, err
}

// insert adds a row.
func (t *table[T]) insert(tx *tx, v *T) error {
	places, args := make([]string, len(t.columns)), make([]any, len(t.columns))
	for i, c := range t.columns {
		places[i], args[i] = fmt.Sprintf("$%d", i+1), parameter(c.at(v))
	}
	_, err := tx.Exec(`INSERT INTO `+t.name+` (`+t.selected+`) VALUES (`+strings.Join(places, ", ")+`)`, args...)
	return err
}

// update saves the columns of an object that can change.
func (t *table[T]) update(tx *tx, v *T) error {
	args := []any{t.resource.ID(*v)}
	var sets []string
	for _, c := range t.columns {
		if !c.fixed {
			args = append(args, parameter(c.at(v)))
			sets = append(sets, fmt.Sprintf("%s = $%d", c.name, len(args)))
		}
	}
	n, err := tx.Exec(`UPDATE `+t.name+` SET `+strings.Join(sets, ", ")+` WHERE id = $1`, args...)
	return requireRow(n, err)
}

// delete deletes the row of an object.
func (t *table[T]) delete(tx *tx, v T) error {
	n, err := tx.Exec(`DELETE FROM `+t.name+` WHERE id = $1`, t.resource.ID(v))
	return requireRow(n, err)
}

// destination returns what scans the stored form of a value.
func destination(to any) any {
	switch to := to.(type) {
	case *time.Time:
		return instant{to}
	case *time.Duration:
		return duration{to}
	case *[]string:
		return listOf[string]{to}
	}
	return to
}

// parameter returns the stored form of a value.
func parameter(of any) any {
	switch of := of.(type) {
	case *time.Time:
		return millis(*of)
	case *time.Duration:
		return of.Milliseconds()
	case *[]string:
		return listText(*of)
	}
	if v := reflect.ValueOf(of).Elem(); v.Kind() == reflect.String {
		return v.String()
	}
	return reflect.ValueOf(of).Elem().Interface()
}
