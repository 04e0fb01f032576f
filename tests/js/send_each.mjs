// Sends each recording as a stream of its own, which is named after it: task {url, token, files}. Prints the last words.

import { basename } from "node:path";

import { attach } from "../../static/js/footprint-sender.js";
import { answer, eventsOf, ReplayingAgent, task, WebSocketClass } from "./agent.mjs";

const told = {};
for (const file of task.files) {
  const agent = new ReplayingAgent();
  const { url, token } = task;
  const sending = attach(agent, { url, token, WebSocket: WebSocketClass, name: basename(file, ".jsonl") });
  for (const event of eventsOf(file)) agent.emit(event);
  told[basename(file, ".jsonl")] = await sending.close({ withinMs: 20_000 });
}
answer(told);
