// The order of components and groups: dragged by their handles, or moved with the arrow keys. Each move is one request, with
// the order on which it was made; a refused one is undone.

const hint = () => document.getElementById("order-hint");
const rowsOf = (list) => [...list.querySelectorAll(":scope > .component")];
const lists = () => [...document.querySelectorAll(".rows[data-group]")];
const groups = () => [...document.querySelectorAll(".group[aria-labelledby]")];

const showHandles = () => {
	if (!hint()) return;
	if (note) hint().before(note);
	document.querySelectorAll("#order-hint, .handle").forEach((element) => { element.hidden = false; });
};

const spoken = document.createElement("p");
spoken.className = "hidden";
spoken.setAttribute("aria-live", "polite");

// Where something is: before or after a neighbour, and in which group.
const idOf = (box) => box?.dataset.id || box?.querySelector(".rows")?.dataset.group || "";
const placeOf = (box) => {
	const list = box.closest(".rows"), all = list ? rowsOf(list) : groups(), at = all.indexOf(box);
	return { group: list?.dataset.group || "", before: idOf(all[at + 1]), after: idOf(all[at - 1]), text: `${at + 1} of ${all.length}${list?.dataset.name ? ` in ${list.dataset.name}` : ""}` };
};

// Moving in the document. spot is what stands after the box, or nothing at the end of list.
const put = (box, list, spot) => {
	const active = document.activeElement, end = list.querySelector(":scope > .none");
	list.insertBefore(box, spot || end);
	for (const other of lists()) other.querySelector(":scope > .none").hidden = rowsOf(other).length > 0;
	if (box.contains(active)) active.focus({ preventScroll: true });
};
const putGroup = (box, spot) => {
	const active = document.activeElement, all = groups();
	if (spot) spot.before(box);
	else all[all.length - 1].after(box);
	if (box.contains(active)) active.focus({ preventScroll: true });
};
const move = (box, list, spot) => (list ? put(box, list, spot) : putGroup(box, spot));

// Saving: one request at a time. Moves of one object that wait become one.
const waiting = [];
let saving = false;

let note = null; // about a move that was refused, until the next one
const fail = (words) => {
	note?.remove();
	note = document.createElement("div");
	const text = document.createElement("p"), link = document.createElement("a");
	note.className = "wrong block";
	note.setAttribute("role", "alert");
	link.href = location.href;
	link.textContent = "Reload";
	text.append(words, " ", link);
	note.append(text);
	hint()?.before(note);
	note.scrollIntoView({ block: "nearest" });
};

const send = async ({ handle, place, order }) => {
	const { group, before, after } = place;
	const body = new URLSearchParams({ order, group, ...(before ? { before } : { after }) });
	const answer = await fetch(handle.dataset.place, { method: "POST", body, redirect: "manual", keepalive: true });
	const now = answer.headers.get("Allswell-Order");
	if (answer.status === 204 && now) return now;
	const screen = new DOMParser().parseFromString(await answer.text(), "text/html");
	const words = screen.querySelector("main .wrong, main .error-text, main h1 ~ p");
	throw new Error(words ? `Nothing was moved. ${words.textContent.trim()}` : "Nothing was moved.");
};

const save = async () => {
	if (saving) return;
	saving = true;
	for (let next; (next = waiting.shift());) {
		try {
			const now = await send(next);
			for (const later of waiting) if (later.order === next.order) later.order = now;
			if (hint()?.dataset.order === next.order) hint().dataset.order = now;
		} catch (error) {
			for (const { box, from } of [next, ...waiting].reverse()) move(box, from.list, from.spot?.isConnected ? from.spot : null);
			waiting.length = 0;
			fail(error instanceof TypeError ? "Nothing was moved: the server cannot be reached." : error.message);
		}
	}
	saving = false;
};

// moveTo moves what a handle belongs to, says where it is now, and saves it.
const moveTo = (handle, list, spot) => {
	const box = boxOf(handle), from = { list: box.closest(".rows"), spot: nextOf(box) };
	if (spot === box || from.list === list && from.spot === spot) return;
	move(box, list, spot);
	const place = placeOf(box), last = waiting[waiting.length - 1];
	note?.remove();
	note = null;
	spoken.textContent = `${handle.dataset.name}: ${place.text}`;
	if (last?.box === box) last.place = place;
	else waiting.push({ handle, box, from, place, order: hint().dataset.order });
	save();
};

