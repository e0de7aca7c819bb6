package api

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/rights"
)

// operation describes a route in the OpenAPI document. Parameters of the path, headers, parameters of lists, statuses
// and errors are derived from the method, the path and the scope. The body is described by the request in a YAML file
// that has the operation's id.
type operation struct {
	id      string
	summary string
	text    string      // description; Markdown
	query   []parameter // without the parameters that every list has
	returns result      // zero: a DELETE, which returns nothing

	// contract: the route belongs to the contract (see docs/api.md), so it must accept unknown fields. The fifth route
	// of the contract is the heartbeat, which reads no body.
	contract bool
	// tagged: the resource has an entity tag.
	tagged bool
	// rehearsal: it tests something and changes nothing.
	rehearsal bool
}

// result is the response to a successful request.
type result struct {
	shape  shape
	schema string // of the data, or of each item
	text   string // of the response
	detail string // text of the second response of an upsert; for a part, the name of the whole
	cursor string // pattern of the cursors of a part
}

// shape is the form of the data in a response.
type shape int

const (
	shapeNothing shape = iota
	shapeOne           // a resource
	shapeCreated       // a resource with the status 201
	shapeUpsert        // a resource with the status 200, or 201 if it is new
	shapeAll           // a list of everything
	shapeList          // one page of a list
	shapePart          // a part of a list with a cursor
)

func nothing(text string) result     { return result{shape: shapeNothing, text: text} }
func one(schema, text string) result { return result{shape: shapeOne, schema: schema, text: text} }
func created(schema, text string) result {
	return result{shape: shapeCreated, schema: schema, text: text}
}
func all(schema, text string) result { return result{shape: shapeAll, schema: schema, text: text} }
func list(schema string) result      { return listWith(schema, "One page of the list.") }
func listWith(schema, text string) result {
	return result{shape: shapeList, schema: schema, text: text}
}

// upserted is the result of a PUT that replaces a resource or creates it.
func upserted(schema, replaced, created string) result {
	return result{shape: shapeUpsert, schema: schema, text: replaced, detail: created}
}

// part is a part of a list or a log. A cursor leads to the next one.
func part(schema, whole, cursor string) result {
	return result{
		shape: shapePart, schema: schema, text: "One part of the " + whole + ".", detail: whole, cursor: cursor,
	}
}

// object is a JSON object of the document.
type object = map[string]any

// describe returns the operation of a route in the document. body is its request body, or nil.
func (rt *route) describe(tag string, body object) object {
	op := object{
		"operationId": rt.id,
		"tags":        []any{tag},
		"summary":     rt.summary,
		"description": rt.text,
		"responses":   rt.responses(),
	}
	if rt.needs == rights.Anyone {
		op["security"] = []any{}
	} else {
		op["description"] = strings.TrimPrefix(rt.text+"\n\nScope of the token: `"+string(rt.needs.Scope)+"`.", "\n\n")
	}
	if parameters := rt.parameters(); len(parameters) > 0 {
		op["parameters"] = parameters
	}
	switch {
	case rt.maxBodySize() == statuspage.MaxImageSize:
		op["requestBody"] = object{"required": true, "content": imageContent(rt.imageKind())}
	case body != nil:
		op["requestBody"] = object{"required": true, "content": object{"application/json": body}}
	}
	return op
}

// imageContent returns the media types of an image of a page.
func imageContent(kind statuspage.ImageKind) object {
	content := make(object)
	for _, mediaType := range statuspage.ImageTypes {
		if mediaType != "image/x-icon" || kind == statuspage.ImageIcon {
			content[mediaType] = object{}
		}
	}
	return content
}

// responses returns the responses of a route by status.
func (rt *route) responses() object {
	if rt.needs == rights.Anyone {
		return documentResponses()
	}
	responses := rt.successes()
	for status, name := range rt.errors() {
		responses[status] = refTo("responses", name)
	}
	return responses
}

// errors returns the names of a route's errors among errorComponents by status.
func (rt *route) errors() map[string]string {
	errors := map[string]string{
		"401": "Unauthenticated", "403": "Forbidden", "429": "TooMany", "500": "Fault", "503": "Busy",
	}
	if strings.Contains(rt.path, "{") {
		errors["404"] = "NotFound"
	}
	if rt.method == http.MethodPost {
		errors["409"] = "InProgress"
	}
	if rt.method != http.MethodGet {
		errors["412"] = "PreconditionFailed"
	}
	if rt.maxBodySize() > 0 {
		errors["413"] = "TooLarge"
	}
	if rt.method != http.MethodGet || rt.hasQuery() {
		errors["422"] = "Invalid"
	}
	return errors
}

// hasQuery reports whether the route has parameters in its query.
func (rt *route) hasQuery() bool {
	return len(rt.query) > 0 || rt.returns.shape == shapeList || rt.returns.shape == shapePart
}

// successes returns the responses of a route to successful requests by status.
func (rt *route) successes() object {
	r := rt.returns
	response := object{"description": r.text, "headers": rt.headers()}
	if r.shape != shapeNothing {
		response["content"] = jsonContent(r.body())
	}
	switch r.shape {
	case shapeNothing:
		if r.text == "" {
			response["description"] = "It is deleted."
		}
		return object{"204": response}
	case shapeCreated:
		return object{"201": response}
	case shapeUpsert:
		created := maps.Clone(response)
		created["description"] = r.detail
		return object{"200": response, "201": created}
	}
	return object{"200": response}
}

// headers returns the headers of a route's successes.
func (rt *route) headers() object {
	headers := rateLimitHeaders()
	if rt.method == http.MethodPost && !rt.ignoresIdempotencyKey() {
		headers["Idempotency-Replayed"] = refTo("headers", "Replayed")
	}
	if rt.hasEntityTag() && rt.method != http.MethodPost && rt.method != http.MethodDelete {
		headers["ETag"] = refTo("headers", "EntityTag")
	}
	if rt.contract {
		headers[ignoredHeader] = refTo("headers", "Ignored")
	}
	return headers
}

// body returns the schema of the body of a result.
func (r result) body() object {
	data := refTo("schemas", r.schema)
	switch r.shape {
	case shapeAll:
		return envelope(object{"data": arrayOf(data, statuspage.MaxAffectedComponents)})
	case shapeList:
		return envelope(object{"data": arrayOf(data, maxPerPage), "meta": refTo("schemas", "Meta")})
	case shapePart:
		next := object{"type": []any{"string", "null"}, "description": "Null at the end of the " + r.detail + "."}
		return envelope(object{"data": arrayOf(data, maxPerPage), "meta": envelope(object{"next_cursor": next})})
	}
	return envelope(object{"data": data})
}

// envelope returns the schema of an object with the properties, all required.
func envelope(properties object) object {
	return object{
		"type":     "object",
		"required": slices.Sorted(maps.Keys(properties)), "properties": properties,
	}
}

func arrayOf(items object, max int) object {
	return object{"type": "array", "maxItems": max, "items": items}
}

func jsonContent(schema object) object {
	return object{"application/json": object{"schema": schema}}
}

func refTo(section, name string) object {
	return object{"$ref": "#/components/" + section + "/" + name}
}
