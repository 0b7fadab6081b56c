// Redaction of log lines: API keys in any text of a line, bearer tokens, and secrets that the caller
// names. Works on the finished line, so that no member, however deep, and no stack is forgotten.

/** The id of a key is no secret and stays: it says which key to revoke. */
const API_KEY = /\b(tr_[a-z]{1,8}_[0-9A-Za-z]{10})_[\w-]+/g;
const BEARER = /\b(Bearer|Basic) +(?!tr_)[\w.~+/=-]{8,}/gi;
const CENSOR = "[redacted]";

/** The line of JSON without what must not be in it. */
export function redactSecrets(line: string, secrets: readonly string[]): string {
  let clean = line;
  for (const secret of secrets) {
    // As it stands in JSON: quotes and backslashes have a backslash before them there.
    const written = JSON.stringify(secret).slice(1, -1);
    if (written !== "") clean = clean.replaceAll(written, CENSOR);
  }
  if (clean.includes("tr_")) clean = clean.replaceAll(API_KEY, `$1_${CENSOR}`);
  return /(?:bearer|basic) /i.test(clean) ? clean.replaceAll(BEARER, `$1 ${CENSOR}`) : clean;
}
