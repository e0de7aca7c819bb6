package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// textForms returns the forms of a screen that change something and have texts. Forms with a password are left out,
// because wrong ones are limited, and forms of passkeys, which a script sends.
const textForms = `[...document.querySelectorAll('main form[method=post]')].filter(f => !f.matches("[data-passkey]") && !f.querySelector("[type=password], [type=file]") &&
	f.querySelector("textarea, input:not([type]), input[type=text], input[type=email]"))`

// formsOf returns the addresses and fields of these forms of a screen, which it reads without showing it.
const formsOf = `fetch("%s").then(async (answer) => {
	const document = new DOMParser().parseFromString(await answer.text(), "text/html");
	return ` + textForms +
	`.map(f => (f.getAttribute("action") ?? new URL(answer.url).pathname) + [...f.elements].map(e => " " + e.name));
})`

// sendTooMuch types more into every text of a form than any field takes, but less in all than a form may have, and
// sends it.
const sendTooMuch = `((f) => {
	const texts = f.querySelectorAll("textarea, input:not([type]), input[type=text], input[type=email]");
	document.querySelector("main").hidden = true; // laying out such texts takes long
	const long = "x".repeat(Math.min(26000, 500000 / texts.length)); // kernel.MaxMessageLength is 25000
	for (const e of texts) e.value = long;
	f.noValidate = true;
	f.requestSubmit(f.querySelector("button.button, button[name=action][value=add_tags]") ?? f.querySelector("button"));
})`

// misplaced names what is wrong with the answer to such a form: errors that are not beside a field, fields that are not
// marked, and texts that are lost.
const misplaced = `(() => {
	const bad = [...document.querySelectorAll("main [aria-invalid=true]")], faults = [];
	if (!bad.length && !document.querySelector("main .wrong")) return ["it is accepted: " + document.querySelector("main").innerText.slice(0, 200)];
	if (!bad.length) faults.push("no field is marked: " + document.querySelector("main .wrong").innerText);
	for (const e of bad) {
		if (!document.getElementById(e.getAttribute("aria-describedby"))?.innerText.trim()) faults.push("no message: " + e.outerHTML.slice(0, 100));
		if (!e.matches("select") && !/^x{10000,}$/.test(e.value)) faults.push("not kept: " + e.name + ": " + e.value.slice(0, 40));
	}
	if (bad.length && !bad.some(e => e.autofocus)) faults.push("the focus is elsewhere");
	return faults;
})()`

// TestRefusedForms sends every form of the dashboard with texts that are too long: the errors stand beside the fields,
// what was typed is kept, and the first field that is wrong has the focus. The short form sends the forms of every
// sixth screen: the tests of the dashboard send all of them without a browser.
func TestRefusedForms(t *testing.T) {
	t.Parallel()
	f := furnish(t)
	p := f.owner.open(t, phone, "about:blank")
	sent := make(map[string]bool) // by their addresses and fields; variants of a screen have the same forms
	p.load(t, f.base+"/admin")
	for i, s := range f.screens(t) {
		if !full && i%6 > 0 {
			continue
		}
		for n, form := range await[[]string](p, fmt.Sprintf(formsOf, s.url)) {
			if sent[form] {
				continue
			}
			sent[form] = true
			p.load(t, s.url)
			action, _, _ := strings.Cut(form, " ")
			eval[any](p, fmt.Sprintf("%s(%s[%d])", sendTooMuch, textForms, n))
			select {
			case <-p.loaded:
			case <-time.After(browserTimeout):
				t.Fatalf("%s, sent to %s: no answer", s.name, action)
			}
			for _, fault := range eval[[]string](p, misplaced) {
				t.Errorf("%s, sent to %s: %s", s.name, action, fault)
			}
			if wide := eval[int](p, `document.documentElement.scrollWidth`); wide > phone.width {
				t.Errorf("%s, sent to %s: %d pixels wide", s.name, action, wide)
			}
		}
	}
	if len(sent) < 5 || full && len(sent) < 15 {
		t.Errorf("only %d forms were sent", len(sent))
	}
}
