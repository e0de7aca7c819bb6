// The command palette: Ctrl+K, ⌘K or / opens a dialog with the screen of the search.

const link = document.querySelector('nav a[href="/admin/search"]');
let dialog, input, found, status;
let shown = null; // the query whose results are shown
let loading = null; // the load of the newest query

const make = () => {
	dialog = document.createElement("dialog");
	dialog.className = "palette";
	dialog.setAttribute("aria-label", "Search");
	const form = document.createElement("form");
	form.setAttribute("role", "search");
	form.action = link.href;
	input = document.createElement("input");
	Object.assign(input, { type: "search", name: "q", maxLength: 200, autocomplete: "off", placeholder: "Search or go to…" });
	input.setAttribute("aria-label", "Monitors, components, pages, incidents and screens");
	form.append(input);
	found = document.createElement("div");
	found.className = "found";
	status = document.createElement("p");
	status.className = "hidden";
	status.setAttribute("role", "status");
	const hint = document.createElement("p");
	hint.className = "hint keys";
	hint.textContent = "↑ ↓ to choose, Enter to open, Esc to close";
	dialog.append(form, found, status, hint);
	document.body.append(dialog);
	input.addEventListener("input", () => { loading = load(150); });
	form.addEventListener("submit", choose);
	dialog.addEventListener("keydown", move);
	dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
};

const query = () => input.value.trim();
const hits = () => [...found.querySelectorAll("a")];

let timer, abort;
const load = (delay) => new Promise((done) => {
	clearTimeout(timer);
	if (abort) abort.abort();
	const current = abort = new AbortController();
	current.signal.addEventListener("abort", () => done(false));
	timer = setTimeout(async () => {
		const wanted = query();
		try {
			const answer = await fetch(`${link.href}?${new URLSearchParams({ q: wanted })}`, { signal: current.signal });
			const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("#found");
			if (!answer.ok || !fresh || current.signal.aborted) return done(false);
			found.replaceChildren(...fresh.children);
			shown = wanted;
			const count = hits().length;
			status.textContent = count === 1 ? "1 result" : `${count} results`;
			done(true);
		} catch {
			done(false);
		}
	}, delay);
});

// Enter opens the first result of what is typed, also if it is still on its way. Without one, the screen of the search says why.
const choose = async (event) => {
	event.preventDefault();
	if (shown !== query()) await (loading = load(0));
	const first = shown === query() && hits()[0];
	if (first) first.click();
	else event.target.submit();
};

const move = (event) => {
	const { key } = event;
	if (event.isComposing) return;
	if (key === "Escape") {
		event.preventDefault(); // which would clear the field first
		dialog.close();
		if (dialog.contains(document.activeElement)) document.activeElement.blur(); // at once, for the next key
	} else if (key === "ArrowDown" || key === "ArrowUp") {
		event.preventDefault();
		const stops = [input, ...hits()];
		const at = stops.indexOf(document.activeElement);
		stops[(at + (key === "ArrowDown" ? 1 : stops.length - 1)) % stops.length].focus();
	} else if (document.activeElement !== input && (key === "Backspace" || key.length === 1 && key !== " ") && !event.ctrlKey && !event.metaKey && !event.altKey) {
		input.focus(); // what is typed goes there
	}
};

const open = () => {
	if (!dialog) make();
	if (dialog.open) return;
	if (document.querySelector("dialog[open]")) return;
	dialog.showModal();
	input.focus();
	input.select();
	if (shown === null) loading = load(0);
};

const types = (element) => element.closest('input, textarea, select, [contenteditable="true"]') !== null;

if (link) {
	link.setAttribute("aria-keyshortcuts", "Control+K Meta+K /");
	const keys = document.createElement("kbd");
	keys.textContent = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘K" : "Ctrl K";
	keys.setAttribute("aria-hidden", "true");
	document.querySelectorAll('nav a[href="/admin/search"]').forEach((of) => {
		of.append(keys.cloneNode(true));
		of.addEventListener("click", (event) => {
			if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
			event.preventDefault();
			of.closest("details")?.removeAttribute("open");
			open();
		});
	});
	document.addEventListener("keydown", (event) => {
		const combined = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k";
		const slash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !types(event.target);
		if (!combined && !slash || event.isComposing) return;
		event.preventDefault();
		open();
	});
}
