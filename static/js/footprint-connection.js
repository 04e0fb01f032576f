// One websocket to the dashboard, kept alive: it resumes where the dashboard's last word ended, sends within the limits
// it was told, and waits longer from failure to failure. Events are numbered and filtered before they come to rest here.

import { StreamBuffer } from "./footprint-buffer.js";
import { keep } from "./footprint-filter.js";
import { ingestAddress, readToken, socketClass } from "./footprint-options.js";

const VERSION = "footprint-js/0.1.0";
const GATHER_MS = 20;
const GATHER_EVENTS = 200;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
const SLOWED_WAIT_MS = 20_000; // the least after 4429, "too much at once"
const STEADY_MS = 10_000; // a connection that lived this long was not a failure
const QUIET_MS = 30_000; // the dashboard owes a word and says nothing: the connection is dead
const CLAIM_WITHIN_MS = 3_000; // a busy machine is slow to let go of a page that was left; events wait meanwhile
const CLOSE_WITHIN_MS = 5_000;
const TAKEN_OVER = 4409;
const MOST_GHOSTS = 3;
const LIMITS = { frameBytes: 8 * 2 ** 20, eventBytes: 4 * 2 ** 20, window: 1000 };

const FINAL = {
  4400: "The dashboard does not understand this sender. Use the sender that came with the dashboard.",
  4401: "The token is not valid, or it was revoked. Make a new one on the project's Connect page.",
  4403: "The project does not allow this page's origin. An admin can allow it on the project's Connect page.",
  4409: "Another connection took over this stream. Two pages must not share one storage.",
  4410: "This stream's id belongs to another sender.",
};

/**
 * Opens a connection and keeps it. Options: `url` and `token` (both needed), `WebSocket` (a class, where there is no global
 * one), `name` (begins the stream's id), `storage` (sessionStorage or alike), `storageBytes`, `bufferBytes`, `bufferEvents`,
 * `onStatus`. Throws a TypeError with a sentence when it cannot begin; never afterwards.
 */
export class Sender {
  #buffer;
  #socket = null;
  #isLive = false; // welcomed
  #isClaimed = false;
  #limits = LIMITS;
  #frameCap = Infinity; // halved whenever the dashboard finds a frame too large
  #texts = true;
  #failures = 0;
  #ghosts = 0; // hellos the dashboard may hear late: one that arrives takes the stream over and says nothing more
  #timers = {};
  #gathered = 0;
  #touched = false;
  #byeSent = false;
  #closing = null; // {promise, resolve} once close() was called
  #status = { state: "connecting", message: "", refused: 0, lastRefusal: null };
  #farewell = null;

