// Sends what an agentfootprint agent does to the Footprint dashboard: import { attach } from ".../footprint-sender.js".
// For browsers and for Node; needs nothing else. See docs/recipes.md, "connect an agentfootprint agent (JavaScript)".

import { Sender } from "./footprint-connection.js";
import { ToolChoiceRows } from "./footprint-tool-choice.js";

export { keep } from "./footprint-filter.js";
export { Sender };

const PREFIX = "agentfootprint.";
// The last words of a turn or of a run: what belongs to the turn must be sent before them.
const LAST_WORDS = new Set(
  ["agent.turn_end", "error.fatal", "permission.halt", "reliability.fail_fast", "integrity.disposition"].map(
    (name) => PREFIX + name,
  ),
);
const NO_RUN = "consumer-scope";

/** A connection for several agents: `attach(agent, {sender: connect({url, token})})`. See Sender for the options. */
export function connect(options) {
  return new Sender(options);
}

/**
 * Sends every event of `agent` (anything with `on("*", listener)`). Throws a TypeError with a sentence when it cannot begin;
 * afterwards nothing it does ever reaches the agent.
 *
 * Options: those of Sender or a `sender`; `tools` - a list of {name, displayName?, description?}, the app's words;
 * `getSharedState` - returns the agent's shared state where the agent itself does not give it; `toolChoice` - {top,
 * alwaysServe?} as the agent was built with, for a replay.
 */
export function attach(agent, options = {}) {
  if (typeof agent?.on !== "function") throw new TypeError("attach needs an agent: something with on(\"*\", listener).");
  return new Attachment(agent, options);
}

class Attachment {
  #agent;
  #sender;
  #ownsSender;
  #rows;
  #lastMeta = {};
  #unsubscribe;
  #isDetached = false;

  constructor(agent, { sender, tools, getSharedState, toolChoice, ...options }) {
    this.#agent = agent;
    this.#ownsSender = sender === undefined;
    this.#sender = sender ?? new Sender(options);
    this.#rows = new ToolChoiceRows(agent, { getSharedState, toolChoice });
    if (tools !== undefined) this.declareTools(tools);
    this.#unsubscribe = agent.on("*", this.#hear);
  }

  get status() {
    return this.#sender.status;
  }

  get sender() {
    return this.#sender;
  }

  /** Stops listening. What was heard is still sent. */
  detach() {
    if (this.#isDetached) return;
    this.#isDetached = true;
    this.#quietly(() => {
      if (typeof this.#unsubscribe === "function") this.#unsubscribe();
      else this.#agent.off?.("*", this.#hear);
    });
  }

  /** Stops listening and ends the stream (a shared sender goes on). Resolves with the status, once all is acknowledged. */
  async close(limits) {
    this.detach();
    if (this.#ownsSender) return this.#sender.close(limits);
    this.#sender.flush();
    return this.#sender.status;
  }

  /** Tools in the app's words: [{name, displayName?, description?}]. */
  declareTools(tools) {
    this.#quietly(() => this.#sender.declare(own("tools.declared", { tools }, {})));
  }

  /** A delegation tool: {toolName, hasFactory, staticPool?, inheritedSurface?, extraToolNames?}. */
  declareDelegation(declaration) {
    this.#quietly(() => this.#sender.declare(own("delegation.declared", declaration, {})));
  }

  /** A delegation that injected tools: {toolName, toolCallId?, childRunId?, products, deniedTools?}. */
  spawned(spawn, meta = this.#lastMeta) {
    this.#send(own("delegation.spawned", spawn, meta));
  }

  /** A delegation the host refused: {toolName, toolCallId?, code, reason}. */
  refusedSpawn(refusal, meta = this.#lastMeta) {
    this.#send(own("delegation.refused", refusal, meta));
  }

  /** The run's own view of its calls: {calls: [{toolName, toolCallId, outcome}], incomplete}. */
  answerChecked(toolCalls, meta = this.#lastMeta) {
    this.#send(own("answer.checked", { toolCalls }, meta));
  }

  #hear = (event) => {
    if (this.#isDetached) return;
    this.#quietly(() => this.#follow(event));
    this.#send(event);
  };

  /** Tool choice is on record in the agent's state, not in its events: its rows go out before the turn's last word. */
  #follow(event) {
    const { type, meta } = event;
    if (typeof meta?.runId === "string" && meta.runId !== NO_RUN) this.#lastMeta = meta;
    this.#rows.noteEvent(event);
    if (!LAST_WORDS.has(type) && type !== `${PREFIX}agent.iteration_end`) return;
    for (const { row, rowMeta } of this.#rows.collect(meta, LAST_WORDS.has(type))) {
      this.#send(own("tool_choice.row", row, rowMeta));
    }
  }

  #send(event) {
    this.#quietly(() => this.#sender.send(event));
  }

  #quietly(work) {
    try {
      work();
    } catch {
      // a sender must not disturb the agent it watches
    }
  }
}

function own(name, payload, meta) {
  return { type: `footprint.${name}`, payload, meta };
}
