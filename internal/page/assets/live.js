// Keeps an open page current: what has changed is put in its place, and what
// the visitor has opened, typed, selected or focused stays.

const main = document.getElementById('main');

const second = 1000;
const about = (time) => time * (1 + Math.random() / 4);

// Screen readers speak what changes in it.
const region = document.createElement('p');
region.className = 'hidden';
region.setAttribute('aria-live', 'polite');
document.body.append(region);

// Hearing of news.

let source = null; // the stream, only while somebody looks
let again = 0; // timer of the next try
let failures = 0;
let due = 0; // timer of the next fetch
let busy = false;
let wanted = ''; // the tag that was told last
let tries = 0;

const open = () => {
  if (source || document.hidden) return;
  clearTimeout(again);
  source = new EventSource(main.dataset.events + '?have=' + encodeURIComponent(main.dataset.tag));
  source.onopen = () => { failures = 0; };
  source.addEventListener('change', (event) => {
    wanted = event.data;
    tries = 0;
    fetchIn(Math.random() * 2 * second); // not everybody at once
  });
  source.onerror = () => {
    if (source.readyState !== EventSource.CLOSED) return; // the browser tries again
    close();
    again = setTimeout(open, about(Math.min(300, 15 * 2 ** failures++) * second));
  };
};

const close = () => {
  clearTimeout(again);
  if (source) source.close();
  source = null;
};

// Without a stream the page looks for news by itself.
const poll = () => setTimeout(() => {
  if (!source || source.readyState !== EventSource.OPEN) fetchIn(0);
  poll();
}, about(60 * second));

const fetchIn = (delay) => {
  if (!due) due = setTimeout(refresh, delay);
};

const refresh = async () => {
  due = 0;
  if (busy) return fetchIn(second);
  if (!navigator.onLine) return;
  busy = true;
  const abort = new AbortController();
  const limit = setTimeout(() => abort.abort(), 20 * second);
  try {
    const answer = await fetch(location.href, { cache: 'no-cache', signal: abort.signal });
    if (answer.ok) show(new DOMParser().parseFromString(await answer.text(), 'text/html'));
  } catch (error) {
    // Another time.
  }
  clearTimeout(limit);
  busy = false;
  // Another replica than that of the stream may not have heard yet.
  if (wanted && wanted !== main.dataset.tag && tries++ < 5) fetchIn(tries * second);
};

// Putting it in place.

const show = (fresh) => {
  const next = fresh.querySelector('main#main[data-tag]');
  if (!next || next.dataset.tag === main.dataset.tag) return;
  const focused = main.contains(document.activeElement) && document.activeElement;
  document.title = fresh.title;
  const around = 'head > link[rel=icon], head > link[rel=stylesheet], body > svg, body > header, body > footer';
  const parts = fresh.querySelectorAll(around);
  document.querySelectorAll(around).forEach((old, i) => { if (parts[i]) update(old, parts[i]); });
  update(main, next);
  remember();
  if (focused && focused !== document.activeElement) {
    const name = CSS.escape(focused.id || focused.dataset.key || '-');
    (main.querySelector(`#${name}, [data-key="${name}"]`) || main).focus({ preventScroll: true });
  }
  document.dispatchEvent(new CustomEvent('allswell:replaced'));
  const banner = (main.querySelector('#banner') || document.querySelector('title')).textContent;
  region.textContent = '';
  setTimeout(() => { region.textContent = main.dataset.updated.replace('{banner}', () => banner); }, 100);
};

// How each <details> was sent: one that differs was moved by the visitor.
const sent = new WeakMap();
const remember = () => main.querySelectorAll('details').forEach((d) => { if (!sent.has(d)) sent.set(d, d.open); });

const inUse = (form) => form.contains(document.activeElement) || [...form.elements].some((field) =>
  field.checked !== field.defaultChecked || field.defaultValue !== undefined && field.value !== field.defaultValue);

// update makes an element, or a text, like another.
const update = (old, next) => {
  if (old.isEqualNode(next) || old.nodeName === 'FORM' && inUse(old)) return;
  old.nodeValue = next.nodeValue; // of a text; elements have none
  if (old.nodeType !== 1) return;
  const folds = old.nodeName === 'DETAILS';
  for (const { name } of [...old.attributes, ...next.attributes]) {
    if (folds && name === 'open') continue;
    const value = next.getAttribute(name);
    if (value === null) old.removeAttribute(name);
    else if (value !== old.getAttribute(name)) old.setAttribute(name, value);
  }
  if (folds) {
    if (old.open === sent.get(old)) old.open = next.open;
    sent.set(old, next.open);
  }
  updateChildren(old, next);
};

const key = (node) => {
  const name = node.dataset && (node.id || node.dataset.key || node.getAttribute('aria-labelledby'));
  return name ? node.nodeName + name : '';
};

// What has a key is kept wherever it goes, what has none where it is.
const updateChildren = (old, next) => {
  const wants = new Set([...next.children].map(key));
  const held = new Map();
  for (const child of [...old.children]) {
    const k = key(child);
    if (k && !wants.has(k)) child.remove();
    else if (k) held.set(k, child);
  }
  let at = old.firstChild;
  const pass = (was = at) => {
    at = at.nextSibling;
    return was;
  };
  for (const want of [...next.childNodes]) {
    const mate = held.get(key(want));
    if (mate) {
      while (at && at !== mate && !key(at)) pass().remove();
      if (at === mate) pass();
      else old.insertBefore(mate, at);
      update(mate, want);
    } else if (at && !key(want) && !key(at) && at.nodeName === want.nodeName) update(pass(), want);
    else old.insertBefore(want, at);
  }
  while (at) pass().remove();
};

remember();
open();
poll();
document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()));
window.addEventListener('pagehide', close);
window.addEventListener('pageshow', open);
