// Name of the caller that Envoy asks about: from the certificate that Envoy has checked, or from a
// header where the operator says which one. Only whole names of the schemes `agent` and `spiffe`
// name agents; a subject such as `CN=shop` would pass as plain text, and be whoever bears that name.
import { isAgentId } from "../../contract/identifiers.ts";

/** A header's name in lower case, or undefined for the certificate's principal. */
export interface CallerSource {
  readonly header: string | undefined;
}

export const CALLER_BY_PRINCIPAL: CallerSource = { header: undefined };

const HEADER_PATTERN = /^header:([a-z0-9-]{1,64})$/;
const AGENT_SCHEME = "agent://";
const SPIFFE_SCHEME = "spiffe://";

/** As the setting has it. @throws RangeError */
export function parseCallerSource(text: string): CallerSource {
  const header = HEADER_PATTERN.exec(text)?.[1];
  if (header === undefined && text !== "principal") {
    throw new RangeError(`\`${text}\` is not \`principal\` or \`header:NAME\` in lower case`);
  }
  return { header };
}

/**
 * The agent by a name's URI: `agent://acme/shop` itself, and `spiffe://acme.example/ns/shop` as
 * `agent://acme.example/ns/shop`, the trust domain as namespace. Undefined for all else.
 */
export function parseAgentFromUri(name: string): string | undefined {
  const id = name.startsWith(SPIFFE_SCHEME)
    ? AGENT_SCHEME + name.slice(SPIFFE_SCHEME.length)
    : name;
  return isAgentId(id) ? id : undefined;
}
