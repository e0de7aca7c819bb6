// Buttons that copy what stands beside them. Besides passkeys, nothing else of the dashboard needs a script.

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
