package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
)

// hasEntityTag reports whether the resource of the route has an entity tag: an object of resourceActions, a page, a
// component, a monitor, an update or the post-mortem of an incident, a subscriber, a channel, an alert rule, a silence,
// or an on-call schedule.
func (rt *route) hasEntityTag() bool {
	return rt.tagged ||
		slices.ContainsFunc([]string{
			"/{updateId}", "/postmortem", "/{pageSlug}", "/{componentId}", "/{monitorId}", "/{subscriberId}",
			"/{channelId}", "/{ruleId}", "/{silenceId}", "/{onCallId}",
		},
			func(end string) bool { return strings.HasSuffix(rt.path, end) })
}

// readPrecondition reads the headers If-Match and If-None-Match of a request that writes. Weak entity tags match
// nothing (RFC 9110, section 13.1.1). If the resource has no entity tag, a request with a condition fails, because it
// cannot be checked.
func readPrecondition(rt *route, h http.Header) (p kernel.Precondition, err error) {
	if rt.method == http.MethodGet {
		return p, nil
	}
	match, none := h.Values("If-Match"), strings.Join(h.Values("If-None-Match"), ",")
	if !rt.hasEntityTag() {
		if len(match) > 0 || none == "*" {
			err = kernel.ErrPreconditionFailed
		}
		return p, err
	}
	switch list := strings.Join(match, ","); {
	case len(match) == 0:
	case list == "*":
		p.Exists = true
	default:
		for tag := range strings.SplitSeq(list, ",") {
			p.Tags = append(p.Tags, strings.TrimSpace(tag))
		}
	}
	switch none {
	case "":
	case "*":
		p.New = true
	default:
		var bad kernel.ValidationError
		bad.Add("If-None-Match", "header must be *")
		err = bad.Err()
	}
	return p, err
}

// taggedResponse is resourceResponse with the resource's entity tag.
func taggedResponse[T kernel.Auditable, J any](c *call, v T, err error, toJSON func(T) J) (store.Response, error) {
	if err == nil {
		c.etag = kernel.EntityTag(v)
	}
	return resourceResponse(v, err, toJSON)
}
