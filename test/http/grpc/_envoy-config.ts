// Check of an Envoy configuration against Envoy's published API (envoy-api.txt): every member by its
// name and the kind of its value, the way Envoy reads YAML. What a rule of a validator or a filter
// would say beyond that (lengths, required members) is not checked.
import { ENUMS, type Field, MESSAGES } from "./_envoy.ts";

const KINDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string",
  bool: (value) => typeof value === "boolean",
  bytes: (value) => typeof value === "string",
  double: (value) => typeof value === "number",
  float: (value) => typeof value === "number",
  "google.protobuf.BoolValue": (value) => typeof value === "boolean",
  "google.protobuf.UInt32Value": Number.isSafeInteger,
  "google.protobuf.Duration": (value) => /^\d+(\.\d{1,9})?s$/.test(String(value)),
  "google.protobuf.Struct": (value) => typeof value === "object",
};
const isWhole = (type: string) => /^u?int(32|64)$/.test(type);

/** What is wrong, one sentence each with the place; nothing for a configuration that fits. */
export function misfits(type: string, value: unknown, at = ""): string[] {
  if (type === "google.protobuf.Any") return misfitsOfAny(value, at);
  const values = ENUMS.get(type);
  if (values !== undefined) {
    return values.has(String(value)) ? [] : [`${at}: ${type} has no ${String(value)}`];
  }
  const isOfKind = isWhole(type) ? Number.isSafeInteger : KINDS[type];
  if (isOfKind !== undefined) return isOfKind(value) ? [] : [`${at}: is no ${type}`];
  const fields = MESSAGES.get(type);
  if (fields === undefined) return [`${at}: ${type} is not in the table`];
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return [`${at}: is no ${type}`];
  }
  return Object.entries(value).flatMap(([name, member]) => {
    const field = fields.get(name);
    return field === undefined
      ? [`${at}.${name}: is no member of ${type}`]
      : misfitsOfMember(field, member, `${at}.${name}`);
  });
}

function misfitsOfMember({ type, isRepeated, isMap }: Field, value: unknown, at: string): string[] {
  if (!isRepeated && !isMap) return misfits(type, value, at);
  if (typeof value !== "object" || value === null || Array.isArray(value) !== isRepeated) {
    return [`${at}: is no ${isRepeated ? "list" : "map"}`];
  }
  return Object.entries(value).flatMap(([key, each]) => misfits(type, each, `${at}.${key}`));
}

function misfitsOfAny(value: unknown, at: string): string[] {
  const { "@type": url, ...members } = (value ?? {}) as Record<string, unknown>;
  const type = /^type\.googleapis\.com\/([\w.]+)$/.exec(String(url))?.[1];
  return type === undefined ? [`${at}: has no @type`] : misfits(type, members, at);
}
