// Voice of an outcome: who answers for it. A signed outcome is its reporter's where an administrator
// vouches for the namespace's owner, else the owning tenant's. An unsigned one is the sending tenant's,
// whichever reporter it names. A first-party key lends its word to the reporters that it names.
import { hash } from "node:crypto";

/** The reporter named: it signed and is vouched for, or the outcome is from before that was asked. */
export const VOICE_REPORTER = 0;
/** The reporter named, vouched for by the operator. */
export const VOICE_FIRST_PARTY = 1;
/** From here on, up to VOICE_MAX: a tenant that nobody vouches for; in older records one API key of it. */
export const VOICE_STRANGER = 2;
export const VOICE_MAX = 0x3fffffff;
/** Largest number of a tenant as the voice of assessments. */
export const ASKER_MAX = 0x1fffffff;

/** Number of a tenant as a voice of outcomes: 30 bits of its name's hash, VOICE_STRANGER to VOICE_MAX. */
export function hashTenantToVoice(tenant: string): number {
  const number = hash("sha256", tenant, "buffer").readUInt32LE(0) & VOICE_MAX;
  return Math.max(number, VOICE_STRANGER);
}

/** Number of a tenant as the voice of assessments: 29 bits of its name's hash, 0 to ASKER_MAX. */
export function hashTenantToAskerNumber(tenant: string): number {
  return hash("sha256", tenant, "buffer").readUInt32LE(0) & ASKER_MAX;
}
