// Events of the reporters' signing keys, as the journal keeps them.

/**
 * In whose right a key was registered or revoked: the namespace's owner, or an admin. Left out by
 * events from before ownership was granted.
 */
export type KeyRight = "owner" | "admin";

/** Journal payload of a record of kind `key`, as JSON. Times are epoch ms. */
export type KeyEvent = KeyRegisteredEvent | KeyRevokedEvent;

export interface KeyRegisteredEvent {
  event: "registered";
  at_ms: number;
  tenant: string;
  agent: string;
  kid: string;
  x: string;
  not_before_ms: number;
  expires_ms: number | null;
  /** When the agent's other keys stop verifying. */
  others_retire_ms: number;
  /** The compact JWS over the server's nonce. */
  proof: string;
  by?: KeyRight;
}

export interface KeyRevokedEvent {
  event: "revoked";
  at_ms: number;
  tenant: string;
  kid: string;
  /** Outcomes it signed count for nothing from then on; null: only the future is closed. */
  compromised_since_ms: number | null;
  by?: KeyRight;
}
