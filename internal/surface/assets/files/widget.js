// Adds a frame with the state of a page after its script element. The shadow root keeps the site's styles away from it.
const script = document.currentScript, host = document.createElement("div"), frame = document.createElement("iframe");
const size = { border: "0", display: "block", width: "100%", "max-width": "24rem", height: "64px", "color-scheme": script.dataset.theme || "normal" };
host.style.setProperty("all", "initial", "important");
host.style.setProperty("display", "block", "important");
for (const name in size) frame.style.setProperty(name, size[name]);
frame.title = script.dataset.title || "Status";
frame.src = script.src.replace(/\.js(?=$|[?#])/, "");
host.attachShadow({ mode: "closed" }).append(frame);
script.after(host);
