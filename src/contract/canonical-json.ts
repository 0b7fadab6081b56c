// Canonical JSON, the text that content-addressed documents (scoring configs, policies) are named by.

/** Canonical JSON: members sorted, so that equal configs have equal digests. */
export function formatCanonicalJson(value: unknown): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(formatCanonicalJson).join(",")}]`;
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([k, v]) => `${JSON.stringify(k)}:${formatCanonicalJson(v)}`).join(",")}}`;
}
