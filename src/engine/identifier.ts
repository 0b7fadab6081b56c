// Writes identifiers into a thread's scratch region as UTF-8. Agent identifiers are ASCII, so the
// plain loop is the path taken; anything else goes through the encoder. What comes in is an agent's
// name in the table (agentKey of contract/identifiers.ts).
import { ID_BYTES_MAX } from "../../assembly/layout.ts";

const encoder = new TextEncoder();

/**
 * Writes `id` at `offset` of `bytes`; returns its length in bytes.
 * @throws RangeError when it is longer than ID_BYTES_MAX.
 */
export function writeIdentifier(bytes: Uint8Array, offset: number, id: string): number {
  const length = id.length;
  if (length > ID_BYTES_MAX) throw createIdentifierTooLongError();
  let seen = 0;
  for (let i = 0; i < length; i++) {
    const code = id.charCodeAt(i);
    bytes[offset + i] = code;
    seen |= code;
  }
  return seen > 0x7f ? writeUtf8Identifier(bytes, offset, id) : length;
}

function writeUtf8Identifier(bytes: Uint8Array, offset: number, id: string): number {
  const encoded = encoder.encode(id);
  if (encoded.length > ID_BYTES_MAX) throw createIdentifierTooLongError();
  bytes.set(encoded, offset);
  return encoded.length;
}

function createIdentifierTooLongError(): RangeError {
  return new RangeError(`identifier is longer than ${ID_BYTES_MAX} bytes`);
}
