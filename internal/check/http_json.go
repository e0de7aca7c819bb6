package check

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ohler55/ojg/jp"

	"github.com/allswell/allswell"
)

// maxJSONPath is the maximum length of a JSONPath in characters.
const maxJSONPath = 200

// checkJSONPath parses a JSONPath. One that could visit values again and again is refused: its time must not exceed that of
// reading the body.
func checkJSONPath(bad *allswell.ValidationError, path string) jp.Expr {
	expr, err := jp.ParseString(path)
	switch {
	case err != nil || !strings.HasPrefix(path, "$") || len(expr) < 2:
		bad.Add("json_path", "The json_path must be a JSONPath that begins with $, such as $.status.")
	case strings.Count(path, "..") > 1 || strings.Count(path, "$") > 1:
		bad.Add("json_path", "The json_path may have .. once, and $ only at its beginning.")
	}
	return expr
}

// judgeJSON returns why a body does not have the expected value at a path, or "".
func judgeJSON(body []byte, expr jp.Expr, path, expected string) string {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		return "the body is not valid JSON"
	}
	found, ok := firstValue(expr, document)
	switch {
	case !ok:
		return "the body has no value at " + path
	case expected == "" || jsonText(found) == expected || sameNumber(found, expected):
		return ""
	}
	return "the value at " + path + " is " + shorten(jsonText(found)) + ", expected " + expected
}

// firstValue returns the first value at a path. A panic of the library on an unusual document is no value.
func firstValue(expr jp.Expr, document any) (value any, ok bool) {
	defer func() {
		if recover() != nil {
			value, ok = nil, false
		}
	}()
	return expr.FirstFound(document)
}

// jsonText returns a text as it is, and another value as JSON.
func jsonText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(encoded)
}

// sameNumber reports whether a value is the expected number in another notation.
func sameNumber(value any, expected string) bool {
	number, ok := value.(json.Number)
	if !ok {
		return false
	}
	a, err1 := number.Float64()
	b, err2 := strconv.ParseFloat(expected, 64)
	return err1 == nil && err2 == nil && a == b
}
