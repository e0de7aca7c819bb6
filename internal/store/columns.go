package store

import (
	"database/sql"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
)

// millis returns the stored form of an instant: milliseconds since 1970, or NULL for the zero Time.
func millis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// instant scans what millis stored.
type instant struct{ to *time.Time }

// Scan makes instant a destination of rows.Scan.
func (i instant) Scan(src any) error {
	var n sql.NullInt64
	if err := n.Scan(src); err != nil {
		return err
	}
	*i.to = time.Time{}
	if n.Valid {
		*i.to = time.UnixMilli(n.Int64).UTC()
	}
	return nil
}

// duration scans milliseconds.
type duration struct{ to *time.Duration }

// Scan makes duration a destination of rows.Scan.
func (d duration) Scan(src any) error {
	var n sql.NullInt64
	if err := n.Scan(src); err != nil {
		return err
	}
	*d.to = time.Duration(n.Int64) * time.Millisecond
	return nil
}

// nullIfEmpty returns the stored form of an optional text: NULL for "".
func nullIfEmpty(id string) any {
	if id == "" {
		return nil
	}
	return id
}

// optionalInt scans an optional number; NULL is nil.
type optionalInt struct{ to **int }

// Scan makes optionalInt a destination of rows.Scan.
func (o optionalInt) Scan(src any) error {
	var n sql.NullInt64
	if err := n.Scan(src); err != nil {
		return err
	}
	*o.to = nil
	if n.Valid {
		*o.to = new(int(n.Int64))
	}
	return nil
}

// number scans an optional number; NULL is 0.
type number struct{ to *int }

// Scan makes number a destination of rows.Scan.
func (n number) Scan(src any) error {
	var v sql.NullInt64
	err := v.Scan(src)
	*n.to = int(v.Int64)
	return err
}

// nullIfZero returns the stored form of an optional number: NULL for 0.
func nullIfZero(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// text scans an optional text, which nullIfEmpty stored.
type text struct{ to *string }

// Scan makes text a destination of rows.Scan.
func (t text) Scan(src any) error {
	var v sql.NullString
	if err := v.Scan(src); err != nil {
		return err
	}
	*t.to = v.String
	return nil
}

// listText returns the stored form of a list: JSON.
func listText[T any](values []T) string {
	if len(values) == 0 {
		return "[]" // not "null"
	}
	out, err := json.Marshal(values)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return string(out)
}

// listOf scans what listText stored; NULL and an empty list become nil.
type listOf[T any] struct{ to *[]T }

// Scan makes listOf a destination of rows.Scan.
func (l listOf[T]) Scan(src any) error {
	var v sql.NullString
	if err := v.Scan(src); err != nil {
		return err
	}
	*l.to = nil
	if !v.Valid || v.String == "[]" {
		return nil
	}
	return json.Unmarshal([]byte(v.String), l.to)
}

func (l listOf[T]) parameter() any { return listText(*l.to) }

// jsonOf scans a JSON object, or NULL as nil.
type jsonOf[T any] struct{ to **T }

// Scan makes jsonOf a destination of rows.Scan.
func (o jsonOf[T]) Scan(src any) error {
	var v sql.NullString
	if err := v.Scan(src); err != nil {
		return err
	}
	*o.to = nil
	if !v.Valid {
		return nil
	}
	return json.Unmarshal([]byte(v.String), o.to)
}

func (o jsonOf[T]) parameter() any {
	if *o.to == nil {
		return nil
	}
	out, err := json.Marshal(*o.to)
	if err != nil {
		panic(err) // what a column can have always marshals
	}
	return string(out)
}

// versionsOf scans what versionsText stored; NULL becomes nil.
type versionsOf struct{ to *kernel.SecretVersions }

// Scan makes versionsOf a destination of rows.Scan.
func (o versionsOf) Scan(src any) error {
	var v *kernel.SecretVersions
	err := jsonOf[kernel.SecretVersions]{&v}.Scan(src)
	*o.to = nil
	if v != nil {
		*o.to = *v
	}
	return err
}

func (o versionsOf) parameter() any { return versionsText(*o.to) }

// versionsText returns the stored form of versions: JSON, or NULL if there are none.
func versionsText(v kernel.SecretVersions) any {
	if len(v) == 0 {
		return nil
	}
	out, err := json.Marshal(v)
	if err != nil {
		panic(err) // numbers always marshal
	}
	return string(out)
}

// rawJSON is JSON that is stored unchanged.
type rawJSON struct{ to *json.RawMessage }

// Scan makes rawJSON a destination of rows.Scan.
func (j rawJSON) Scan(src any) error {
	var v sql.NullString
	err := v.Scan(src)
	*j.to = json.RawMessage(v.String)
	return err
}

func (j rawJSON) parameter() any { return string(*j.to) }

// written is a value that follows from others: it is stored for statements, and not read.
type written struct{ value any }

// Scan makes written a destination of rows.Scan.
func (written) Scan(any) error { return nil }

func (w written) parameter() any { return w.value }

// systemMessageText returns the stored form of a system message: JSON, or NULL for the zero message.
func systemMessageText(a statuspage.SystemMessage) any {
	if a == (statuspage.SystemMessage{}) {
		return nil
	}
	out, err := json.Marshal(a)
	if err != nil {
		panic(err) // a string, an instant and numbers always marshal
	}
	return string(out)
}

// systemMessage scans what systemMessageText stored.
type systemMessage struct{ to *statuspage.SystemMessage }

// parameter makes systemMessage a stored value.
func (a systemMessage) parameter() any { return systemMessageText(*a.to) }

// Scan makes systemMessage a destination of rows.Scan.
func (a systemMessage) Scan(src any) error {
	var v sql.NullString
	if err := v.Scan(src); err != nil {
		return err
	}
	*a.to = statuspage.SystemMessage{}
	if !v.Valid {
		return nil
	}
	return json.Unmarshal([]byte(v.String), a.to)
}

// list returns the parameter for EACH($n): a JSON array, on both engines.
func list[T ~string](values []T) string {
	if len(values) == 0 {
		return "[]" // not "null", which is no array
	}
	out, err := json.Marshal(values)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(out)
}

// rowsPerInsert is the maximum number of rows that insertRows inserts with one statement.
const rowsPerInsert = 60

// insertRows inserts rows with few statements, because each may be a round trip while others wait for the transaction.
// into is the statement before VALUES.
func (t *tx) insertRows(into string, rows [][]any) error {
	for some := range slices.Chunk(rows, rowsPerInsert) {
		var values []string
		var args []any
		for _, row := range some {
			var columns []string
			for _, arg := range row {
				args = append(args, arg)
				columns = append(columns, "$"+strconv.Itoa(len(args)))
			}
			values = append(values, "("+strings.Join(columns, ", ")+")")
		}
		if _, err := t.Exec(into+` VALUES `+strings.Join(values, ", "), args...); err != nil {
			return err
		}
	}
	return nil
}
