// The service worker of a page: it shows messages, and opens their page.
self.addEventListener('push', (event) => {
  const { title, url, ...options } = event.data.json();
  event.waitUntil(self.registration.showNotification(title, { ...options, icon: 'app/192.png', data: { url } }));
});
self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(clients.openWindow(event.notification.data.url));
});
