// A run with tool choice, in the order a real agent has. Task {url, where}: where the agent's state can be read.

import { attach } from "../../static/js/footprint-sender.js";
import { answer, ReplayingAgent, task, WebSocketClass } from "./agent.mjs";

const agent = new ReplayingAgent();
let state = {};
const places = {
  sharedState: () => Object.defineProperty(agent, "sharedState", { get: () => state }),
  getState: () => (agent.getState = () => state),
  getSnapshot: () => (agent.getSnapshot = () => ({ sharedState: structuredClone(state) })),
  broken: () => (agent.getSnapshot = () => { throw new Error("not now"); }),
};
places[task.where]?.();
const sending = attach(agent, {
  url: task.url,
  token: task.token ?? "fp_test",
  WebSocket: WebSocketClass,
  tools: [{ name: "look", displayName: "Looked" }],
  toolChoice: { top: 2, alwaysServe: ["help"] },
  ...(task.where === "option" ? { getSharedState: () => state } : {}),
});

function emit(name, payload, runId, stage) {
  const meta = { runId, runtimeStageId: stage, wallClockMs: 1_796_068_520_644, compositionPath: ["Agent:a"] };
  agent.emit({ type: `agentfootprint.${name}`, payload, meta });
}

function run(runId, latencyMs) {
  state = task.stale && runId === "run-2" ? state : { toolChoices: [] };
  const file = (row) => (task.stale && runId === "run-2" ? undefined : state.toolChoices.push(row));
  emit("agent.turn_start", { userPrompt: "where is it?" }, runId, "seed#0");
  for (const iteration of [1, 2]) {
    const served = ["look", "read", "help"];
    const confidence = 0.75;
    file({
      kind: "pick", iteration, source: "classifier", classifier: { name: "c", model: "m" }, offered: ["look", "read", "write"],
      ranked: [{ name: "look", score: confidence }], chosen: "look", confidence, latencyMs, served, narrowed: true,
      prompt: "CANARY",
    });
    if (task.events !== false) {
      emit("tool_choice.picked", { iteration, chosen: "look", confidence, offered: 3, served: 3, narrowed: true, latencyMs }, runId, `tools#${iteration}`);
    }
    file({ kind: "outcome", iteration, called: iteration === 1 ? ["look"] : [], firstAgrees: true });
    if (task.events !== false) emit("tool_choice.outcome", { iteration, called: iteration === 1 ? ["look"] : [] }, runId, `call#${iteration}`);
    emit("agent.iteration_end", { iterIndex: iteration, toolCallCount: 2 - iteration }, runId, `end#${iteration}`);
  }
  emit("agent.turn_end", { finalContent: "there" }, runId, "final#9");
  emit("integrity.disposition", {}, runId, "integrity-disposition#0");
}

run("run-1", 11);
run("run-2", 12);
sending.declareDelegation({ toolName: "delegate", hasFactory: true, extraToolNames: [{ name: "extra", secret: "CANARY" }] });
sending.spawned({ toolName: "delegate", toolCallId: "c1", products: [{ name: "extra", body: "CANARY" }] });
sending.refusedSpawn({ toolName: "delegate", code: "config.extra_tool_names", reason: "undeclared_name", message: "CANARY" });
sending.answerChecked({ calls: [{ toolName: "look", toolCallId: "c1", outcome: "ok", args: "CANARY" }], incomplete: false });
answer(await sending.close());
