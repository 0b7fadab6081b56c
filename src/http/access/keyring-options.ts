// Ways into a keyring and out of it.
import type { KeyDescription } from "../../contract/schemas/service.ts";
import type { StoredKey } from "./key-file.ts";

/** Puts the stored form of a key on record for every node; resolves once it is durable. */
export type KeyAppender = (stored: StoredKey) => Promise<unknown>;

export interface KeyringOptions {
  dataDir: string;
  now: () => number;
  /** The `<env>` part of new keys: 2 to 8 lower-case letters. */
  environment?: string;
  /** Runs once per key that was made, changed or revoked, ahead of the answer to its caller. */
  onChange?: (stored: StoredKey) => void;
}

/** A key with another secret. */
export interface RotatedKey {
  /** Its text, shown this once. */
  key: string;
  description: KeyDescription;
  undo: () => Promise<void>;
}
