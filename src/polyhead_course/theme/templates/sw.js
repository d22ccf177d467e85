// What a reader keeps for places without a network (offline.js): the network comes first, what is kept only where it fails.
"use strict";
const KEPT = `polyglot-offline ${new URL("./", location).pathname} `;

const keptOf = async (request) => {
  const url = new URL(request.url);
  url.search = url.hash = "";
  if (url.pathname.endsWith("/")) url.pathname += "index.html";
  for (const name of await caches.keys()) {
    if (!name.startsWith(KEPT)) continue;
    const cache = await caches.open(name);
    const found = await cache.match(url.href) ?? await cache.match(`${url.href}.html`);
    if (found) return found;
  }
  return null;
};

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => {
  const { request } = event;
  // "reload" asks for the network alone: so does what loads a new version.
  if (request.method !== "GET" || request.cache === "reload" || !request.url.startsWith(registration.scope)) return;
  event.respondWith(fetch(request).catch(async (error) => {
    const found = await keptOf(request);
    if (found) return found;
    throw error;
  }));
});
