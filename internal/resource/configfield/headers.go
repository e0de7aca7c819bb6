package configfield

import (
	"net/textproto"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"golang.org/x/net/http/httpguts"
)

// transferHeaders belong to the transfer of a request: net/http sets them itself.
var transferHeaders = []string{"Content-Length", "Transfer-Encoding", "Trailer", "Connection", "Upgrade"}

// CheckHeaders checks names and values of the headers of requests. It refuses headers that net/http sets itself, and
// others, which the caller gives in their canonical form.
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
