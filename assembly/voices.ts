// Voices of outcomes: the reporter that an outcome names answers for it, or the same vouched for by
// the operator, or, from VOICE_STRANGER on, an API key that nobody vouches for (30 bits of its hash).
export const VOICE_REPORTER = 0;
export const VOICE_FIRST_PARTY = 1;
export const VOICE_STRANGER = 2;
export const VOICE_MAX = 0x3fffffff;
/** Largest number of a tenant as the voice of assessments. */
export const ASKER_MAX = 0x1fffffff;
