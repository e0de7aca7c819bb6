// Buttons that copy what stands beside them. Besides passkeys, nothing else of the dashboard needs a script; the rest is convenience.

document.addEventListener("click", async ({ target }) => {
	const button = target.closest("[data-copy]");
	if (!button) return;
	const label = button.querySelector("span"), before = label.textContent;
	try {
		await navigator.clipboard.writeText(button.parentElement.querySelector("pre").textContent);
		label.textContent = "Copied";
	} catch {
		getSelection().selectAllChildren(button.parentElement.querySelector("pre"));
		label.textContent = "Selected";
	}
	setTimeout(() => { label.textContent = before; }, 2000);
});

const showButtons = () => document.querySelectorAll("[data-copy]").forEach((button) => { button.hidden = false; });
showButtons();
document.addEventListener("allswell:replaced", showButtons);

// Ctrl+Enter, or Cmd+Enter, in a text presses the first button of its form, as Enter does in a line: an incident shows its preview, because messages to subscribers cannot be taken back.
document.addEventListener("keydown", (event) => {
	if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing || event.target.localName !== "textarea") return;
	event.preventDefault();
	event.target.form?.requestSubmit(event.target.form.querySelector("button:not([type=button])"));
});

// Filters act when they are changed, and one box selects all rows of a list.
document.addEventListener("change", ({ target }) => {
	const filter = target.localName === "select" && target.closest("form[data-instant]");
	if (filter) filter.requestSubmit();
	if (!target.matches("[data-choose-all]")) return;
	target.form.querySelectorAll(".rows .choose input").forEach((box) => { box.checked = target.checked; });
});
const showChooseAll = () => document.querySelectorAll("[data-choose-all]").forEach((box) => { box.parentElement.hidden = false; });
showChooseAll();
document.addEventListener("allswell:replaced", showChooseAll);
