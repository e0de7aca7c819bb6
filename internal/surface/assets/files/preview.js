// Previews of a page follow what is typed into its settings. Each is sent to a new frame, which replaces the old one when
// it is loaded, so that nothing flickers and the browser's history stays as it is. A form is sent to one place at a time: a
// browser forgets an earlier sending that has not begun. So nothing is sent to a preview once the settings are saved.

const previews = document.querySelector("[data-preview]");
const settings = previews && document.getElementById(previews.dataset.preview);

const renew = (button) => new Promise((done) => {
	const shown = button.closest("figure").querySelector("iframe"), name = button.formTarget, next = shown.cloneNode();
	next.removeAttribute("src");
	next.removeAttribute("loading");
	next.name = name + "-next";
	next.className = "next";
	shown.after(next);
	next.addEventListener("load", () => {
		if (next.contentWindow.location.href === "about:blank") return;
		next.contentWindow.scrollTo(0, shown.contentWindow.scrollY);
		shown.remove();
		next.className = "";
		next.contentWindow.name = next.name = name;
		done();
	});
	button.formTarget = next.name;
	settings.requestSubmit(button);
	button.formTarget = name;
});

if (settings?.requestSubmit) {
	const buttons = [...previews.querySelectorAll("button")];
	let timer, typed = 0, busy = false, saved = false;
	const follow = async () => {
		if (busy) return;
		busy = true;
		for (let shown = 0; shown !== typed;) {
			shown = typed;
			for (const button of buttons) {
				if (saved) return;
				await renew(button);
			}
		}
		busy = false;
		typed = 0;
	};
	settings.addEventListener("input", () => {
		typed++;
		clearTimeout(timer);
		timer = setTimeout(follow, 400);
	});
	settings.addEventListener("submit", (event) => saved ||= !buttons.includes(event.submitter));
	addEventListener("pageshow", () => { // also of a screen that the browser had kept
		saved = busy = false;
	});
	for (const button of buttons) button.hidden = true;
}
