// Keeps an open page current: what has changed is put in its place, and what
// the visitor has opened, typed, selected or focused stays.

const main = document.getElementById('main');

const second = 1000;
const minute = 60 * second;
const about = (time) => time * (1 + Math.random() / 4);
const since = (time) => Math.abs(Date.now() - time); // clocks are put back, too

// Screen readers speak what changes in it.
const region = document.createElement('p');
region.className = 'hidden';
region.setAttribute('aria-live', 'polite');
document.body.append(region);
const announce = (text) => {
  region.textContent = '';
  setTimeout(() => { region.textContent = text; }, 100);
};

// Receiving changes.

// When the page was last known to be as the service shows it. A browser may have
// kept it for long: until something is heard, it is as old as it says.
const asOf = document.querySelector('#as-of time');
let current = asOf ? Date.parse(asOf.dateTime) : Date.now();
let source = null; // the stream, only while someone looks
let again = 0; // timer of the next try
let failures = 0;
let due = 0; // timer of the next fetch
let busy = false;
let asked = Date.now(); // when the last fetch began
let failed = false; // it brought no page
let wanted = ''; // the tag that was announced last
let tries = 0;

const open = () => {
  if (source || document.hidden) return;
  clearTimeout(again);
  wanted = '';
  const { events, tag } = main.dataset;
  source = new EventSource(`${events}${events.includes('?') ? '&' : '?'}have=${encodeURIComponent(tag)}`);
  source.addEventListener('alive', heard);
  source.addEventListener('change', (event) => {
    wanted = event.data;
    tries = 0;
    heard();
  });
  source.onerror = () => {
    if (source.readyState === 2) retire(); // closed; else the browser tries again
  };
};

const close = () => {
  clearTimeout(again);
  if (source) source.close();
  source = null;
};

// retire takes another stream for one that is of no use, later each time.
const retire = () => {
  close();
  again = setTimeout(open, about(Math.min(300, 15 * 2 ** failures++) * second));
};

const heard = () => {
  failures = 0;
  if (failed || wanted && wanted !== main.dataset.tag) fetchIn(Math.random() * 2 * second); // not everyone at once
  else current = Date.now();
};

// A stream can be open and dead, timers stand still while the computer sleeps: a
// page that has heard nothing for a minute looks for itself, once a minute.
const check = () => {
  if (since(current) > minute && since(asked) > minute) {
    if (source) retire();
    fetchIn(0);
  }
  if (failed && since(current) > 2 * minute) admit('late');
};

const fetchIn = (delay) => {
  if (!due) due = setTimeout(refresh, delay);
};

const refresh = async () => {
  due = 0;
  if (busy) return fetchIn(second);
  busy = true;
  asked = Date.now();
  const abort = new AbortController();
  const limit = setTimeout(() => abort.abort(), 20 * second);
  let fresh = null;
  let gone = false;
  try {
    const answer = await fetch(location.href, { cache: 'no-cache', signal: abort.signal });
    gone = answer.status === 404 || answer.status === 410;
    if (answer.ok) fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
  } catch {
    // Another time.
  }
  clearTimeout(limit);
  busy = false;
  const next = fresh && fresh.querySelector('main#main[data-tag]');
  if (next) {
    current = asked;
    admit('');
    if (next.dataset.tag !== main.dataset.tag) transition(() => show(fresh, next));
    if (failed) open();
  } else if (gone) admit('gone');
  failed = !next;
  check();
  // Another replica than that of the stream may not have heard yet.
  if (wanted && wanted !== main.dataset.tag && tries++ < 5) fetchIn(tries * second);
};

// Showing that the state is unknown.

const note = document.createElement('p');
note.className = 'late';
let trouble = ''; // 'late', or 'gone' if there is no such page any more
let title = ''; // that the page had before

// admit puts a line above the state, and takes away what claims to be so now.
const admit = (what) => {
  const words = main.dataset[what];
  // The service may have said itself that it is late, and since earlier.
  if (what === trouble || what && !words || what === 'late' && main.querySelector('.late')) return;
  if (trouble) document.title = title;
  trouble = what;
  note.remove();
  main.classList.toggle('gone', what === 'gone');
  document.querySelector('#as-of')?.toggleAttribute('hidden', what);
  if (what) {
    const form = { day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' };
    const time = new Date(current).toLocaleString(document.documentElement.dataset.locale, form);
    note.innerHTML = `<svg class="icon" aria-hidden="true"><use href="#i-late"/></svg><span>${words.replace('{time}', time)}</span>`;
    main.prepend(note);
    title = document.title;
    document.title = title.replace(/.* – /, note.querySelector('strong').textContent + ' ');
  }
  announce(what && note.textContent);
};

// Putting it in place.

// transition runs a change of the page, which browsers that can fade into it. The style sheet forbids that to those
// who want less motion.
const transition = (change) => {
  if (document.startViewTransition && !document.hidden) document.startViewTransition(change).ready.catch(() => {}); // the next change ends it
  else change();
};

const show = (fresh, next) => {
  const focused = document.activeElement !== document.body && document.activeElement;
  document.title = fresh.title;
  const around = 'head > link[rel=icon], head > link[rel=stylesheet], body > svg, body > header, body > footer';
  const parts = fresh.querySelectorAll(around);
  document.querySelectorAll(around).forEach((old, i) => { if (parts[i]) update(old, parts[i]); });
  update(main, next);
  remember();
  if (focused && focused !== document.activeElement) {
    const name = CSS.escape(focused.id || focused.dataset.key || '-');
    (document.querySelector(`#${name}, [data-key="${name}"]`) || main).focus({ preventScroll: true });
  }
  document.dispatchEvent(new CustomEvent('allswell:replaced'));
  const said = [...main.querySelectorAll('#lead, #banner')].map((e) => e.textContent.trim());
  const banner = said.join('. ') || document.title;
  announce(main.dataset.updated.replace('{banner}', () => banner));
};

// How each <details> was sent: one that differs was moved by the visitor.
const sent = new WeakMap();
const remember = () => document.querySelectorAll('details').forEach((d) => { if (!sent.has(d)) sent.set(d, d.open); });

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

const look = () => {
  if (document.hidden) return close();
  check();
  open();
};

remember();
open();
setInterval(check, about(15 * second));
document.addEventListener('visibilitychange', look);
window.addEventListener('pagehide', close);
window.addEventListener('pageshow', look);
window.addEventListener('online', () => fetchIn(second));
