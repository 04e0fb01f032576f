// What a sender is told by its host, read once: a sentence for whatever cannot work.

/** The websocket address of `url`; a bare host gets the dashboard's path. */
export function ingestAddress(url) {
  let address;
  try {
    address = new URL(url, globalThis.location?.href);
  } catch {
    throw new TypeError("`url` must be the address of the dashboard, for instance wss://footprint.example.com/ws/ingest/.");
  }
  if (address.search || address.username || address.password) {
    throw new TypeError("`url` must be a plain address: the token goes into `token`, never into the address.");
  }
  address.protocol = address.protocol.replace(/^http/, "ws");
  if (!/^wss?:$/.test(address.protocol)) throw new TypeError("`url` must begin with wss://, ws://, https:// or http://.");
  if (address.pathname === "/") address.pathname = "/ws/ingest/";
  address.hash = "";
  return address.href;
}

export function readToken(token) {
  if (typeof token === "string" && token.trim()) return token.trim();
  throw new TypeError("`token` must be the project's ingest token, as its Connect page shows it once.");
}

/** The class to open websockets with: the host's, else the global one. */
export function socketClass(given) {
  const Socket = given ?? globalThis.WebSocket;
  if (typeof Socket === "function") return Socket;
  throw new TypeError(
    "There is no WebSocket here: Node has a global one from version 22 on. " +
      "Before, hand in a class, for instance the one of the package ws: {WebSocket}.",
  );
}
