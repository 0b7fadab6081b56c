// Events of the reporters' signing keys, as the journal keeps them.

/** Journal payload of a record of kind `key`, as JSON. Times are epoch ms. */
export type KeyEvent = KeyRegistered | KeyRevoked;

export interface KeyRegistered {
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
}

export interface KeyRevoked {
  event: "revoked";
  at_ms: number;
  tenant: string;
  kid: string;
  /** Outcomes it signed count for nothing from then on; null: only the future is closed. */
  compromised_since_ms: number | null;
}
