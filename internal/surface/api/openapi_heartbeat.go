package api

import "maps"

// heartbeatPaths describes the paths that package ping serves, each for GET, HEAD and POST. Unlike errors of the API,
// errors of these paths have no codes.
func heartbeatPaths() object {
	const (
		bySlugSummary = "Report the start, the end or the output of a run by a ping key and a slug."
		signalSummary = "Report the start, the end or the output of a run; or ping by a ping key and a slug."
		token         = "4fR0sJk2vXw9QbT7yLm3NcZ8aHd5GpE1"
		key           = "Zq3vXw9QbT7yLm3NcZ8aHd"
		slug          = "nightly-backup"
	)
	ping := heartbeatPath(operation{
		id: "ping", summary: "Ping a monitor.",
		text: "Headers and body are ignored. The response is 200 only when the ping is durable. GET and HEAD do the " +
			"same. At most 60 pings per client address are accepted in any minute.",
		query: []parameter{
			{
				name: "token", in: "path", schema: anyText, example: token,
				text: "The ping token of a monitor, which is the credential.",
			},
		},
	}, pingResponses())
	signal := heartbeatPath(signalOperation("signal", signalSummary,
		parameter{name: "token", in: "path", schema: anyText, examples: map[string]any{"token": token, "key": key},
			text: "The ping token of a monitor, or the ping key of a page, which is the credential."},
		parameter{
			name: "signal", in: "path", schema: ref("Slug"), examples: map[string]any{"signal": "start", "slug": slug},
			text: "After a token, what the job reports: `start` of a run, `success` or `fail` at its end, `log` for " +
				"the " +
				"history only, or the exit code of the run, of which 0 is a success. After a key, the slug of a " +
				"monitor.",
		},
	), signalResponses())
	signal["description"] = "With the ping key of a page in place of the token, the second segment is the slug of " +
		"a monitor of the page, whatever it is: `/api/v1/heartbeat/{key}/{slug}` is a ping, and " +
		"`/api/v1/heartbeat/{key}/{slug}/{signal}` a signal. Ping keys have 22 characters; ping tokens do not. Only " +
		"such requests can have `create` and what follows it."
	bySlug := heartbeatPath(signalOperation("signalBySlug", bySlugSummary,
		parameter{name: "key", in: "path", schema: pattern("^[0-9A-Za-z_-]{22}$"), example: key,
			text: "The ping key of a page, which is the credential."},
		parameter{
			name: "slug", in: "path", schema: ref("Slug"), example: slug, text: "The slug of a monitor of the page.",
		},
		parameter{name: "signal", in: "path", example: "start", text: "What the job reports, as after a ping token.",
			schema: pattern("^(start|success|fail|log|[0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])$")},
	), signalResponses())
	return object{
		"/api/v1/heartbeat/{token}":               ping,
		"/api/v1/heartbeat/{token}/{signal}":      signal,
		"/api/v1/heartbeat/{key}/{slug}/{signal}": bySlug,
	}
}

// heartbeatPath returns a path with an operation for GET, HEAD and POST. The path has the parameters, which all three
// share.
func heartbeatPath(o operation, responses object) object {
	describe := func(id string, responses object) object {
		described := object{
			"operationId": id, "tags": []any{"Heartbeat"}, "summary": o.summary, "description": o.text,
			"security": []any{}, "responses": responses,
		}
		if o.id != "ping" {
			described["requestBody"] = object{"content": object{"*/*": object{}}}
		}
		return described
	}
	head := make(object)
	for status, response := range responses {
		withoutBody := maps.Clone(response.(object))
		delete(withoutBody, "content")
		head[status] = withoutBody
	}
	head["429"], head["503"] = refTo("responses", "TooManyHead"), refTo("responses", "BusyHead")
	responses["429"], responses["503"] = refTo("responses", "PingTooMany"), refTo("responses", "PingBusy")
	var parameters []any
	for _, p := range o.query {
		parameters = append(parameters, p.object())
	}
	return object{
		"parameters": parameters,
		"get":        describe(o.id+"ByGet", responses),
		"head":       describe(o.id+"ByHead", head),
		"post":       describe(o.id, responses),
	}
}

// signalOperation returns the operation of a signal, and of a ping by a key.
func signalOperation(id, summary string, path ...parameter) operation {
	query := []parameter{
		{
			name: "rid", schema: format("uuid"),
			text: "The id of the run, which pairs its end with its start when runs overlap.",
		},
		{name: "create", schema: oneOf{"1"}, example: "1",
			text: "`1` creates the monitor with the slug if there is none. Its name is the slug, and it expects a " +
				"ping a day with a grace of an hour, unless `interval`, `cron` or `calendar` says otherwise. Once " +
				"it exists, all of these are ignored."},
		{name: "interval", schema: anyText, example: "25h",
			text: "The interval of the monitor to create, in seconds or as a duration."},
		{name: "cron", schema: anyText, example: "30 2 * * *",
			text: "The cron expression of the monitor to create, or several, one per line."},
		{name: "calendar", schema: anyText, example: "Mon..Fri 06:30",
			text: "The calendar of the monitor to create, an expression of systemd's `OnCalendar`, or several, one " +
				"per line."},
		{
			name: "tz", schema: anyText, example: "Europe/Berlin",
			text: "The time zone of `cron` or `calendar`. By default UTC.",
		},
		{name: "kubernetes", schema: oneOf{"0", "1"},
			text: "`1`: the `cron` expression of the monitor to create is read as Kubernetes reads the schedule of " +
				"a CronJob."},
		{
			name: "grace", schema: anyText, example: "5m",
			text: "The grace of the monitor to create, in seconds or as a duration.",
		},
	}
	return operation{
		id: id, summary: summary, query: append(path, query...),
		text: "The body is the output of the job. The last 100,000 bytes of its first 10 MiB are kept, if they " +
			"arrive " +
			"within 5 seconds. The response is 200 or 201 only when the signal is durable. GET and HEAD do the same. " +
			"Signals count towards the rate limit of pings. A ping by a key and a slug ignores its body.",
	}
}

// pingResponses returns the responses to pings by a token, without the errors that all paths share.
func pingResponses() object {
	return object{
		"200": pingRecorded("The ping is recorded."),
		"404": failure("No such token, or the monitor is disabled.", "Not found."),
	}
}

// signalResponses returns the responses to signals, and to pings by a key, without the errors that all paths share.
func signalResponses() object {
	list := object{"type": "array", "items": anyText.object()}
	unreadable := errorResponse("The query cannot be read, the rid is not a UUID, or the configuration of the "+
		"monitor to "+
		"create is invalid. Nothing was recorded.",
		object{
			"type": "object", "required": []string{"message"},
			"properties": object{
				"message": message(), "errors": object{"type": "object", "additionalProperties": list},
			},
		},
		object{"message": "The given data was invalid.", "errors": object{"rid": []string{"The rid must be a UUID."}}})
	return object{
		"200": pingRecorded("The ping or signal is recorded."),
		"201": pingRecorded("The monitor is created, and the ping or signal is recorded."),
		"403": failure("The monitor cannot be created, because the key is `ping_only` or the page has 10,000 monitors.",
			"There is no such monitor, and the ping key may not create one."),
		"404": failure("No such token, key, slug or signal, or the monitor is disabled.", "Not found."),
		"409": failure("The monitor cannot be created, because one that is not on the page has the slug.",
			"Another monitor of the workspace, which is not on this page, has the slug."),
		"422": unreadable,
	}
}

func pingRecorded(text string) object {
	schema := envelope(object{"ok": object{"type": "boolean", "const": true}})
	return errorResponse(text, schema, object{"ok": true})
}
