// Times in the visitor's zone, the newest of them relative to now, and the panel for subscribing. All words are in
// the page or come from the browser.

const root = document.documentElement;
const locale = root.dataset.locale || root.lang;

const minute = 60_000, hour = 60 * minute, day = 24 * hour;
const date = { day: "numeric", month: "short" };
const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
const forms = {
	moment: { ...date, year: "numeric", ...clock },
	dayclock: { ...date, ...clock },
	second: { ...date, ...clock, second: "2-digit" },
	clock,
};
const write = (form, at) => new Intl.DateTimeFormat(locale, forms[form]).format(at);

// The day of an instant in a zone; without one, in the visitor's.
const dateIn = (at, timeZone) => new Intl.DateTimeFormat("en", { timeZone, dateStyle: "short" }).format(at);

// A browser may not know the page's zone.
const pageZone = (() => {
	try {
		dateIn(0, root.dataset.zone);
		return root.dataset.zone;
	} catch {
		return undefined;
	}
})();

// exact returns an instant in the visitor's zone and, if its clock differs, in the page's.
function exact(at) {
	const full = { ...forms.moment, timeZoneName: "short" };
	const texts = [undefined, pageZone].map((timeZone) => new Intl.DateTimeFormat(locale, { ...full, timeZone }).format(at));
	return [...new Set(texts)].join(" · ");
}

const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });

// ago returns the time since an instant, or "" if it is longer ago than a few days.
function ago(at) {
	const past = Date.now() - at;
	if (past < -minute || past > 6 * day) return "";
	if (past < minute) return relative.format(0, "second");
	const [unit, length] = past < hour ? ["minute", minute] : past < day ? ["hour", hour] : ["day", day];
	return relative.format(-Math.floor(past / length), unit);
}

function refreshAgo() {
	for (const time of document.querySelectorAll("time[data-form=ago]")) {
		const at = new Date(time.dateTime), text = ago(at) || write("moment", at);
		if (time.textContent !== text) time.textContent = text;
	}
}

function localize() {
	let dated; // the last time that stands with its date, and where
	for (const time of document.querySelectorAll("time[datetime*=T]:not([title])")) {
		const at = new Date(time.dateTime);
		if (isNaN(at)) continue;
		const on = dateIn(at), known = dated?.on === on && dated.around === time.parentElement;
		let form = time.dataset.form in forms ? time.dataset.form : "moment";
		// Without its date, a time is of the day under which it stands.
		if (form === "clock" && !known && on !== dateIn(at, pageZone)) form = "dayclock";
		if (form !== "clock") dated = { on, around: time.parentElement };
		time.title = exact(at);
		time.textContent = write(form, at);
	}
	refreshAgo();
	for (const note of document.querySelectorAll("[data-local]")) note.textContent = note.dataset.local;
}

const panel = () => document.querySelector("details.subscribe");

function followHash() {
	if (location.hash === "#subscribe" && panel()) panel().open = true;
}

document.addEventListener("click", ({ target }) => {
	if (panel()?.open && !panel().contains(target)) panel().open = false;
});
document.addEventListener("keydown", ({ key }) => {
	if (key !== "Escape" || !panel()?.open) return;
	panel().open = false;
	panel().querySelector("summary").focus();
});
addEventListener("hashchange", followHash);
document.addEventListener("allswell:replaced", localize);
setInterval(refreshAgo, minute / 4);
localize();
followHash();
