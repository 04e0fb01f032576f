// The tool-choice rows of an agent: read from its shared state, each sent once, with the run it belongs to.
//
// A state that is read while a run goes on may still be that of an earlier run. So a row is taken for a run when an event
// of that run says the same (every row has a twin among the tool_choice events), and gets that event's meta. Where a run
// has no such events at all, rows that were not there before count as its own.

import { keep } from "./footprint-filter.js";
import { ALWAYS_SERVED } from "./footprint-kept.js";

const EVENT = "agentfootprint.tool_choice.";
const KINDS = { picked: "pick", failed: "pick-error", outcome: "outcome" };
const MOST_WAITING = 1_000;

export class ToolChoiceRows {
  #agent;
  #options;
  #waiting = []; // {key, meta}: tool_choice events whose rows were not sent yet
  #seen = []; // the rows as they were read last, each as the list lets it out
  #hasEvents = false;
  #picks = { run: undefined, byIteration: new Map() };

  constructor(agent, options) {
    this.#agent = agent;
    this.#options = options;
    this.#seen = this.#read(false).map(listed);
  }

  noteEvent({ type, payload, meta }) {
    if (typeof type !== "string" || !type.startsWith(EVENT)) return;
    this.#hasEvents = true;
    const run = meta?.runId;
    if (this.#picks.run !== run) this.#picks = { run, byIteration: new Map() };
    this.#waiting.push({ key: twinKey(KINDS[type.slice(EVENT.length)], payload ?? {}, this.#picks.byIteration), meta });
    if (this.#waiting.length > MOST_WAITING) this.#waiting.shift();
  }

  /** The rows that can be sent now, `{row, rowMeta}`. `isLast`: worth the price of a whole snapshot. */
  collect(meta, isLast) {
    if (this.#hasEvents && this.#waiting.length === 0) return [];
    const rows = this.#read(isLast && this.#hasEvents);
    const found = this.#hasEvents ? this.#withTwins(rows) : this.#unseen(rows).map((row) => ({ row, rowMeta: meta }));
    return found.map(({ row, rowMeta }) => ({ row: this.#withReplay(row), rowMeta }));
  }

  #withTwins(rows) {
    const picks = new Map();
    const keys = rows.map((row) => twinKey(row?.kind, row ?? {}, picks));
    const found = [];
    this.#waiting = this.#waiting.filter(({ key, meta }) => {
      const place = keys.lastIndexOf(key); // an earlier run's rows stand before this one's
      if (place < 0) return true;
      keys[place] = undefined;
      found.push({ row: rows[place], rowMeta: meta });
      return false;
    });
    return found;
  }

  #unseen(rows) {
    const now = rows.map(listed);
    const common = now.findIndex((row, place) => row !== this.#seen[place]);
    if (common < 0) return []; // nothing new, or a state older than what was read already
    const isSameList = common === this.#seen.length;
    this.#seen = now;
    return rows.slice(isSameList ? common : 0);
  }

  #withReplay(row) {
    const { top, alwaysServe = [] } = this.#options.toolChoice ?? {};
    if (top === undefined || row.kind === "outcome") return row;
    return { doors: [...ALWAYS_SERVED, ...alwaysServe], ...row, top };
  }

  #read(isWhole) {
    const agent = this.#agent;
    const places = [this.#options.getSharedState, () => agent.sharedState, () => agent.getState?.()];
    if (isWhole) places.push(() => agent.getSnapshot?.()?.sharedState, () => agent.getLastSnapshot?.()?.sharedState);
    for (const place of places) {
      try {
        const state = place?.();
        const rows = state?.toolChoices ?? state?.sharedState?.toolChoices;
        if (Array.isArray(rows)) return [...rows];
      } catch {
        // not to be had there, or not now
      }
    }
    return [];
  }
}

/** What an event and its row both say. An outcome says little, so it is known together with the pick before it. */
function twinKey(kind, { iteration, chosen, latencyMs, called }, picks) {
  if (kind === "outcome") return print([kind, iteration, called, picks.get(iteration)]);
  const key = print([kind, iteration, chosen, latencyMs]);
  picks.set(iteration, key);
  return key;
}

function listed(row) {
  return print(keep({ type: "footprint.tool_choice.row", payload: row }).payload);
}

function print(value) {
  try {
    return JSON.stringify(value);
  } catch {
    return ""; // a row JSON cannot say is no row
  }
}
