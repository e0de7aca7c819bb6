package api

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
)

// parameter describes a parameter of a request.
type parameter struct {
	name     string
	in       string // "": query
	text     string
	schema   schema
	example  any
	examples map[string]any // instead of example, by name
	key      string         // name among the components of the document, to which operations then refer; "": none
}

// schema is the schema of a parameter.
type schema interface{ object() object }

type (
	simple      string   // a type
	format      string   // of a string
	pattern     string   // of a string
	ref         string   // a schema of the document
	oneOf       []string // one of some strings
	values      []any    // one of the domain's values
	defaultsTo  bool     // a boolean with this default
	wholeNumber struct{ min, max, initial int }
	listOf      struct {
		of       schema
		min, max int
	}
)

const (
	anyText  = simple("string")
	yesOrNo  = simple("boolean")
	dateTime = format("date-time")
)

func (s simple) object() object     { return object{"type": string(s)} }
func (s format) object() object     { return object{"type": "string", "format": string(s)} }
func (s pattern) object() object    { return object{"type": "string", "pattern": string(s)} }
func (s ref) object() object        { return refTo("schemas", string(s)) }
func (s oneOf) object() object      { return object{"type": "string", "enum": []string(s)} }
func (s values) object() object     { return object{"type": "string", "enum": []any(s)} }
func (s defaultsTo) object() object { return object{"type": "boolean", "default": bool(s)} }

func (s wholeNumber) object() object {
	o := object{"type": "integer", "minimum": s.min, "default": s.initial}
	if s.max > 0 {
		o["maximum"] = s.max
	}
	return o
}

func (s listOf) object() object {
	o := object{"type": "array", "items": s.of.object()}
	if s.min > 0 {
		o["minItems"] = s.min
	}
	if s.max > 0 {
		o["maxItems"] = s.max
	}
	return o
}

// Parameters that several operations have.
var (
	pageNumber = parameter{key: "pageNumber", name: "page", schema: wholeNumber{1, math.MaxInt32, 1},
		text: "Page number of the list, from 1."}
	perPage = parameter{key: "perPage", name: "per_page", schema: wholeNumber{1, maxPerPage, defaultPerPage},
		text: "Number of items per page."}
	bySlug     = parameter{key: "bySlug", name: "slug", schema: anyText, text: "Only the one with this slug."}
	byName     = parameter{key: "byName", name: "name", schema: anyText, text: "Only those with exactly this name."}
	pageOfSlug = parameter{key: "pageOfSlug", name: "page_slug", schema: anyText,
		text: "The slug of the page. With it, the path may have the slug of the object instead of the id."}
	limitOfPart = parameter{name: "limit", schema: wholeNumber{1, maxPerPage, defaultPerPage}}

	bySlugOrName = []parameter{bySlug, byName}

	ifMatch = parameter{key: "ifMatch", name: "If-Match", in: "header", schema: anyText,
		text: "Entity tags, or * for any. The resource must have one of them. Otherwise the response is 412 and " +
			"nothing is changed."}
	ifNoneMatch = parameter{key: "ifNoneMatch", name: "If-None-Match", in: "header", schema: anyText,
		text: "Only *, which means that the resource must not exist."}
	idempotencyKey = parameter{key: "idempotencyKey", name: idempotencyKeyHeader, in: "header", schema: keySchema{},
		text: "Makes the request safe to repeat; see above.", example: "deploy-4711"}
)

// keySchema is the schema of an Idempotency-Key.
type keySchema struct{}

func (keySchema) object() object {
	return object{"type": "string", "minLength": 1, "maxLength": maxIdempotencyKey, "pattern": "^[ -~]+$"}
}

// sharedParameters are the components of the document that are not in pathParameters.
var sharedParameters = []parameter{
	pageNumber, perPage, bySlug, byName, pageOfSlug, ifMatch, ifNoneMatch, idempotencyKey,
}

// pathParameter describes a parameter of a path. key is its name among the components of the document; "": none.
type pathParameter struct{ name, key, example, text string }

