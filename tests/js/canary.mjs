// Every listed event with CANARY wherever the list does not reach, and with values JSON cannot say. Prints every frame.

import { attach } from "../../static/js/footprint-sender.js";
import { EVENTS } from "../../static/js/footprint-kept.js";
import { answer, pause, ReplayingAgent } from "./agent.mjs";

const frames = [];

class Recording {
  constructor(url) {
    frames.push(url);
    setTimeout(() => this.onopen({}));
  }
  send(text) {
    frames.push(text);
    const { type, last } = JSON.parse(text.split("\n")[0]);
    if (type === "hello") this.#say({ type: "welcome", acked: 0, keepText: true });
    if (type === "bye") this.#say({ type: "ack", through: last }), setTimeout(() => this.onclose({ code: 1000 }));
  }
  close() {}
  #say(frame) {
    setTimeout(() => this.onmessage({ data: JSON.stringify(frame) }));
  }
}

const canary = "CANARY";
const circular = { canary };
circular.self = circular;
const container = { canary, [canary]: canary, toJSON: () => canary, nested: [circular, 10n] };
const { proxy, revoke } = Proxy.revocable([], {});
revoke();

// For each kind, values of which nothing may leave but their type, their length, or that they are there.
const VALUES = {
  name: [container, [canary], circular, () => canary, Symbol(canary), canary.repeat(100), 10n, proxy],
  text: [container, [canary], () => canary, 10n],
};
VALUES.opt_name = VALUES.name;
VALUES.names = VALUES.opt_names = [canary, container, [[canary]], [container], [canary.repeat(100)], 10n, proxy];
VALUES.word = VALUES.flag = VALUES.presence = VALUES.plain = VALUES.number = [canary, ...VALUES.name];
VALUES.count = VALUES.opt_count = VALUES.millis = VALUES.clock = VALUES.length = VALUES.number;
VALUES.label = VALUES.declared = VALUES.text;
VALUES.roster = [canary, container, [canary], [container], [{ name: container, aliases: canary, contentOrigin: canary }], proxy];

function hostile(fields, pick) {
  const shape = { canary, [canary]: canary, toJSON: () => canary, args: container, result: circular, error: canary };
  for (const [field, kind] of Object.entries(fields)) {
    if (typeof kind === "string") shape[field] = VALUES[kind][pick % VALUES[kind].length];
    else if (pick % 3 === 0) shape[field] = pick % 2 ? canary : container;
    else shape[field] = kind.struct ? hostile(kind.struct, pick) : [hostile(kind.structs, pick), canary, container];
  }
  return shape;
}

const agent = new ReplayingAgent();
const sending = attach(agent, { url: "ws://127.0.0.1:1/", token: "fp_test", WebSocket: Recording });

let sent = 0;
function emit(event) {
  agent.emit(event); // what a listener throws would end this script
  sent += 1;
}

for (const [type, fields] of Object.entries(EVENTS)) {
  for (let pick = 0; pick < 12; pick += 1) {
    const meta = { canary, runId: "run-1", runtimeStageId: container, compositionPath: [container], sessionId: circular };
    emit({ type, payload: hostile(fields, pick), meta, canary });
  }
  emit({ type, payload: canary, meta: canary });
  emit({ type, payload: proxy, meta: [canary] });
  emit(Object.defineProperty({ type, meta: {} }, "payload", { get: () => { throw new Error(canary); } }));
  const throwing = Object.fromEntries(Object.keys(fields).map((field) => [field, undefined]));
  for (const field of Object.keys(fields)) {
    Object.defineProperty(throwing, field, { get: () => { throw new Error(canary); } });
  }
  emit({ type, payload: throwing, meta: {} });
}
for (const name of ["context.injected", "stream.token", "stream.thinking_end", "agent.output_schema_retry", "cost.tick"]) {
  emit({ type: `agentfootprint.${name}`, payload: { content: canary, rawContent: canary }, meta: {} });
}
for (const event of [null, undefined, canary, 10n, () => canary, Symbol(canary), [canary], {}, { type: container }, proxy]) emit(event);
await pause(50);
const status = await sending.close();
answer({ frames, sent, status });
