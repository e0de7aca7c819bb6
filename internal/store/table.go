package store

import (
	"database/sql"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/store/database"
)

// table is a table whose rows are values of T. SELECT, INSERT and UPDATE follow from one list of columns.
type table[T any] struct {
	name     string
	resource *field.Resource[T] // nil: none is described
	id       func(T) string
	columns  []column[T]
	selected string   // the columns for a SELECT, in the order of scan
	scanned  func(*T) // sets fields that follow from the columns; nil: there are none
}

// column is a column of a table.
type column[T any] struct {
	name  string
	at    func(*T) any // points to its value
	fixed bool         // it does not change
	null  bool         // NULL is the zero value
	read  bool         // it is an expression, or other statements save it
}

// newTable returns the table of a resource, which has a column for each field, and others.
func newTable[T any](name string, r *field.Resource[T], others ...column[T]) *table[T] {
	columns := others
	packedBefore := ""
	for _, f := range r.Fields {
		info := f.Info()
		if name := info.Packed; name != "" && name != packedBefore {
			packedBefore = name
			columns = append(columns, column[T]{name: name, at: func(v *T) any { return packed[T]{r, name, v} }})
		}
		if info.Column() != "" {
			columns = append(columns, describedColumn(info, f.Pointer))
		}
	}
	t := tableOf(name, r.ID, columns)
	t.resource = r
	return t
}

// describedColumn returns the column of a field, given what points to its value.
func describedColumn[T any](i field.Info, at func(*T) any) column[T] {
	return column[T]{
		name: i.Column(), at: at, fixed: i.Kind == field.KindID || i.Name == "created_at",
		// A replica of an earlier version may add rows without a slug.
		null: i.Kind == field.KindSlug || i.Kind == field.KindReference || i.NullColumn,
	}
}

// tableOf returns a table, given the id of a row and the columns.
func tableOf[T any](name string, id func(T) string, columns []column[T]) *table[T] {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	return &table[T]{name: name, id: id, columns: columns, selected: strings.Join(names, ", ")}
}

// scan scans a row of the selected columns.
func (t *table[T]) scan(row database.Row) (v T, err error) {
	to := make([]any, len(t.columns))
	for i, c := range t.columns {
		to[i] = destination(c.at(&v), c.null)
	}
	if err = row.Scan(to...); err == nil && t.scanned != nil {
		t.scanned(&v)
	}
	return v, err
}

// insert adds a row.
func (t *table[T]) insert(tx *tx, v *T) error {
	names, row := t.row(v)
	return tx.insertRows(`INSERT INTO `+t.name+` (`+strings.Join(names, ", ")+`)`, [][]any{row})
}

// row returns the columns of a new row and their values.
func (t *table[T]) row(v *T) (names []string, values []any) {
	for _, c := range t.columns {
		if !c.read {
			names, values = append(names, c.name), append(values, parameter(c.at(v), c.null))
		}
	}
	return names, values
}

// update saves the columns of an object that can change.
func (t *table[T]) update(tx *tx, v *T) error {
	args := []any{t.id(*v)}
	var sets []string
	for _, c := range t.columns {
		if !c.fixed && !c.read {
			args = append(args, parameter(c.at(v), c.null))
			sets = append(sets, fmt.Sprintf("%s = $%d", c.name, len(args)))
		}
	}
	n, err := tx.Exec(`UPDATE `+t.name+` SET `+strings.Join(sets, ", ")+` WHERE id = $1`, args...)
	return requireRow(n, err)
}

// delete deletes the row of an object.
func (t *table[T]) delete(tx *tx, v T) error {
	n, err := tx.Exec(`DELETE FROM `+t.name+` WHERE id = $1`, t.id(v))
	return requireRow(n, err)
}

// packed is the JSON object of a column with several fields.
type packed[T any] struct {
	resource *field.Resource[T]
	column   string
	object   *T
}

func (p packed[T]) parameter() any { return p.resource.Pack(p.column, p.object) }

// Scan sets the fields.
func (p packed[T]) Scan(from any) error {
	var text sql.NullString
	if err := text.Scan(from); err != nil {
		return err
	}
	return p.resource.Unpack(p.column, text.String, p.object)
}

// stored is a value with a stored form of its own, which it also scans.
type stored interface{ parameter() any }

// destination returns what scans the stored form of a value. null: NULL is the zero value.
func destination(to any, null bool) any {
	switch to := to.(type) {
	case sql.Scanner:
	case *time.Time:
		return instant{to}
	case *time.Duration:
		return duration{to}
	case *[]string:
		return listOf[string]{to}
	case *string:
		if null {
			return text{to}
		}
	case *int:
		if null {
			return number{to}
		}
	default:
		if null && reflect.TypeOf(to).Elem().Kind() == reflect.String { // a named type of strings
			return text{reflect.ValueOf(to).Convert(reflect.TypeFor[*string]()).Interface().(*string)}
		}
	}
	return to
}

// parameter returns the stored form of a value. null: the zero value is NULL.
func parameter(of any, null bool) any {
	switch of := of.(type) {
	case stored:
		return of.parameter()
	case *time.Time:
		return millis(*of)
	case *[]string:
		return listText(*of)
	case *time.Duration:
		if null {
			return nullIfZero(of.Milliseconds())
		}
		return of.Milliseconds()
	}
	v := reflect.ValueOf(of).Elem()
	switch {
	case null && v.IsZero():
		return nil
	case v.Kind() == reflect.String:
		return v.String()
	}
	return v.Interface()
}
