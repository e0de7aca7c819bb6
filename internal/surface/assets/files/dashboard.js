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
