// Sends recordings as an agent would: task {url, files, everyMs?, closeWithinMs?, options?, plain?}.

import { attach } from "../../static/js/footprint-sender.js";
import { answer, eventsOf, pause, ReplayingAgent, task, WebSocketClass } from "./agent.mjs";

const heard = [];
const agent = new ReplayingAgent();
const sending = attach(agent, {
  url: task.url,
  token: task.token ?? "fp_test",
  WebSocket: WebSocketClass,
  onStatus: (status) => heard.push(status),
  ...task.options,
});

for (const file of task.files ?? []) {
  for (const event of eventsOf(file)) {
    agent.emit(event);
    if (task.everyMs !== undefined) await pause(task.everyMs);
  }
}
if (task.waitMs) await pause(task.waitMs);
const before = heard.at(-1);
const status = await sending.close({ withinMs: task.closeWithinMs ?? 20_000 });
answer({ status, before, states: heard.map(({ state }) => state), listeners: agent.listeners.size });