var pathParameters = []pathParameter{
	{"ruleId", "", "rul_068vq2r4b1ccu5a0d3e1", "The id, the slug or the name of the rule. A PUT takes no name."},
	{"alertId", "", "alt_068vq2r4b1ccu5a0d3e1", "The id of the alert."},
	{"announcementId", "announcementId", "ann_068vq2r4b1ccu5a0d3e1", "The id of the announcement."},
	{"channelId", "", "chn_068vq2r4b1ccu5a0d3e1", "The id, the slug or the name of the channel. A PUT takes no name."},
	{"componentId", "componentId", "comp_068vq2r4b1ccu5a0d3e1", "The id of the component."},
	{"deliveryId", "", "dlv_068vq2r4b1ccu5a0d3e1", "The id of the delivery."},
	{"groupId", "", "grp_068vq2r4b1ccu5a0d3e1",
		"The id of the group, or its slug: in a PUT, or together with `page_slug`."},
	{"templateId", "", "tpl_068vq2r4b1ccu5a0d3e1",
		"The id, the slug or the name of the template. A PUT takes no name."},
	{"incidentId", "incidentId", "019aa45c-2f3e-7b1c-9d5a-6c1f0e2d4b8a", "The id of the incident."},
	{"updateId", "", "upd_068vq2r4b1ccu5a0d3e1", "The id of the update."},
	{"invitationId", "", "inv_068vq2r4b1ccu5a0d3e1", "The id of the invitation."},
	{"maintenanceId", "maintenanceId", "mnt_068vq2r4b1ccu5a0d3e1", "The id of the maintenance."},
	{"memberId", "", "usr_068vq2r4b1ccu5a0d3e1", "The id of the member."},
	{"monitorId", "monitorId", "mon_068vq2r4b1ccu5a0d3e1", "The id or the slug of the monitor."},
	{"pingId", "", "sig_068vq2r4b1ccu5a0d3e1", "The id of a signal of the monitor."},
	{"onCallId", "", "onc_068vq2r4b1ccu5a0d3e1", "The id, the slug or the name of the schedule. A PUT takes no name."},
	{"pageSlug", "pageSlug", "acme", "The slug of a status page."},
	{"componentId", "componentIdOrSlug", "comp_068vq2r4b1ccu5a0d3e1", "The id or the slug of the component."},
	{"subscriberId", "subscriberId", "sub_068vq2r4b1ccu5a0d3e1", "The id of the subscriber."},
	{"sessionId", "", "ses_068vq2r4b1ccu5a0d3e1", "The id of the session."},
	{"silenceId", "", "sil_068vq2r4b1ccu5a0d3e1", "The id of the silence."},
	{"tokenId", "", "tok_068vq2r4b1ccu5a0d3e1", "The id of the token."},
}

func (p pathParameter) parameter() parameter {
	return parameter{key: p.key, name: p.name, in: "path", schema: anyText, text: p.text, example: p.example}
}

// parametersOf returns the parameters of a path. Paths that name the page of a component also accept the component's
// slug.
func parametersOf(path string) (found []any, err error) {
	for segment := range strings.SplitSeq(path, "/") {
		name, ok := strings.CutPrefix(segment, "{")
		if !ok {
			continue
		}
		name = strings.TrimSuffix(name, "}")
		key := ""
		if name == "componentId" && strings.Contains(path, "{pageSlug}") {
			key = "componentIdOrSlug"
		}
		i := slices.IndexFunc(pathParameters, func(p pathParameter) bool {
			return p.name == name && (key == "" || p.key == key)
		})
		if i < 0 {
			return nil, fmt.Errorf("%s: the parameter %s is not described", path, name)
		}
		found = append(found, pathParameters[i].parameter().reference())
	}
	return found, nil
}

// parameters returns the parameters of the route's operation. The path has its own.
func (rt *route) parameters() []any {
	var all []parameter
	switch {
	case rt.method == http.MethodPost && !rt.ignoresIdempotencyKey():
		all = append(all, idempotencyKey)
	case rt.hasEntityTag() && rt.method != http.MethodGet && rt.method != http.MethodPost:
		all = append(all, ifMatch)
		if rt.method == http.MethodPut {
			all = append(all, ifNoneMatch)
		}
	}
	if rt.returns.shape == shapeList {
		all = append(all, pageNumber, perPage)
	}
	all = append(all, rt.query...)
	if rt.returns.shape == shapePart {
		all = append(all, limitOfPart, parameter{
			name: "cursor", schema: pattern(rt.returns.cursor),
			text: "The `next_cursor` of the previous response. Anything else is 422.",
		})
	}
	references := make([]any, len(all))
	for i, p := range all {
		references[i] = p.reference()
	}
	return references
}

// reference returns the parameter for an operation: a reference if it is a component of the document, or else its
// description.
func (p parameter) reference() object {
	if p.key != "" {
		return refTo("parameters", p.key)
	}
	return p.object()
}

// object returns the description of a parameter.
func (p parameter) object() object {
	o := object{"name": p.name, "in": "query", "schema": p.schema.object()}
	if p.in != "" {
		o["in"] = p.in
	}
	if p.in == "path" {
		o["required"] = true
	}
	if _, ok := p.schema.(listOf); ok {
		o["style"], o["explode"] = "form", false
	}
	if p.text != "" {
		o["description"] = p.text
	}
	if p.example != nil {
		o["example"] = p.example
	}
	if p.examples != nil {
		examples := make(object)
		for name, value := range p.examples {
			examples[name] = object{"value": value}
		}
		o["examples"] = examples
	}
	return o
}

// parameterComponents returns the parameters to which operations refer.
func parameterComponents() object {
	components := make(object)
	for _, p := range sharedParameters {
		components[p.key] = p.object()
	}
	for _, p := range pathParameters {
		if p.key != "" {
			components[p.key] = p.parameter().object()
		}
	}
	return components
}
