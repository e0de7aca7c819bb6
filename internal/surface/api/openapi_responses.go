package api

import "github.com/allswell/allswell/internal/surface/web"

// headerComponents are the headers to which responses refer.
func headerComponents() object {
	return object{
		"Limit": object{
			"description": "Maximum number of requests in any minute. Absent if there is no limit.",
			"schema":      object{"type": "integer", "minimum": 1},
		},
		"Remaining": object{
			"description": "Number of remaining requests.",
			"schema":      object{"type": "integer", "minimum": 0},
		},
		"EntityTag": object{
			"description": "Entity tag of the resource, in responses to GET, PUT and PATCH. It changes with every " +
				"configured field, and not with the status.",
			"schema": anyText.object(),
		},
		"Ignored": object{
			"description": "Fields of the body that this operation does not know, as a list of strings (RFC 9651): " +
				"`\"impct\", \"components.0.sttus\"`. The names in a path are separated by dots. A dot in a name, " +
				"and what a URL does not have in a path, is percent-encoded, and a long name is cut. There are at " +
				"most 20. If there were more, the last one has the parameter `more` with the number of the others: " +
				"`\"impct\";more=3`.",
			"schema": object{"type": "string", "maxLength": 1020},
		},
		"Replayed": object{
			"description": "This is the saved response of an earlier request with the same key.",
			"schema":      oneOf{"true"}.object(),
		},
		"RetryAfter": object{
			"description": "Seconds to wait before a retry.",
			"required":    true,
			"schema":      object{"type": "integer", "minimum": 1},
		},
	}
}

// rateLimitHeaders returns the headers of every response to a request with a token, and of pings.
func rateLimitHeaders() object {
	return object{
		"X-RateLimit-Limit": refTo("headers", "Limit"), "X-RateLimit-Remaining": refTo("headers", "Remaining"),
	}
}

// rateLimitedHeaders returns the headers of a response to a request beyond the rate limit.
func rateLimitedHeaders() object {
	return object{
		"X-RateLimit-Limit":     object{"required": true, "schema": object{"type": "integer", "minimum": 1}},
		"X-RateLimit-Remaining": object{"required": true, "schema": object{"type": "integer", "const": 0}},
		"X-RateLimit-Reset": object{
			"description": "When the next request is accepted, in Unix seconds.",
			"required":    true,
			"schema":      object{"type": "integer"},
		},
		"Retry-After": refTo("headers", "RetryAfter"),
	}
}

// errorComponents are the errors to which operations refer. Errors of pings have no code, and errors of HEAD no body.
func errorComponents() object {
	unauthenticated := failure("The token is missing, unknown, revoked or expired.", "Unauthenticated.")
	unauthenticated["headers"].(object)["WWW-Authenticate"] = object{
		"required": true, "schema": object{"type": "string", "const": "Bearer"},
	}

	tooMany := coded("The rate limit is exceeded.", web.CodeRateLimited, "Too many requests.")
	pingTooMany := failure("The rate limit is exceeded. The body has no code.", "Too many requests.")
	tooManyHead := object{"description": "The rate limit is exceeded."}
	for _, response := range []object{tooMany, pingTooMany, tooManyHead} {
		response["headers"] = rateLimitedHeaders()
	}

	const busyMessage = "The service cannot do this right now. Please try again."
	busy := coded("Code `busy`: it cannot be done right now, and nothing was changed. Code `unknown_outcome`: the "+
		"database did not confirm the change, which may or may not have been saved; a POST with the same "+
		"Idempotency-Key can be repeated.",
		web.CodeBusy, busyMessage)
	pingBusy := failure("The ping may or may not have been recorded; sending it again is safe. The body has no code.",
		busyMessage)
	busyHead := object{"description": "It cannot be done right now.", "headers": rateLimitHeaders()}
	for _, response := range []object{busy, pingBusy, busyHead} {
		response["headers"].(object)["Retry-After"] = refTo("headers", "RetryAfter")
	}

	return object{
		"Unauthenticated": unauthenticated,
		"Forbidden": coded("The token's scope is too small, or it is limited to some pages.",
			web.CodeForbidden, "This token has the scope read; this call needs write."),
		"NotFound": failure("There is no such object in the token's workspace.", "Not found."),
		"PreconditionFailed": coded("The resource is not the one that If-Match or If-None-Match expects; nothing "+
			"was changed. A write with an If-Match to what has no entity tag is answered with 412, too.",
			web.CodePrecondition, "The object is not the one that If-Match or If-None-Match expects."),
		"InProgress": coded("A request with the same Idempotency-Key is still being answered.",
			web.CodeInProgress, "A request with this Idempotency-Key is still being answered."),
		"TooLarge": coded("The body exceeds 1,048,576 bytes, or an image exceeds 262,144 bytes.",
			web.CodeTooLarge, "The request body may not be larger than 1048576 bytes."),
		"Invalid":     invalid(),
		"TooMany":     tooMany,
		"PingTooMany": pingTooMany,
		"TooManyHead": tooManyHead,
		"Fault": errorResponse("An internal error. The service's log has the cause with this id.",
			object{
				"type": "object", "required": []string{"message", "code", "id"},
				"properties": object{
					"message": message(),
					"code":    object{"type": "string", "const": web.CodeInternal},
					"id":      pattern("^err_[a-z0-9]{20}$").object(),
				},
			},
			object{
				"message": "Something went wrong on our side.", "code": web.CodeInternal,
				"id": "err_k3vq2r4bxccu5a0d3e1z",
			}),
		"Busy":     busy,
		"PingBusy": pingBusy,
		"BusyHead": busyHead,
	}
}

