// The bars, day by day, with pointer, finger and keys. The texts are those of the tables in the page; the incidents of
// a day are those of the history.

const root = document.documentElement;

// A strip of bars is a slider over its days: screen readers hand the arrow keys
// to a slider, have gestures for it, and read out its value.
const fullDate = new Intl.DateTimeFormat(root.dataset.locale || root.lang, { dateStyle: "full", timeZone: "UTC" });
const pop = document.createElement("div");
pop.className = "pop";
pop.id = "pop";
// The strip whose day is shown.
let open = null;

const last = (strip) => strip.children.length - 1;
const chosen = (strip) => strip.ariaValueNow - 1;
const firstShown = (strip) => [...strip.children].findIndex((bar) => bar.offsetWidth);
const runsLeft = (strip) => getComputedStyle(strip).direction === "rtl";
const within = (i, low, high) => Math.max(low, Math.min(i, high));

// dayOf returns a day as in the addresses of the history: 2026-11-21.
function dayOf(strip, ago) {
	const date = new Date(strip.dataset.day);
	date.setUTCDate(date.getUTCDate() - ago);
	return date.toISOString().slice(0, 10);
}

const dateOf = (strip, ago) => fullDate.format(new Date(dayOf(strip, ago)));

const tableOf = (strip) => strip.parentElement.querySelector("table");

// rowOf returns the row of the table that describes a day. A row can describe several days.
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

// The months of the history that were asked for, by their addresses.
const months = new Map();

function loadMonth(day) {
	const url = new URL(document.querySelector(".top nav a").href);
	url.searchParams.set("month", day.slice(0, 7));
	if (!months.has(url.href)) {
		const load = async () => {
			const answer = await fetch(url);
			if (!answer.ok) throw new Error(answer.status);
			return new DOMParser().parseFromString(await answer.text(), "text/html");
		};
		months.set(url.href, load().catch(() => { months.delete(url.href); }));
	}
	return months.get(url.href);
}

// linkIncidents adds links to the incidents and maintenances of a day that affected the component.
async function linkIncidents(strip, bar, day) {
	const component = (strip.closest("li")?.querySelector("a.component") || location).pathname;
	const month = await loadMonth(day);
	if (!month || open !== strip || !bar.matches(".on")) return;
	const dates = new Intl.DateTimeFormat("en-CA", { timeZone: root.dataset.zone });
	for (const entry of month.querySelectorAll(".past > li")) {
		const days = [...entry.querySelectorAll("summary time")].map((time) => dates.format(new Date(time.dateTime)));
		// Only an incident that is not resolved names its state.
		if (days[0] > day || days.at(-1) < day && !entry.querySelector(".meta strong")) continue;
		if (![...entry.querySelectorAll(".names a")].some((a) => a.pathname === component)) continue;
		const link = document.createElement("a");
		link.href = entry.querySelector(".more a").getAttribute("href");
		link.textContent = entry.querySelector("h4").textContent;
		link.dir = "auto";
		pop.append(link);
	}
	place(strip, bar);
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
	const eventful = /[^nux ]/.test(bar.className);
	bar.classList.add("on");
	if (strip.role) strip.after(pop);
	else document.body.append(pop);
	place(strip, bar);
	if (strip.role && eventful) linkIncidents(strip, bar, dayOf(strip, last(strip) - i));
}

// place puts the explanation over the bar, or under it where there is no room, within the window.
function place(strip, bar) {
	const from = pop.offsetParent?.matches(".history") ? pop.offsetParent.getBoundingClientRect() : { left: -scrollX, top: -scrollY };
	const at = bar.getBoundingClientRect(), around = strip.getBoundingClientRect(), edge = 8;
	const above = around.top - pop.offsetHeight, middle = at.left + (at.width - pop.offsetWidth) / 2;
	pop.style.left = `${within(middle, edge, root.clientWidth - pop.offsetWidth - edge) - from.left}px`;
	pop.style.top = `${(above < edge ? around.bottom : above) - from.top}px`;
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
	if (!open?.matches(":focus-visible") && !pop.contains(document.activeElement)) hide();
}

function onKey(event) {
	if (event.key === "Escape") {
		if (pop.contains(document.activeElement)) open.focus();
		hide();
	}
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
	months.clear();
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
document.addEventListener("focusout", ({ relatedTarget }) => {
	if (!pop.contains(relatedTarget)) hide();
});
document.addEventListener("allswell:replaced", enhance);
enhance();
