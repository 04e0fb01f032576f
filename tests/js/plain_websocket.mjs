// A websocket client of one page over node:http, for a Node that has none; also the test that any such class will do.

import { randomBytes } from "node:crypto";
import { request } from "node:http";

export class PlainWebSocket {
  constructor(url) {
    const { hostname, port, pathname } = new URL(url);
    const headers = {
      Connection: "Upgrade",
      Upgrade: "websocket",
      "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": randomBytes(16).toString("base64"),
    };
    const opening = request({ hostname, port, path: pathname, headers });
    opening.on("upgrade", (_, socket, head) => this.#opened(socket, head));
    opening.on("response", () => this.#ended());
    opening.on("error", () => this.#ended());
    opening.end();
  }

  #socket = null;
  #received = Buffer.alloc(0);
  #parts = [];
  #code = 1006;
  #isOver = false;

  send(text) {
    this.#write(1, Buffer.from(text));
  }

  close() {
    if (this.#socket) this.#write(8, Buffer.from([3, 232]));
    else this.#ended();
  }

  #opened(socket, head) {
    this.#socket = socket;
    socket.on("data", (data) => this.#receive(data));
    socket.on("close", () => this.#ended());
    socket.on("error", () => {});
    this.onopen?.({});
    if (head.length) this.#receive(head);
  }

  #ended() {
    if (this.#isOver) return;
    this.#isOver = true;
    queueMicrotask(() => this.onclose?.({ code: this.#code }));
  }

  #write(opcode, data) {
    const length = data.length;
    const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
    head[0] = 0x80 | opcode;
    head[1] = 0x80 | (length < 126 ? length : length < 65_536 ? 126 : 127);
    if (head.length === 4) head.writeUInt16BE(length, 2);
    if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
    this.#socket.write(Buffer.concat([head, Buffer.alloc(4), data])); // a mask of zeros changes nothing
  }

  #receive(data) {
    this.#received = Buffer.concat([this.#received, data]);
    for (;;) {
      const bytes = this.#received;
      if (bytes.length < 2) return;
      let [start, length] = [2, bytes[1] & 0x7f];
      if (length === 126) [start, length] = bytes.length < 4 ? [4, Infinity] : [4, bytes.readUInt16BE(2)];
      else if (length === 127) [start, length] = bytes.length < 10 ? [10, Infinity] : [10, Number(bytes.readBigUInt64BE(2))];
      if (bytes.length < start + length) return;
      this.#received = bytes.subarray(start + length);
      this.#frame(bytes[0] & 0x0f, (bytes[0] & 0x80) !== 0, bytes.subarray(start, start + length));
    }
  }

  #frame(opcode, isLast, data) {
    if (opcode === 8) {
      this.#code = data.length >= 2 ? data.readUInt16BE(0) : 1005;
      this.#write(8, data.subarray(0, 2));
      this.#socket.end();
    } else if (opcode === 9) this.#write(10, data);
    else if (opcode < 3) {
      this.#parts.push(data);
      if (!isLast) return;
      const text = Buffer.concat(this.#parts).toString();
      this.#parts = [];
      this.onmessage?.({ data: text });
    }
  }
}
