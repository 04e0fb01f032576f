// What attach says where there is no WebSocket.

import { attach } from "../../static/js/footprint-sender.js";
import { ReplayingAgent } from "./agent.mjs";

delete globalThis.WebSocket;
try {
  attach(new ReplayingAgent(), { url: "ws://127.0.0.1:1/", token: "fp_test" });
} catch (problem) {
  process.stdout.write(problem.message);
}
