// Revocation of an API key lasts: in a cluster a change that was made without knowing of it may stand behind it
// in the log.

interface Revocable {
  readonly revokedAtMs: number | null;
}

/** The later form of a key, revoked if the earlier one was. */
export function stillRevoked<Key extends Revocable>(
  earlier: Revocable | undefined,
  later: Key,
): Key {
  const revokedAtMs = earlier?.revokedAtMs ?? null;
  return revokedAtMs === null || later.revokedAtMs !== null ? later : { ...later, revokedAtMs };
}
