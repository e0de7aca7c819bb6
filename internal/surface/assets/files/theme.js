// Applies the visitor's choice between light and dark. It runs before the page is drawn, so that the page does not
// flash in the other colours. Nothing else is stored in the browser.
(() => {
	const root = document.documentElement, key = "allswell-theme";
	const read = () => { try { return localStorage.getItem(key) || ""; } catch { return ""; } };
	root.dataset.theme = read();

	const show = () => {
		const chosen = root.dataset.theme;
		for (const group of document.querySelectorAll(".theme")) {
			group.hidden = false;
			for (const button of group.children) button.ariaPressed = button.value === chosen;
		}
		// A picture follows the system by itself.
		for (const dark of document.querySelectorAll("picture source")) {
			dark.media = chosen ? (chosen === "dark" ? "all" : "not all") : "(prefers-color-scheme: dark)";
		}
	};
	document.addEventListener("click", ({ target }) => {
		const button = target.closest(".theme button");
		if (!button) return;
		root.dataset.theme = button.value;
		try { localStorage.setItem(key, button.value); } catch { /* until the page is left */ }
		show();
	});
	document.addEventListener("DOMContentLoaded", show);
	document.addEventListener("allswell:replaced", show);
	addEventListener("storage", () => { root.dataset.theme = read(); show(); });
})();
