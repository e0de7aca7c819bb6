// "Notify me when this is resolved": subscribes this browser to the end of one incident.

const able = isSecureContext && 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window;

const bytes = (key) => Uint8Array.from(atob(key.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));

// A subscription that was made with another key of the server is replaced.
async function subscribe(manager, key) {
  const options = { userVisibleOnly: true, applicationServerKey: bytes(key) };
  try {
    return await manager.subscribe(options);
  } catch (error) {
    const old = await manager.getSubscription();
    if (!old) throw error;
    await old.unsubscribe();
    return manager.subscribe(options);
  }
}

async function ask(box) {
  const button = box.querySelector('button'), say = (text) => { box.querySelector('[role=status]').textContent = text; };
  const { worker, action, incident, done, denied, failed } = box.dataset;
  button.disabled = true;
  try {
    if (await Notification.requestPermission() !== 'granted') {
      say(denied);
      return;
    }
    const key = await (await fetch(action)).text();
    await navigator.serviceWorker.register(worker);
    const { pushManager } = await navigator.serviceWorker.ready;
    const { endpoint, keys } = (await subscribe(pushManager, key)).toJSON();
    const answer = await fetch(action, {
      method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ incident_id: incident, endpoint, p256dh: keys.p256dh, auth: keys.auth }),
    });
    if (!answer.ok) throw new Error(answer.status);
    button.hidden = true;
    say(done);
  } catch {
    say(failed);
  } finally {
    button.disabled = false;
  }
}

function show() {
  const box = document.querySelector('.push');
  if (!able || !box?.hidden) return;
  box.hidden = false;
  box.querySelector('button').addEventListener('click', () => ask(box));
}

document.addEventListener('allswell:replaced', show);
show();
