// What the scripts share: an agent that only replays, and the websocket class this Node has.

import { readFileSync } from "node:fs";

import { PlainWebSocket } from "./plain_websocket.mjs";

export const task = JSON.parse(process.argv[2] ?? "{}");

export const WebSocketClass = task.plain ? PlainWebSocket : (globalThis.WebSocket ?? PlainWebSocket);

export class ReplayingAgent {
  listeners = new Set();

  on(pattern, listener) {
    if (pattern !== "*") throw new Error("only * is replayed");
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  emit(event) {
    for (const listener of this.listeners) listener(event); // unlike a real agent: what a listener throws is not swallowed
  }
}

export function eventsOf(path) {
  return readFileSync(path, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

export function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export function answer(value) {
  process.stdout.write(JSON.stringify(value));
}
