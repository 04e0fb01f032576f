// One stream as its sender knows it: its id and instance, the events that are not settled yet, and the holes.
//
// Every event gets its number here, once. An item is a line to send, or a hole {from, to} of numbers whose lines had to be
// dropped: the dashboard is told of a hole (`lost`), so that no answer is called complete that is not. Items before the
// cursor were sent on the present connection; they stay until they are acknowledged, and go out again on the next one.

import { byteLength } from "./footprint-filter.js";

const FRAME_HEAD = 64; // bytes of the line before the events

export class StreamBuffer {
  #items = []; // {from, to, line, bytes}, ascending without spaces; line null: a hole
  #cursor = 0;
  #bytes = 0;
  #restored = 0; // the last number an earlier page gave
  #found = null; // what the storage held when this page began

  constructor({ name, key, maxBytes, maxEvents, storage, storageBytes }) {
    Object.assign(this, { name, key, maxBytes, maxEvents, storage, storageBytes });
    Object.assign(this, { last: 0, acked: 0, lost: 0, declared: [] });
    if (!this.#restore()) this.#begin();
  }

  get pending() {
    return this.#items.length;
  }

  get isSent() {
    return this.#cursor === this.#items.length;
  }

  /** Numbers the line and keeps it. A full buffer makes room by dropping what waits longest; returns the number. */
  push(line) {
    const bytes = byteLength(line);
    this.last += 1;
    this.#items.push({ from: this.last, to: this.last, line, bytes });
    this.#bytes += bytes;
    while (this.#bytes > this.maxBytes || this.#items.length > this.maxEvents) {
      const oldest = this.#items.findIndex((item, place) => place >= this.#cursor && item.line !== null);
      if (oldest < 0) break;
      this.#drop(oldest);
    }
    return this.last;
  }

  /** Everything up to `through` is settled: it will never be needed again. */
  ack(through) {
    this.acked = Math.max(this.acked, Math.min(through, this.last));
    let settled = 0;
    while (settled < this.#items.length && this.#items[settled].to <= this.acked) {
      this.#bytes -= this.#items[settled].bytes;
      settled += 1;
    }
    this.#items.splice(0, settled);
    this.#cursor = Math.max(0, this.#cursor - settled);
    const first = this.#items[0];
    if (first && first.from <= this.acked) first.from = this.acked + 1; // the rest of a hole
  }

  /** A new connection: whatever is not acknowledged goes out again. */
  rewind() {
    this.#cursor = 0;
  }

  /** The server has this stream further than this page knows, or another page holds it: what is new here becomes a new one. */
  startAnew() {
    const before = this.#restored;
    const lines = this.#items.filter((item) => item.from > before && item.line !== null).map((item) => item.line);
    const missing = lines.length < this.last - before;
    const declared = this.declared.filter((line) => !lines.includes(line));
    Object.assign(this, { last: 0, acked: 0 });
    [this.#items, this.#cursor, this.#bytes, this.#restored] = [[], 0, 0, 0];
    this.#begin();
    if (missing) this.#items.push({ from: 1, to: (this.last = 1), line: null, bytes: 0 });
    for (const line of [...declared, ...lines]) this.push(line);
  }

  /** True when the server's word about this stream fits what this page knows of it. `touched`: this page has sent already. */
  agrees(acked, touched) {
    return acked <= (touched ? this.last : Math.max(this.#restored, this.acked));
  }

  /** The next frame within the limits, or null when nothing may be sent now. */
  nextFrame({ frameBytes, eventBytes, window }) {
    const largest = Math.min(eventBytes, frameBytes - FRAME_HEAD);
    const first = this.#items[this.#cursor];
    if (!first) return null;
    if (first.bytes > largest) this.#drop(this.#cursor);
    if (first.line === null) {
      this.#cursor += 1;
      return JSON.stringify({ type: "lost", from: first.from, to: first.to });
    }
    const lines = [JSON.stringify({ type: "events", first: first.from })];
    let room = frameBytes - FRAME_HEAD;
    let [inFlight, bytesInFlight] = this.#inFlight();
    for (let item; (item = this.#items[this.#cursor]) && item.line !== null; this.#cursor += 1) {
      const isFull = item.bytes > room || inFlight >= window || (inFlight > 0 && bytesInFlight + item.bytes > this.maxBytes / 2);
      if (isFull || item.bytes > largest) break;
      lines.push(item.line);
      room -= item.bytes + 1;
      inFlight += 1;
      bytesInFlight += item.bytes;
    }
    return lines.length > 1 ? lines.join("\n") : null;
  }

  /** Rewrites every line that waits (texts are not kept by this project, so they are not sent). */
  rewrite(change) {
    for (const item of this.#items) {
      if (item.line === null) continue;
      item.line = change(item.line);
      this.#bytes -= item.bytes;
      this.#bytes += item.bytes = byteLength(item.line);
    }
  }

  /** Written before anything is sent, so that a number is never given twice; the newest lines that fit, the rest as a hole. */
  save() {
    if (!this.storage) return;
    let room = this.storageBytes;
    const lines = [];
    for (let place = this.#items.length - 1; place >= 0; place -= 1) {
      const item = this.#items[place];
      room -= item.bytes;
      if (room < 0) {
        lines.unshift([this.#items[0].from, item.to, null]);
        break;
      }
      lines.unshift([item.from, item.to, item.line]);
    }
    const { stream, instance, last, acked, declared } = this;
    try {
      this.storage.setItem(this.key, JSON.stringify({ stream, instance, last, acked, declared, lines }));
    } catch {
      this.forget(); // full or forbidden: a later page starts a stream of its own
    }
  }

  /** For a page that does not know yet whether the storage is its own: only where nobody else wrote since it looked. */
  saveUnlessChanged() {
    try {
      if ((this.storage?.getItem(this.key) ?? null) === this.#found) this.save();
    } catch {
      // a storage that cannot be read is not written either
    }
  }

  forget() {
    try {
      this.storage?.removeItem(this.key);
    } catch {
      // a storage that refuses even this keeps nothing of ours to come back to
    }
  }

  #begin() {
    this.stream = `${this.name.replace(/[^\w.-]/g, "-").slice(0, 40)}-${randomHex(8)}`;
    this.instance = randomHex(16);
  }

  #restore() {
    try {
      this.#found = this.storage?.getItem(this.key) ?? null;
      const saved = JSON.parse(this.#found ?? "null");
      if (saved === null) return false;
      const items = saved.lines.map(([from, to, line]) => ({ from, to, line, bytes: line === null ? 0 : byteLength(line) }));
      const { stream, instance, last, acked, declared } = saved;
      if (!Number.isSafeInteger(last + acked) || typeof stream !== "string" || typeof instance !== "string") return false;
      Object.assign(this, { stream, instance, last, acked, declared: [...declared] });
      [this.#items, this.#restored] = [items, last];
      this.#bytes = items.reduce((sum, item) => sum + item.bytes, 0);
      return true;
    } catch {
      return false; // unreadable: a new stream
    }
  }

  #drop(place) {
    const item = this.#items[place];
    this.#bytes -= item.bytes;
    this.lost += 1;
    Object.assign(item, { line: null, bytes: 0 });
    for (const left of [place, place - 1]) {
      const [hole, next] = [this.#items[left], this.#items[left + 1]];
      if (left < this.#cursor || !next || hole.line !== null || next.line !== null) continue;
      hole.to = next.to; // two holes side by side are one
      this.#items.splice(left + 1, 1);
    }
  }

  #inFlight() {
    const sent = this.#items.slice(0, this.#cursor).filter((item) => item.line !== null);
    return [sent.length, sent.reduce((sum, item) => sum + item.bytes, 0)];
  }
}

/** Distinct, not secret: Node has no global crypto before 20, and browsers have it everywhere. */
function randomHex(bytes) {
  const random = Array.from({ length: bytes }, () => Math.floor(Math.random() * 256));
  const values = globalThis.crypto?.getRandomValues(new Uint8Array(bytes)) ?? random;
  return Array.from(values, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
