// Times in the visitor's zone, and the bars day by day with pointer, finger and
// keys. All words are in the page, and nothing is stored.

const root = document.documentElement;
const locale = root.dataset.locale || root.lang;

const day = { day: "numeric", month: "short" };
const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
const forms = {
	moment: { ...day, year: "numeric", ...clock },
	dayclock: { ...day, ...clock },
	clock,
};
const write = (form, at) => new Intl.DateTimeFormat(locale, forms[form]).format(at);

// isElsewhen says whether the visitor's calendar has another day than the
// page's, under whose date a bare time of the day stands.
const dateIn = (at, timeZone) => new Intl.DateTimeFormat("en", { timeZone, dateStyle: "short" }).format(at);
function isElsewhen(at) {
	try {
		return dateIn(at) !== dateIn(at, root.dataset.zone || "UTC");
	} catch {
		return true; // the browser does not know the page's zone
	}
}

function localize() {
	let dated; // the last time that stands with its date, and where
	for (const time of document.querySelectorAll("time[datetime*=T]:not([title])")) {
		const at = new Date(time.dateTime);
		if (isNaN(at)) continue;
		const day = dateIn(at), known = dated?.day === day && dated.around === time.parentElement;
		let form = time.dataset.form in forms ? time.dataset.form : "moment";
		if (form === "clock" && !known && isElsewhen(at)) form = "dayclock";
		if (form !== "clock") dated = { day, around: time.parentElement };
		time.title = time.textContent; // in the page's zone
		time.textContent = write(form, at);
	}
	for (const note of document.querySelectorAll("[data-local]")) note.textContent = note.dataset.local;
}

// A strip of bars is a slider over its days: screen readers hand the arrow keys
// to a slider, have gestures for it, and read out its value.
const fullDate = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeZone: "UTC" });
const pop = document.createElement("div");
pop.className = "pop";
// The strip's value says the same.
pop.ariaHidden = "true";
// The strip whose day is shown.
let open = null;

const last = (strip) => strip.children.length - 1;
const chosen = (strip) => strip.ariaValueNow - 1;
const firstShown = (strip) => [...strip.children].findIndex((bar) => bar.offsetWidth);
const runsLeft = (strip) => getComputedStyle(strip).direction === "rtl";
const within = (i, low, high) => Math.max(low, Math.min(i, high));

function dateOf(strip, ago) {
	const date = new Date(strip.dataset.day);
	date.setUTCDate(date.getUTCDate() - ago);
	return fullDate.format(date);
}

const tableOf = (strip) => strip.parentElement.querySelector("table");

// rowOf returns the row of the table that tells of a day. It can be of several.
const rowOf = (strip, ago) => [...tableOf(strip).tBodies[0].rows].find((r) => (ago -= r.dataset.n || 1) < 0);

// choose makes a day the strip's value and returns what is to be said of it.
function choose(strip, i) {
	const ago = last(strip) - i;
	const [, text, uptime] = [...rowOf(strip, ago).cells].map((cell) => cell.textContent);
	const lines = [dateOf(strip, ago), ...text.split(" · ")];
	if (uptime) lines.push(`${tableOf(strip).rows[0].cells[2].textContent}: ${uptime}`);
	strip.ariaValueNow = i + 1;
	strip.ariaValueText = lines.join(", ");
	return lines;
}

// gather returns what the components of a folded group have to say of a day. For
// keys and screen readers the group is unfolded: a button can hold no slider.
function gather(strip, i) {
	const ago = last(strip) - i, strips = [...strip.closest(".group").querySelectorAll(".history .bars")];
	const text = (s) => rowOf(s, ago).cells[1].textContent;
	const lines = strips.filter((s) => rowOf(s, ago).className)
		.map((s) => `${s.closest("li").querySelector("a").textContent}: ${text(s)}`);
	if (lines.length > 8) lines.splice(7, Infinity, "…");
	return [dateOf(strips[0], ago), ...(lines[0] ? lines : [text(strips[0])])];
}

function show(strip, i) {
	const bar = strip.children[i];
	if (bar.matches(".on")) return;
	hide();
	open = strip;
	pop.replaceChildren(...(strip.role ? choose : gather)(strip, i).map((text) => {
		const line = document.createElement("p");
		line.textContent = text;
		return line;
	}));
	pop.dataset.bar = bar.className[0] || bar.localName;
	bar.classList.add("on");
	document.body.append(pop);
	// Over the bar, or under it where there is no room; within the window.
	const at = bar.getBoundingClientRect(), around = strip.getBoundingClientRect(), edge = 8;
	const above = around.top - pop.offsetHeight, middle = at.left + (at.width - pop.offsetWidth) / 2;
	pop.style.left = `${within(middle, edge, root.clientWidth - pop.offsetWidth - edge) + scrollX}px`;
	pop.style.top = `${(above < edge ? around.bottom : above) + scrollY}px`;
}

function hide() {
	open?.querySelector(".on")?.classList.remove("on");
	open = null;
	pop.remove();
}

const stripOf = (target) => target.closest?.(".bars[role=slider], .group > summary .bars");

function onPoint({ target, clientX, type }) {
	const strip = stripOf(target);
	if (strip && !strip.role && type === "click") hide(); // the group unfolds
	else if (strip) {
		const box = strip.getBoundingClientRect(), first = firstShown(strip);
		const share = (runsLeft(strip) ? box.right - clientX : clientX - box.left) / box.width;
		show(strip, within(first + Math.floor(share * (last(strip) - first + 1)), first, last(strip)));
	} else if (!pop.contains(target)) leave();
}

// leave hides the explanation, but for one that was opened by the keyboard.
function leave() {
	if (!open?.matches(":focus-visible")) hide();
}

function onKey(event) {
	if (event.key === "Escape") hide();
	const strip = stripOf(event.target);
	if (!strip || event.altKey || event.ctrlKey || event.metaKey) return;
	const right = runsLeft(strip) ? -1 : 1;
	const step = {
		ArrowRight: right, ArrowLeft: -right, ArrowUp: 1, ArrowDown: -1,
		PageUp: 7, PageDown: -7, Home: -Infinity, End: Infinity,
	}[event.key];
	if (!step) return;
	event.preventDefault();
	show(strip, within(chosen(strip) + step, firstShown(strip), last(strip)));
}

function enhance() {
	hide();
	localize();
	for (const strip of document.querySelectorAll(".bars[role=img]")) {
		strip.role = "slider";
		strip.tabIndex = 0;
		strip.ariaValueMin = 1;
		strip.ariaValueMax = strip.children.length;
		choose(strip, last(strip));
	}
}

document.addEventListener("pointermove", onPoint);
document.addEventListener("click", onPoint);
document.addEventListener("pointercancel", hide); // the finger scrolls
root.addEventListener("pointerleave", leave);
document.addEventListener("keydown", onKey);
document.addEventListener("focusin", ({ target }) => {
	const strip = stripOf(target);
	if (strip?.matches(":focus-visible")) show(strip, Math.max(chosen(strip), firstShown(strip)));
});
document.addEventListener("focusout", hide);
document.addEventListener("allswell:replaced", enhance);
enhance();
