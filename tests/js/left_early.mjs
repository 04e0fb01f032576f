// A page that is left before its browser said whose the storage is; the next page goes on. Task {url, files, other}: with
// `other` another page wrote the storage meanwhile, and its word stands.

import { attach } from "../../static/js/footprint-sender.js";
import { answer, eventsOf, ReplayingAgent, task, WebSocketClass } from "./agent.mjs";

const kept = new Map();
const storage = {
  getItem: (key) => kept.get(key) ?? null,
  setItem: (key, value) => kept.set(key, value),
  removeItem: (key) => kept.delete(key),
};
const hidden = [];
globalThis.addEventListener = (name, listener) => name === "pagehide" && hidden.push(listener);
globalThis.removeEventListener = () => undefined;
const navigator = { locks: { request: () => new Promise(() => undefined) } }; // never answers
Object.defineProperty(globalThis, "navigator", { value: navigator, configurable: true });

function page() {
  const agent = new ReplayingAgent();
  return { agent, sending: attach(agent, { url: task.url, token: "fp_test", WebSocket: WebSocketClass, storage }) };
}

const first = page();
for (const event of eventsOf(task.files[0])) first.agent.emit(event);
if (task.other) storage.setItem(`footprint ${first.sending.sender.url}`, task.other);
hidden.splice(0).forEach((listener) => listener());
const left = first.sending.status;
const held = [...kept.values()][0];

navigator.locks = undefined;
const second = page();
for (const event of eventsOf(task.files[1])) second.agent.emit(event);
answer({ left, held, done: await second.sending.close() });
process.exit(0);