  constructor(options = {}) {
    this.url = ingestAddress(options.url);
    this.token = readToken(options.token);
    this.Socket = socketClass(options.WebSocket);
    this.onStatus = options.onStatus;
    this.#buffer = new StreamBuffer({
      name: options.name ?? "js",
      key: `footprint ${this.url}`,
      maxBytes: options.bufferBytes ?? 16 * 2 ** 20,
      maxEvents: options.bufferEvents ?? 50_000,
      storage: options.storage ?? null,
      storageBytes: options.storageBytes ?? 256 * 2 ** 10,
    });
    this.#ghosts = this.#buffer.last > 0 ? 1 : 0; // an earlier page's
    if (options.storage) globalThis.addEventListener?.("pagehide", this.#onPageHide);
    this.#claim().then(() => {
      this.#isClaimed = true;
      this.#connect();
    });
  }

  /** What is known now; a copy. `state`: connecting, live, waiting (tries again), stopped (will not), closed. */
  get status() {
    const { stream, last, acked, lost } = this.#buffer;
    return { ...this.#status, stream, last, acked, lost, isSettled: acked === last };
  }

  /** Filters, numbers and sends one event, as soon as may be. Returns whether the list knows its type. Never throws. */
  send(event) {
    const kept = keep(event, { texts: this.#texts });
    if (kept !== null) this.#push(JSON.stringify(kept));
    return kept !== null;
  }

  /** Like `send`, once a stream: the same event is not sent again after a page is loaded anew. */
  declare(event) {
    const line = JSON.stringify(keep(event));
    if (this.#buffer.declared.includes(line)) return;
    this.#buffer.declared.push(line);
    this.#push(line);
  }

  /** Sends what waits, without waiting for more to come together. */
  flush() {
    this.#stopTimer("gather");
    this.#gathered = 0;
    if (this.#isClaimed) this.#buffer.save();
    this.#pump();
  }

  /** Ends the stream: sends everything, says bye, waits for the last acknowledgement. Resolves with the status. */
  close({ withinMs = CLOSE_WITHIN_MS } = {}) {
    if (this.#closing === null) {
      this.#closing = withResolvers();
      if (this.#isOver) this.#closing.resolve(this.status);
      else this.#takeLeave(withinMs);
    }
    return this.#closing.promise;
  }

  #takeLeave(withinMs) {
    this.#timer("close", withinMs, () => this.#end("closed", "Closed before everything was acknowledged."));
    this.flush();
    if (this.#timers.connect) this.#timer("connect", 0, () => this.#connect());
  }

  get #isOver() {
    return this.#status.state === "stopped" || this.#status.state === "closed";
  }

  #onPageHide = () => {
    if (!this.#isClaimed) this.#buffer.saveUnlessChanged(); // left before it was known whose the storage is
    this.flush();
  };

  #push(line) {
    if (this.#isOver) return;
    const lost = this.#buffer.lost;
    this.#buffer.push(line);
    if (this.#buffer.lost !== lost) this.#tell({});
    this.#gathered += 1;
    if (this.#gathered === GATHER_EVENTS) queueMicrotask(() => this.flush());
    else if (!this.#timers.gather) this.#timer("gather", GATHER_MS, () => this.flush());
  }

  /** One page at a time may go on with a stored stream: a duplicated tab finds it held and begins its own. */
  async #claim() {
    const locks = this.#buffer.storage && globalThis.navigator?.locks;
    if (!locks) return;
    const patience = new AbortController(); // a page that was just left lets go a moment later
    setTimeout(() => patience.abort(), CLAIM_WITHIN_MS);
    const isOurs = await new Promise((resolve) => {
      const hold = () => (resolve(true), new Promise((release) => (this.#release = release)));
      const isHeld = (problem) => problem?.name === "AbortError"; // anything else: no locks in this place
      locks.request(this.#buffer.key, { signal: patience.signal }, hold).catch((problem) => resolve(!isHeld(problem)));
    });
    if (isOurs) return;
    this.#buffer.storage = null;
    this.#buffer.startAnew();
  }

  #release = () => {};

  #connect() {
    if (this.#isOver) return;
    this.#tell({ state: "connecting" });
    let socket;
    try {
      socket = new this.Socket(this.url);
    } catch {
      return this.#end("stopped", "The address of the dashboard cannot be opened from here. Check `url`.");
    }
    this.#socket = socket;
    this.#farewell = null;
    this.#byeSent = false;
    this.#expectWord();
    const opened = Date.now();
    let isOpen = false;
    socket.onopen = () => {
      isOpen = true;
      if (this.#socket === socket) this.#hello();
    };
    socket.onmessage = (message) => this.#socket === socket && this.#hear(message.data);
    socket.onerror = () => {
      // A close should follow; Node 20's class leaves it out when the connection could not be made.
      if (this.#socket === socket && !isOpen) this.#drop(1006);
    };
    socket.onclose = (event) => this.#socket === socket && this.#closed(event.code, Date.now() - opened);
  }

  #hello() {
    const { stream, instance, last } = this.#buffer;
    this.#buffer.save();
    this.#write(JSON.stringify({ type: "hello", protocol: 1, stream, instance, sender: VERSION, last, token: this.token }));
  }

  #hear(data) {
    let frame;
    try {
      frame = JSON.parse(data);
    } catch {
      return;
    }
    this.#stopTimer("quiet");
    if (frame?.type === "welcome") this.#welcomed(frame);
    else if (frame?.type === "ack") this.#acknowledged(frame.through);
    else if (frame?.type === "refused") {
      const { seq, code, reason } = frame;
      this.#tell({ refused: this.#status.refused + 1, lastRefusal: { seq, code, reason } });
    } else if (frame?.type === "closing") this.#farewell = frame;
    if (this.#isLive && !this.status.isSettled) this.#expectWord();
  }

  #welcomed({ acked, limits, keepText }) {
    if (!Number.isSafeInteger(acked)) return this.#drop(4400);
    if (!this.#buffer.agrees(acked, this.#touched)) {
      this.#buffer.startAnew();
      return this.#drop(1000); // and say hello again, under the new name
    }
    this.#limits = { ...LIMITS, ...limits };
    this.#limits.frameBytes = Math.min(this.#limits.frameBytes, this.#frameCap);
    this.#texts = keepText !== false;
    if (!this.#texts) this.#buffer.rewrite((line) => JSON.stringify(keep(JSON.parse(line), { texts: false })));
    this.#buffer.rewind();
    this.#buffer.ack(acked);
    this.#isLive = true;
    this.#tell({ state: "live", message: "" });
    this.#pump();
  }

  #acknowledged(through) {
    if (!Number.isSafeInteger(through)) return;
    this.#failures = 0;
    this.#buffer.ack(through);
    if (!this.#timers.gather) this.#timer("gather", GATHER_MS, () => this.flush()); // also writes the storage
    this.#pump();
  }

  #pump() {
    if (!this.#isLive) return;
    const lost = this.#buffer.lost;
    for (let frame; this.#isLive && (frame = this.#buffer.nextFrame(this.#limits)) !== null; ) {
      this.#touched = true;
      this.#write(frame);
      if (!this.#timers.quiet) this.#expectWord();
    }
    if (this.#buffer.lost !== lost) this.#tell({});
    if (this.#closing && this.#isLive && this.#buffer.isSent && !this.#byeSent) {
      this.#byeSent = true;
      this.#write(JSON.stringify({ type: "bye", last: this.#buffer.last }));
    }
  }

  #write(frame) {
    try {
      this.#socket.send(frame);
    } catch {
      this.#drop(1006);
    }
  }

  #expectWord() {
    this.#timer("quiet", QUIET_MS, () => this.#drop(1006));
  }

  /** Gives the present socket up without waiting for its own word. */
  #drop(code) {
    const socket = this.#socket;
    if (socket === null) return;
    this.#closed(code, 0);
    try {
      socket.close();
    } catch {
      // it was never open
    }
  }

  #closed(code, livedMs) {
    const wasLive = this.#isLive;
    this.#socket = null;
    this.#isLive = false;
    this.#stopTimer("quiet");
    this.#buffer.rewind();
    const reason = this.#farewell?.code ?? code;
    const isGhost = reason === TAKEN_OVER && this.#ghosts > 0;
    if (isGhost) this.#ghosts -= 1;
    else if (reason in FINAL) return this.#end("stopped", FINAL[reason]);
    else if (!wasLive) this.#ghosts = Math.min(this.#ghosts + 1, MOST_GHOSTS);
    if (this.#byeSent && this.status.isSettled) {
      this.#buffer.forget();
      return this.#end("closed", "Everything was acknowledged.");
    }
    if (reason === 1009) this.#frameCap = Math.max(2 ** 16, this.#limits.frameBytes / 2);
    if (livedMs > STEADY_MS) this.#failures = 0;
    const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#failures);
    this.#failures = Math.min(this.#failures + 1, 16);
    const isSlowed = reason === 4429;
    const why = isSlowed && typeof this.#farewell?.reason === "string" ? ` (${this.#farewell.reason.slice(0, 300)})` : "";
    this.#tell({ state: "waiting", message: `The connection ended${why}. What waits is kept and sent on the next one.` });
    const wait = longest * (0.5 + Math.random() / 2) + (isSlowed ? SLOWED_WAIT_MS : 0);
    this.#timer("connect", wait, () => this.#connect());
  }

  #end(state, message) {
    Object.keys(this.#timers).forEach((name) => this.#stopTimer(name));
    const socket = this.#socket;
    this.#socket = null;
    this.#isLive = false;
    if (state === "closed" && !this.status.isSettled) this.#buffer.save(); // a later page goes on with it
    globalThis.removeEventListener?.("pagehide", this.#onPageHide);
    this.#release();
    this.#tell({ state, message });
    this.#closing?.resolve(this.status);
    try {
      socket?.close();
    } catch {
      // it was never open
    }
  }

  #tell(change) {
    Object.assign(this.#status, change);
    try {
      this.onStatus?.(this.status);
    } catch {
      // what the host does with the word is its own affair
    }
  }

  #timer(name, ms, then) {
    this.#stopTimer(name);
    this.#timers[name] = setTimeout(() => {
      this.#timers[name] = undefined;
      then();
    }, ms);
  }

  #stopTimer(name) {
    clearTimeout(this.#timers[name]);
    this.#timers[name] = undefined;
  }
}

function withResolvers() {
  let resolve;
  const promise = new Promise((settle) => (resolve = settle));
  return { promise, resolve };
}
