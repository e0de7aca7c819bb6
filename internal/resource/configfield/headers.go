package configfield

import (
	"net/textproto"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"golang.org/x/net/http/httpguts"
)

// transferHeaders are part of the transfer and not of a request: net/http sets them itself.
var transferHeaders = []string{"Content-Length", "Transfer-Encoding", "Trailer", "Connection", "Upgrade"}

// CheckHeaders checks names and values of the headers of requests. Headers that net/http sets itself are refused, and
// others that the caller names, in their canonical form.
func CheckHeaders(bad *kernel.ValidationError, field string, headers map[string]string, others ...string) {
	refused := slices.Concat(others, transferHeaders)
	last := len(refused) - 1
	for name, value := range headers {
		if slices.Contains(refused, textproto.CanonicalMIMEHeaderKey(name)) {
			bad.Add(field, "must not contain %s or %s", strings.Join(refused[:last], ", "), refused[last])
			return
		}
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			bad.Add(field, "must have names and values of HTTP headers")
			return
		}
	}
}