// invalid returns the response to an invalid request.
func invalid() object {
	const example = "The title field is required."
	return errorResponse("The request is invalid; nothing has been changed.",
		object{
			"type": "object", "required": []string{"message", "code", "errors"},
			"properties": object{
				"message": message(),
				"code":    object{"type": "string", "const": web.CodeInvalid},
				"errors": object{
					"description": "The messages of every invalid field. Fields in lists have a dotted path " +
						"(`components.0.status`). `body`, `query` and `Idempotency-Key` stand for these parts of " +
						"the request.",
					"type":                 "object",
					"minProperties":        1,
					"additionalProperties": object{"type": "array", "minItems": 1, "items": message()},
				},
				"problems": problems(),
			},
		},
		object{"message": example, "code": web.CodeInvalid, "errors": object{"title": []string{example}}})
}

// problems returns the schema of errors as data.
func problems() object {
	return object{
		"description": "With `Prefer: problems`: the same errors as data, for clients that put them into words of " +
			"their own.",
		"type": "array", "minItems": 1,
		"items": object{
			"type": "object", "required": []string{"field", "code"},
			"properties": object{
				"field": object{"type": "string"},
				"code": object{
					"description": "An English text, as a format of Go: a predicate of the field if it begins with a " +
						"lower-case letter, otherwise a sentence.",
					"type": "string",
				},
				"args": object{
					"description": "The arguments of the format: texts, whole numbers, and an object with a `field` " +
						"for the name of another field.",
					"type":  "array",
					"items": object{},
				},
			},
		},
	}
}

// message returns the schema of an error message.
func message() object { return object{"type": "string", "minLength": 1} }

// failure returns an error with a message alone.
func failure(text, message string) object {
	return errorResponse(text, refTo("schemas", "Failure"), object{"message": message})
}

// coded returns an error with a message and a code.
func coded(text string, code web.ErrorCode, message string) object {
	return errorResponse(text, refTo("schemas", "Error"), object{"message": message, "code": code})
}

func errorResponse(text string, schema, example object) object {
	return object{
		"description": text,
		"headers":     rateLimitHeaders(),
		"content":     object{"application/json": object{"schema": schema, "example": example}},
	}
}

// documentResponses returns the responses to a request for the document. It needs no token and is not limited.
func documentResponses() object {
	kind := func(name string) object { return object{"type": name} }
	return object{
		"200": object{
			"description": "OpenAPI 3.1.",
			"content": jsonContent(object{
				"type": "object", "required": []string{"openapi", "info", "paths"},
				"properties": object{"openapi": kind("string"), "info": kind("object"), "paths": kind("object")},
			}),
		},
		"405": object{
			"description": "The method is neither GET nor HEAD.", "content": jsonContent(refTo("schemas", "Error")),
		},
		"500": refTo("responses", "Fault"),
	}
}
