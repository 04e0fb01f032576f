// Three pages one after another with one storage: the first never gets a connection, the second sends both pages' events,
// the third begins anew. Task {url, files, storageBytes?}.

import { attach } from "../../static/js/footprint-sender.js";
import { answer, eventsOf, pause, ReplayingAgent, task, WebSocketClass } from "./agent.mjs";

class NeverOpens {
  close() {}
}

const kept = new Map();
const storage = {
  getItem: (key) => kept.get(key) ?? null,
  setItem: (key, value) => kept.set(key, value),
  removeItem: (key) => kept.delete(key),
};
const tools = [{ name: "lookup_order", displayName: "Looked up the order" }];

function page(Socket) {
  const agent = new ReplayingAgent();
  const options = { url: task.url, token: "fp_test", WebSocket: Socket, storage, storageBytes: task.storageBytes, tools };
  return { agent, sending: attach(agent, options) };
}

const first = page(NeverOpens);
for (const event of eventsOf(task.files[0])) first.agent.emit(event);
await pause(60);
const left = await first.sending.close({ withinMs: 1 });

const second = page(WebSocketClass);
for (const event of eventsOf(task.files[1])) second.agent.emit(event);
const done = await second.sending.close();
const forgotten = kept.size === 0;

const third = page(WebSocketClass);
const last = await third.sending.close();
answer({ left, done, forgotten, last });
