// Reads an event through the allow-list. Only listed fields are ever touched, so arguments, results, prompts and error
// texts cannot leave, and what JSON cannot say (BigInt, circular objects, getters that throw) cannot break anything.
//
// The dashboard reads what arrives through the same list once more and decides. So a field of the wrong type is sent as an
// empty value of that type, and a name that is too long as OVERLONG: the refusal and its reason are then the same as for
// the event itself, and nothing of the value has left.

import { CONTENT_CLASSES, EVENTS, LIMITS, META, WORDS } from "./footprint-kept.js";

const OVERLONG = "\u2026";
const encoder = new TextEncoder();

/**
 * The event as it is sent, `{type, payload, meta}`, or null when the list does not name its type. Never throws. What has no
 * readable type is sent as that: the dashboard refuses it, and calls no answer complete that was open at this place.
 */
export function keep(event, { texts = true } = {}) {
  const type = get(event, "type");
  if (typeof type !== "string") return { type: readField(type, "type", "unreadable", texts) };
  if (!Object.hasOwn(EVENTS, type)) return null;
  return {
    type,
    payload: readField(get(event, "payload") ?? {}, "payload", { struct: EVENTS[type] }, texts) ?? {},
    meta: readField(get(event, "meta") ?? {}, "meta", { struct: META }, texts) ?? {},
  };
}

/** How many bytes the text has in UTF-8. */
export function byteLength(text) {
  return encoder.encode(text).length;
}

function get(object, field) {
  try {
    return object[field];
  } catch {
    return undefined; // a getter that throws, or no object at all: the field does not exist
  }
}

function readObject(value, fields, texts) {
  if (!isObject(value)) return emptyOfItsType(value);
  const shape = {};
  for (const [field, kind] of Object.entries(fields)) {
    const read = readField(get(value, field), field, kind, texts);
    if (read !== undefined) shape[field] = read;
  }
  return shape;
}

function readField(value, field, kind, texts) {
  try {
    if (value === undefined || typeof value === "function" || typeof value === "symbol") return undefined;
    if (typeof kind !== "string") return readNested(value, kind, texts);
    if (kind === "text" && !texts) return undefined;
    return READERS[kind](value, field);
  } catch {
    return undefined; // a revoked proxy, or a list that changes while it is read
  }
}

function readNested(value, kind, texts) {
  if (kind.struct) return readObject(value, kind.struct, texts);
  return list(value, (item) => readObject(item, kind.structs, texts));
}

const READERS = {
  name: (value) => (typeof value === "string" ? name(value) : emptyOfItsType(value)),
  opt_name: (value, field) => (typeof value === "string" ? name(value, field) : undefined),
  names: (value) => (Array.isArray(value) && value.length === 0 ? undefined : names(value)),
  opt_names: (value) => (value === null ? undefined : names(value)),
  word: (value, field) => (isNull(value) ? null : WORDS[field].includes(value) ? value : "other"),
  flag: (value) => (isNull(value) || !value ? undefined : true),
  presence: (value) => (isNull(value) || value === false ? undefined : true),
  count: (value) => (typeof number(value) === "number" ? number(value) : emptyOfItsType(value)),
  opt_count: (value) => wholeNumber(number(value)),
  length: (value) => (Array.isArray(value) ? value.length : wholeNumber(number(value))),
  number: (value) => (typeof number(value) === "number" ? number(value) : emptyOfItsType(value)),
  millis: (value) => within(number(value), 0, LIMITS.longestMs + 1, roundHalfEven),
  clock: (value) => within(number(value), LIMITS.clockFromMs, LIMITS.clockToMs, Math.trunc),
  label: (value) => (typeof value === "string" ? firstCharacters(clean(value), LIMITS.labelChars) : undefined),
  text: (value) => (typeof value === "string" ? cutText(clean(value)) : undefined),
  declared: (value) => (typeof value === "string" ? wellFormed(value) : orAbsent(value)),
  plain: (value) => (typeof value === "boolean" ? value : emptyOfItsType(value)),
  roster: (value) => list(value, rosterEntry),
  unreadable: emptyOfItsType,
};

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isNull(value) {
  return value === null || (typeof value === "number" && !Number.isFinite(value)); // JSON writes NaN as null
}

/** What is sent in place of a value of the wrong type: its type and nothing of it. */
function emptyOfItsType(value) {
  if (isNull(value)) return null;
  if (Array.isArray(value)) return [];
  return { string: "", number: 0, bigint: 0, boolean: false, object: {} }[typeof value];
}

function orAbsent(value) {
  return isNull(value) ? undefined : emptyOfItsType(value);
}

function list(value, read) {
  if (!Array.isArray(value)) return emptyOfItsType(value);
  return value.map((item) => read(item) ?? null);
}

function clean(text) {
  return wellFormed(text).replaceAll("\0", "\u2400");
}

function wellFormed(text) {
  return text.replace(/\p{Surrogate}/gu, "\ufffd"); // with the u flag: only halves of a pair that stand alone
}

function name(value, field) {
  const limit = field === "runtimeStageId" ? LIMITS.stageUnits : LIMITS.nameUnits;
  return value.length > limit ? OVERLONG.repeat(limit + 1) : clean(value);
}

function names(value) {
  return list(value, READERS.name);
}

function number(value) {
  if (typeof value === "bigint") return Number(value);
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

function wholeNumber(value) {
  return Number.isInteger(value) && value >= 0 && value < 2 ** 63 ? value : undefined;
}

function within(value, from, before, round) {
  return value !== undefined && value >= from && value < before ? round(value) : undefined;
}

function roundHalfEven(value) {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}

function firstCharacters(text, limit) {
  return text.length <= limit ? text : Array.from(text).slice(0, limit).join("");
}

/** At most one character over the limit: the dashboard makes the cut, and sees by that character that there is one. */
function cutText(text) {
  if (text.length * 3 <= LIMITS.textBytes) return text;
  const { read } = encoder.encodeInto(text, new Uint8Array(LIMITS.textBytes));
  return text.slice(0, read) + (read < text.length ? String.fromCodePoint(text.codePointAt(read)) : "");
}

function rosterEntry(entry) {
  if (!isObject(entry)) return emptyOfItsType(entry);
  const shape = {};
  const spelling = (value) => (typeof value === "string" ? clean(value) : emptyOfItsType(value));
  const [entryName, aliases, origin] = ["name", "aliases", "contentOrigin"].map((field) => get(entry, field));
  if (entryName !== undefined) shape.name = spelling(entryName);
  if (aliases !== undefined) shape.aliases = list(aliases, spelling);
  if (typeof origin === "string") shape.contentOrigin = CONTENT_CLASSES.includes(origin) ? origin : "other";
  else if (origin !== undefined) shape.contentOrigin = emptyOfItsType(origin);
  return shape;
}
