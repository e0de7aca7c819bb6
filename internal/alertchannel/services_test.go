package alertchannel

import (
	"github.com/allswell/allswell/internal/domain/kernel"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Shapes that several services have.
var (
	links = `https://status\.example\.com/.*`

	slackTextOf = func(limit int) shape { return object(fields{"type": is("plain_text"), "text": text(limit)}) }
	slackBlocks = list(50, anyOf(
		object(fields{"type": is("header"), "text": slackTextOf(150)}),
		object(fields{"type": is("section"), "text": slackTextOf(3000)}),
		object(fields{
			"type":     is("actions"),
			"elements": list(25, object(fields{"type": is("button"), "text": slackTextOf(75), "url": like(links)})),
		}),
	))
	slackHeadline = `@everyone &lt;!channel&gt; &lt;@U1&gt; [x](http://evil) *b*`

	discordEmbedShape = object(fields{
		"title": text(256), "?description": text(4096), "?url": like(links), "color": whole(0, 0xffffff),
		"timestamp": like(`2026-11-24T.*Z`),
	})

	adaptiveText = list(1, object(fields{
		"type": is("TextRun"), "text": text(5000), "?weight": is("bolder"), "?size": is("medium"),
		"?color": is("default", "good", "accent", "attention", "warning"),
	}))
)

// webhookSecret signs the messages of a webhook.
const webhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// services are the documented sides of all types that speak HTTP. A suffix of the name of a type distinguishes its
// variants.
var services = map[string]service{
	"webhook": {
		config: `{"url":"SERVER/hook","secret":"` + webhookSecret + `"}`, path: "/hook", status: 204,
		header:   signedWebhook,
		headline: `"headline":"@everyone \u003c!channel\u003e \u003c@U1\u003e [x](http://evil) *b*`,
		shape: object(fields{
			"id": like("msg_[a-z0-9]{20}"), "type": is("alert"), "thread_id": anyOf(is(nil), like("thr_[a-z0-9]{20}")),
			"phase":    is("trigger", "acknowledge", "resolve"),
			"severity": is("none", "minor", "major", "critical"), "headline": text(1000), "text": text(8000),
			"at": like("20.*Z"), "total": whole(1, 1000),
			"alerts": list(20, object(fields{
				"id": like("alt_[a-z0-9]{20}"), "event": like(`[a-z]+\.[a-z_]+`),
				"kinds": list(5, is("opened", "repeated", "escalated", "acknowledged", "resolved")),
				"state": is("open", "acknowledged", "resolved"), "title": text(1000),
				"name": text(2 * kernel.MaxNameLength), "monitor_id": anyOf(is(nil), text(50)),
				"page":     anyOf(is(nil), text(50)),
				"severity": is("none", "minor", "major", "critical"), "tags": empty, "reason": like(".*"),
				"opened_at": like("20.*Z"), "resolved_at": anyOf(is(nil), like("20.*Z")),
			})),
		}),
	},
	"oncall_webhook of incident.io": {
		config: `{"url":"SERVER/v2/alert_events/http/01ABC?token=secret","format":"incident_io"}`,
		path:   `/v2/alert_events/http/01ABC\?token=secret`, status: 202, answer: `{"status":"success"}`,
		headline: `"title":"@everyone <!channel> <@U1> [x](http://evil) *b*`,
		shape: object(fields{
			"deduplication_key": like("(thr|msg)_[a-z0-9]{20}"), "title": text(250), "description": text(4000),
			"status": is("firing", "resolved"), "?source_url": like(links),
		}),
	},
	"home_assistant by a webhook": {
		config: `{"server_url":"SERVER","webhook_id":"hook-secret"}`, path: "/api/webhook/hook-secret",
		headline: `"title":"@everyone <!channel> <@U1> [x](http://evil) *b*`,
		shape: object(fields{
			"id": like("msg_[a-z0-9]{20}"), "thread_id": like("(thr|msg)_[a-z0-9]{20}"),
			"phase": is("trigger", "acknowledge", "resolve"), "severity": is("none", "minor", "major", "critical"),
			"title": text(250), "message": text(2000), "test": is(true, false),
		}),
	},
	"slack": {
		config: `{"url":"SERVER/services/T0/B0/XXXX"}`, path: "/services/T0/B0/XXXX", answer: "ok", plain: true,
		headline: slackHeadline,
		shape:    object(fields{"text": text(3200), "?blocks": slackBlocks, "mrkdwn": is(false)}),
	},
	"slack_bot": {
		config: `{"channel":"C0123","bot_token":"xoxb-1-secret","server_url":"SERVER/api"}`,
		path:   `/api/chat\.(postMessage|update)`, auth: "Bearer xoxb-1-secret",
		answer: `{"ok":true,"channel":"C0123","ts":"1503435956.000247"}`, ref: "C0123 1503435956.000247", plain: true,
		strict: true, headline: slackHeadline,
		shape: anyOf(
			object(fields{
				"channel": is("C0123"), "text": text(3200), "?blocks": slackBlocks, "mrkdwn": is(false),
				"?thread_ts": is("1503435956.000247"), "unfurl_links": is(false), "unfurl_media": is(false),
			}),
			object(fields{
				"channel": is("C0123"), "text": text(3200), "blocks": slackBlocks, "ts": is("1503435956.000247"),
			}),
		),
	},
	"teams": {
		config: `{"url":"SERVER/workflows/1?sig=secret"}`, path: `/workflows/1\?sig=secret`, status: 202, plain: true,
		headline: `"text":"` + `@everyone <!channel> <@U1> [x](http://evil) *b*`,
		shape: object(fields{"type": is("message"), "attachments": list(1, object(fields{
			"contentType": is("application/vnd.microsoft.card.adaptive"), "contentUrl": is(nil),
			"content": object(fields{
				"$schema": is("http://adaptivecards.io/schemas/adaptive-card.json"), "type": is("AdaptiveCard"),
				"version": is("1.4"), "msteams": object(fields{"width": is("Full")}),
				"body": list(2, object(fields{"type": is("RichTextBlock"), "inlines": adaptiveText})),
				"?actions": list(6, object(fields{
					"type": is("Action.OpenUrl"), "title": text(50), "url": like(links),
				})),
			}),
		}))}),
	},
	"discord": {
		config: `{"url":"SERVER/api/webhooks/1/secret?thread_id=9"}`,
		path:   `/api/webhooks/1/secret(/messages/77\?thread_id=9|\?thread_id=9&wait=true)`,
		answer: `{"id":"77"}`, ref: "77", plain: true, strict: true,
		headline: `\\@everyone \\<!channel\\> \\<\\@U1\\> \\[x\\]\\(http\\://evil\\) \\*b\\*`,
		shape: anyOf(
			object(fields{"embeds": list(10, discordEmbedShape), "allowed_mentions": object(fields{"parse": empty})}),
			object(fields{"content": text(2000), "allowed_mentions": object(fields{"parse": empty})}),
		),
	},
	"telegram": {
		config: `{"chat_id":"-100","bot_token":"1:secret","topic_id":5,"server_url":"SERVER"}`,
		path:   "/bot1:secret/(sendMessage|editMessageText)",
		answer: `{"ok":true,"result":{"message_id":12}}`, ref: "12", plain: true, strict: true,
		headline: "@" + zeroWidth + "everyone &lt;!channel&gt; &lt;@" + zeroWidth + "U1&gt; [x](http://evil) *b*",
		shape: anyOf(object(fields{
			"chat_id": is("-100"), "text": text(4096), "?parse_mode": is("HTML"), "message_thread_id": is(5.0),
			"link_preview_options": object(fields{"is_disabled": is(true)}),
			"?reply_parameters":    object(fields{"message_id": is(12.0), "allow_sending_without_reply": is(true)}),
			"?reply_markup": object(fields{
				"inline_keyboard": list(1, list(8, object(fields{"text": text(50), "url": like(links)}))),
			}),
		}), object(fields{
			"chat_id": is("-100"), "message_id": is(12.0), "text": text(4096), "parse_mode": is("HTML"),
			"link_preview_options": object(fields{"is_disabled": is(true)}),
			"?reply_markup": object(fields{
				"inline_keyboard": list(1, list(8, object(fields{"text": text(50), "url": like(links)}))),
			}),
		})),
	},
	"ntfy": {
		config: `{"server_url":"SERVER/","topic":"acme-ops","access_token":"tk_secret"}`, path: "/?",
		auth: "Bearer tk_secret", answer: `{"id":"x"}`, plain: true,
		headline: `"title":"@everyone <!channel> <@U1> [x](http://evil) *b*`,
		shape: object(fields{
			"topic": is("acme-ops"), "message": text(1365), "?title": text(250), "?priority": whole(1, 5),
			"?tags":    list(5, text(50)),
			"?actions": list(3, object(fields{"action": is("view"), "label": text(50), "url": like(links)})),
		}),
	},
	"pagerduty": {
		config: `{"routing_key":"0123456789abcdef0123456789abcdef","server_url":"SERVER"}`, path: "/v2/enqueue",
		status: 202, answer: `{"status":"success"}`, plain: true,
		headline: `"summary":"@everyone <!channel> <@U1> [x](http://evil) *b*`,
		shape: anyOf(
			object(fields{
				"routing_key": like("[0-9a-f]{32}"), "event_action": is("acknowledge", "resolve"),
				"dedup_key": like("(thr|msg)_[a-z0-9]{20}"),
			}),
			object(fields{
				"routing_key": like("[0-9a-f]{32}"), "event_action": is("trigger"),
				"dedup_key": like("(thr|msg)_[a-z0-9]{20}"), "?client": is("Allswell"), "?client_url": like(links),
				"payload": object(fields{
					"summary": text(1024), "source": text(1024), "severity": is("critical", "error", "warning", "info"),
					"?timestamp": like("20.*Z"), "?class": text(100), "?group": text(100),
					"?custom_details": object(fields{"details": text(8000)}),
				}),
			}),
		),
	},
	"opsgenie": {
		config: `{"api_key":"secret-key","server_url":"SERVER"}`,
		path:   `/v2/alerts(/(thr|msg)_[a-z0-9]{20}/(acknowledge|close)\?identifierType=alias)?`,
		auth:   "GenieKey secret-key", status: 202, answer: `{"result":"Request will be processed"}`, plain: true,
		headline: `"message":"@everyone <!channel> <@U1> [x](http://evil) *b*`,
		shape: anyOf(
			object(fields{
				"message": text(130), "alias": like("(thr|msg)_[a-z0-9]{20}"), "?description": text(15000),
				"?priority": like("P[1-5]"), "?source": text(100),
			}),
			object(fields{"?note": text(25000), "?source": text(100)}),
		),
	},
	"alertmanager": {
		config: `{"server_url":"SERVER/prefix/","username":"ops","password":"secret"}`, path: "/prefix/api/v2/alerts",
		auth:     "Basic b3BzOnNlY3JldA==",
		headline: `"name":"@everyone <!channel> <@U1> [x](http://evil) *b*`,
		shape: list(200, object(fields{
			"labels": object(fields{
				"alertname": text(50), "alert_id": text(50), "name": text(500), "severity": text(20),
				"?page": text(100), "?monitor": text(100),
			}), "startsAt": like("20.*Z"), "endsAt": like("20.*Z"), "?generatorURL": like(links),
			"annotations": object(fields{
				"summary": text(1000), "?description": text(10000), "?acknowledged_by": text(200),
			}),
		})),
	},
	"google_chat": {
		config: `{"url":"SERVER/v1/spaces/A/messages?key=k&token=secret"}`, plain: true,
		answer:   `{"name":"spaces/A/messages/B"}`,
		path:     `/v1/spaces/A/messages\?key=k(&messageReplyOption=REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD)?&token=secret`,
		headline: "@everyone &lt;!channel&gt; &lt;@U1&gt; [x](http://evil) *b*",
		shape: object(fields{
			"?text": text(4000), "?fallbackText": text(500),
			"?thread": object(fields{"threadKey": is("thr_06eaih8a01khtdim35as")}),
			"?cardsV2": list(1, object(fields{
				"cardId": text(100), "card": object(fields{"sections": list(1, object(fields{"widgets": list(3, anyOf(
					object(fields{"textParagraph": object(fields{"text": text(5000)})}),
					object(fields{
						"buttonList": object(fields{
							"buttons": list(2, object(fields{
								"text":    text(50),
								"onClick": object(fields{"openLink": object(fields{"url": like(links)})}),
							})),
						}),
					}),
				))}))}),
			})),
		}),
	},
	"mattermost": {
		config: `{"url":"SERVER/hooks/secret"}`, path: "/hooks/secret", answer: "ok", plain: true,
		shape: object(fields{"text": text(4000)}),
		headline: "@" + zeroWidth + `everyone \\<\\!channel\\> \\<@` + zeroWidth +
			`U1\\> \\[x\\]\\(http\\://evil\\) \\*b\\*`,
	},
	"rocket_chat": {
		config: `{"url":"SERVER/hooks/1/secret"}`, path: "/hooks/1/secret", answer: `{"success":true}`, plain: true,
		strict: true, shape: object(fields{"text": text(5000)}),
		headline: "@" + zeroWidth + "everyone <" + zeroWidth + "!channel> <" + zeroWidth + "@" + zeroWidth +
			"U1> [x]" + zeroWidth + `(http://evil) \\*b\\*`,
	},
	"matrix": {
		config: `{"server_url":"SERVER","room_id":"!a/b:example.com","access_token":"syt_secret"}`,
		auth:   "Bearer syt_secret", answer: `{"event_id":"$1"}`, ref: "$1", plain: true, strict: true,
		path:     `/_matrix/client/v3/rooms/!a/b:example.com/send/m\.room\.message/msg_[a-z0-9]{20}`,
		headline: `"formatted_body":"<strong>@everyone &lt;!channel&gt; &lt;@U1&gt; [x](http://evil) *b*`,
		shape: object(fields{
			"msgtype": is("m.text"), "body": text(8000), "?format": is("org.matrix.custom.html"),
			"?formatted_body": text(12000), "m.mentions": object(fields{}),
			"?m.relates_to": object(fields{
				"rel_type": is("m.thread"), "event_id": is("$1"), "is_falling_back": is(true),
				"m.in_reply_to": object(fields{"event_id": is("$1")}),
			}),
		}),
	},
	"zulip": {
		config: `{"server_url":"SERVER","bot_email":"a@example.com","api_key":"secret","channel":"ops",` +
			`"topic":"alerts"}`, path: "/api/v1/messages", auth: "Basic YUBleGFtcGxlLmNvbTpzZWNyZXQ=",
		form: true, answer: `{"result":"success","id":1}`, ref: "alerts", strict: true,
		headline: zulipFence + "text\n@everyone <!channel> <@U1> [x](http://evil) *b*",
		shape:    object(fields{"type": is("stream"), "to": is("ops"), "topic": text(60), "content": text(10000)}),
	},
	"gotify": {
		config: `{"server_url":"SERVER","app_token":"secret"}`, path: "/message", answer: `{"id":1}`, plain: true,
		headline: `"title":"@everyone <!channel> <@U1> [x](http://evil) *b*`,
		shape: object(fields{
			"?title": text(250), "message": text(4000), "priority": whole(0, 10), "?extras": object(fields{
				"client::display":       object(fields{"contentType": is("text/plain")}),
				"?client::notification": object(fields{"click": object(fields{"url": like(links)})}),
			}),
		}),
	},
	"pushover": {
		config: `{"app_token":"app-secret","user_key":"user-secret","emergency":true,"server_url":"SERVER"}`,
		path:   "/1/messages.json", form: true, answer: `{"status":1,"request":"x"}`, strict: true,
		headline: "title:[@everyone <!channel> <@U1> [x](http://evil) *b*",
		shape: object(fields{
			"token": is("app-secret"), "user": is("user-secret"), "message": text(1024), "?title": text(250),
			"priority": is("0", "1", "2"), "timestamp": like("[0-9]+"),
			"?retry": is("60"), "?expire": is("3600"), "?url": like(links), "?url_title": text(100),
		}),
	},
	"twilio": {
		config: `{"account_sid":"AC0123456789abcdef0123456789abcdef","auth_token":"secret","from":"+15005550006",` +
			`"to":"+49 151 123","server_url":"SERVER"}`, form: true, status: 201, answer: `{"sid":"SM1"}`,
		path:     "/2010-04-01/Accounts/AC0123456789abcdef0123456789abcdef/Messages.json",
		auth:     "Basic QUMwMTIzNDU2Nzg5YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZjpzZWNyZXQ=",
		headline: "Body:[@everyone <!channel> <@U1> [x](http://evil) *b*",
		shape:    object(fields{"To": is("+49151123"), "From": is("+15005550006"), "Body": text(480)}),
	},
	"sms": {
		config: `{"to":"+49151123","url":"SERVER/send?key={secret}","encoding":"json","body":"{\"to\":\"{to}\",` +
			`\"text\":\"{text}\"}","headers":{"Authorization":"Key header-secret"},"secret":"a&b"}`,
		path: `/send\?key=a%26b`, auth: "Key header-secret",
		headline: `"text":"@everyone \u003c!channel\u003e \u003c@U1\u003e [x](http://evil) *b*`,
		shape:    object(fields{"to": is("+49151123"), "text": text(480)}),
	},
	"oncall_webhook": {
		config:   `{"url":"SERVER/integrations/v1/formatted_webhook/secret/"}`,
		path:     "/integrations/v1/formatted_webhook/secret/",
		headline: `"title":"@everyone <!channel> <@U1> [x](http://evil) *b*`,
		shape: object(fields{
			"alert_uid": like("(thr|msg)_[a-z0-9]{20}"), "title": text(250), "message": text(4000),
			"state": is("alerting", "ok"), "?link_to_upstream_details": like(links),
		}),
	},
	"home_assistant": {
		config: `{"server_url":"SERVER","notify_action":"mobile_app_phone","access_token":"ha-secret"}`,
		path:   "/api/services/notify/mobile_app_phone", auth: "Bearer ha-secret", answer: "[]",
		headline: `"title":"@everyone <!channel> <@U1> [x](http://evil) *b*`,
		shape: object(fields{
			"title": text(250), "message": text(2000), "data": object(fields{"tag": like("(thr|msg)_[a-z0-9]{20}")}),
		}),
	},
}

// signedWebhook checks the header of a webhook with the library that its receivers use.
func signedWebhook(e exchange) error {
	verifier, err := standardwebhooks.NewWebhook(webhookSecret)
	if err != nil {
		return err
	}
	return verifier.Verify(e.body, e.header)
}