const boxOf = (handle) => handle.closest(".component, .group");
const nextOf = (box) => {
	const list = box.closest(".rows"), all = list ? rowsOf(list) : groups();
	return all[all.indexOf(box) + 1] || null;
};

// The keyboard.
document.addEventListener("keydown", (event) => {
	const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
	const handle = event.target.closest?.(".handle");
	if (!by || !handle || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
	event.preventDefault();
	const box = boxOf(handle), list = box.closest(".rows"), all = list ? rowsOf(list) : groups(), to = all.indexOf(box) + by;
	if (to >= 0 && to < all.length) moveTo(handle, list, by < 0 ? all[to] : all[to + 1] || null);
	else if (list && lists().includes(list)) {
		const next = lists()[lists().indexOf(list) + by];
		if (next) moveTo(handle, next, by < 0 ? null : rowsOf(next)[0] || null);
	}
	handle.scrollIntoView({ block: "nearest" });
});

// The pointer. What is dragged stays in its place of the document until it is dropped, so that the browser does not let go of
// it; a line shows where it will be.
const line = document.createElement("li");
line.className = "drop-line";
line.setAttribute("aria-hidden", "true");
const groupLine = document.createElement("div");
groupLine.className = "drop-line";
let drag = null; // { handle, box, y, at, list, spot }

const middle = (element) => {
	const { top, bottom } = element.getBoundingClientRect();
	return (top + bottom) / 2;
};

const aim = () => {
	const { box, at } = drag;
	box.style.transform = `translateY(${at - drag.y + drag.scrolled()}px)`;
	if (!box.closest(".rows")) {
		drag.spot = groups().find((group) => group !== box && middle(group) > at) || null;
		if (drag.spot) drag.spot.before(groupLine);
		else groups().filter((group) => group !== box).pop()?.after(groupLine);
		return;
	}
	drag.list = lists().filter((list) => list.getBoundingClientRect().top <= at).pop() || lists()[0];
	drag.spot = rowsOf(drag.list).find((row) => row !== box && middle(row) > at) || null;
	drag.list.insertBefore(line, drag.spot || drag.list.querySelector(":scope > .none"));
};

// Near an edge of the window, the page scrolls.
const follow = () => {
	if (!drag) return;
	const edge = 72, by = drag.at < edge ? -8 : drag.at > innerHeight - edge ? 8 : 0;
	if (by) {
		scrollBy(0, by);
		aim();
	}
	requestAnimationFrame(follow);
};

const drop = (keep) => {
	if (!drag) return;
	const { handle, box, list, spot, moved } = drag;
	drag = null;
	line.remove();
	groupLine.remove();
	box.style.transform = "";
	box.classList.remove("dragged");
	if (!keep || !moved) return;
	const same = box.closest(".rows") === (list || null) && nextOf(box) === spot;
	if (!same) moveTo(handle, list || null, spot);
};

document.addEventListener("pointerdown", (event) => {
	const handle = event.target.closest(".handle");
	if (!handle || event.button !== 0 || drag) return;
	event.preventDefault();
	handle.focus({ preventScroll: true });
	handle.setPointerCapture(event.pointerId);
	const began = scrollY;
	drag = { handle, box: boxOf(handle), y: event.clientY, at: event.clientY, pointer: event.pointerId, scrolled: () => scrollY - began, list: null, spot: null, moved: false };
});
document.addEventListener("pointermove", (event) => {
	if (event.pointerId !== drag?.pointer) return;
	drag.at = event.clientY;
	if (!drag.moved && Math.abs(drag.at - drag.y) < 4) return;
	if (!drag.moved) {
		drag.moved = true;
		drag.box.classList.add("dragged");
		requestAnimationFrame(follow);
	}
	aim();
});
document.addEventListener("pointerup", (event) => { if (event.pointerId === drag?.pointer) drop(true); });
document.addEventListener("pointercancel", (event) => { if (event.pointerId === drag?.pointer) drop(false); });
document.addEventListener("keydown", (event) => { if (event.key === "Escape") drop(false); });

if (hint()) document.body.append(spoken);
showHandles();
document.addEventListener("allswell:replaced", showHandles);
