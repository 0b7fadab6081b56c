// Voice of an outcome: who answers for it. A signed outcome is its reporter's, an unsigned one that
// of the API key it came with, whichever reporter it names. A key that an admin has marked as
// first-party lends its word to the reporters that it names.
import { hash } from "node:crypto";

/** The reporter named: it signed, or the outcome was recorded before voices were. */
export const VOICE_REPORTER = 0;
/** The reporter named, vouched for by the operator. */
export const VOICE_FIRST_PARTY = 1;
/** From here on, up to VOICE_MAX: an API key that nobody vouches for. */
export const VOICE_STRANGER = 2;
export const VOICE_MAX = 0x3fffffff;
/** Largest number of a tenant as the voice of assessments. */
export const ASKER_MAX = 0x1fffffff;

/** Number of an API key as a voice: 30 bits of its id's hash, VOICE_STRANGER to VOICE_MAX. */
export function hashKeyIdToVoice(keyId: string): number {
  const number = hash("sha256", keyId, "buffer").readUInt32LE(0) & VOICE_MAX;
  return Math.max(number, VOICE_STRANGER);
}

/** Number of a tenant as the voice of assessments: 29 bits of its name's hash, 0 to ASKER_MAX. */
export function hashTenantToAskerNumber(tenant: string): number {
  return hash("sha256", tenant, "buffer").readUInt32LE(0) & ASKER_MAX;
}
