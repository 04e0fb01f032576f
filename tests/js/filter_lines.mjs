// Every event of stdin, one a line, through the sender's filter; "null" where the list does not name it.

import { readFileSync } from "node:fs";

import { keep } from "../../static/js/footprint-filter.js";

const lines = readFileSync(0, "utf8").split("\n").filter(Boolean);
process.stdout.write(lines.map((line) => JSON.stringify(keep(JSON.parse(line)))).join("\n"));
