package ping

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxForm is the maximum length of a form. It is read for at most maxBodyTime.
const maxForm = 256 << 10

// hasForm reports whether a request is a check-in of Dead Man's Snitch whose body may be a form. As with that service,
// the body of a POST without a content type is a form, and forms are read whatever the method.
func hasForm(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, snitchPath) && r.ContentLength != 0 &&
		(r.Method == http.MethodPost || r.Header.Get("Content-Type") != "")
}

// readForm returns the parameters in the body of a check-in to an address, encoded as a query. refused is not nil if
// the body may have parameters that cannot be read.
func (s *Server) readForm(
	w http.ResponseWriter, r *http.Request, address string, now time.Time,
) (form string, refused *answer) {
	contentType := r.Header.Get("Content-Type")
	kind, parameters, err := mime.ParseMediaType(contentType)
	switch {
	case contentType == "":
		kind = "application/x-www-form-urlencoded"
	case err != nil, strings.HasSuffix(kind, "json"):
		return "", snitchStyle.unreadable
	case kind != "application/x-www-form-urlencoded" && kind != "multipart/form-data":
		return "", nil
	}
	const size = 4 * maxForm // with the copies of the form
	release, ok := s.outputs.reserve(r, size)
	defer release()
	if !ok {
		s.batcher.reject(address, now) // whatever the form says, the job is alive
		return "", snitchStyle.unavailable
	}
	conn := http.NewResponseController(w)
	bounded := conn.SetReadDeadline(time.Now().Add(maxBodyTime)) == nil
	body, err := io.ReadAll(io.LimitReader(r.Body, maxForm+1))
	if err != nil || len(body) > maxForm {
		return "", snitchStyle.unreadable
	}
	if bounded {
		conn.SetReadDeadline(time.Time{}) // net/http sets its own for the next request
	}
	if kind != "multipart/form-data" {
		return strings.Trim(string(body), "\r\n"), nil
	}
	parts, err := multipart.NewReader(bytes.NewReader(body), parameters["boundary"]).ReadForm(maxForm)
	if err != nil {
		return "", snitchStyle.unreadable
	}
	defer parts.RemoveAll() // all is in memory
	if parts.File["s"] != nil {
		return "", snitchStyle.unreadable
	}
	return url.Values(parts.Value).Encode(), nil
}
