// Links to one report that open in a browser, where no key can be sent: signed for one run and a few
// minutes, with a key that lives as long as the process. They read, and only that run.
import { createHmac, timingSafeEqual, createHash } from "node:crypto";
import { ServiceFault } from "../../contract/faults.ts";
import type { Principal } from "../../contract/principal.ts";
import type { SigningKeys } from "../../contract/signing-keys.ts";

/** Life of a link. */
export const KAIZEN_REPORT_LINK_LIFE_MS = 15 * 60_000;

const KAIZEN_TOKEN = /^([1-9]\d{9,11})\.([\w-]{43})$/;

export interface KaizenReportLink {
  /** Path and query, below the address of the service. */
  readonly url: string;
  /** RFC 3339. */
  readonly expires_at: string;
}

export class KaizenReportLinks {
  readonly #key: Uint8Array;
  readonly #clock: () => number;

  /** @param key at least 32 random bytes. @param clock epoch ms. */
  constructor(key: Uint8Array, clock: () => number) {
    this.#key = key;
    this.#clock = clock;
  }

  createLink(runId: string): KaizenReportLink {
    const expirySec = Math.ceil((this.#clock() + KAIZEN_REPORT_LINK_LIFE_MS) / 1000);
    const token = `${expirySec}.${this.#computeMac(runId, expirySec)}`;
    return {
      url: `/v1/kaizen/runs/${encodeURIComponent(runId)}/report?token=${token}`,
      expires_at: new Date(expirySec * 1000).toISOString(),
    };
  }

  /** Whether a token was made here, for this run, and has not expired. */
  isTokenValid(runId: string, token: string): boolean {
    const [, expiry, signature] = KAIZEN_TOKEN.exec(token) ?? [];
    if (expiry === undefined || signature === undefined) return false;
    if (Number(expiry) * 1000 <= this.#clock()) return false;
    const own = this.#computeMac(runId, Number(expiry));
    return isSameMac(signature, own);
  }

  #computeMac(runId: string, expirySec: number): string {
    return computeLinkMac(this.#key, `kaizen report\n${runId}\n${expirySec}`);
  }
}

/** Seal of a link's text: 43 characters. */
export function computeLinkMac(key: Uint8Array, text: string): string {
  return createHmac("sha256", key).update(text).digest("base64url");
}

/** Whether two seals, both of 43 characters, are one; how far they agree shows in no timing. */
export function isSameMac(given: string, own: string): boolean {
  return timingSafeEqual(Buffer.from(given), Buffer.from(own));
}

// Links that share one agent's report with a reader without an API key. The MAC key is derived from the service's
// signing key, so that links survive a restart and end with a rotation. A link ends with the API key that made it.
/** No statement of this type is ever published: its signature is a secret. */
const SECRET_TYPE = "shared-report-secret+jws";
/** Reports that are read by links at one time: whoever has a link may ask as often as they like. */
export const SHARED_READS_MAX = 8;
const SHARED_TOKEN = /^([\w-]{1,4096})\.([\w-]{43})$/;

/** What a link opens, and who answers for it. */
export interface SharedReportGrant {
  readonly tenant: string;
  readonly agent: string;
  /** Of the API key that made the link. */
  readonly keyId: string;
}

export interface SharedReportLinksOptions {
  readonly signingKeys: Pick<SigningKeys, "sign">;
  /** Epoch ms. */
  readonly clock: () => number;
  /** Undefined for a key that is not valid now. */
  readonly findValidPrincipal: (keyId: string) => Principal | undefined;
}

export class SharedReportLinks {
  readonly #options: SharedReportLinksOptions;
  #activeReadCount = 0;

  constructor(options: SharedReportLinksOptions) {
    this.#options = options;
  }

  /** A link's token; `expiresMs` is a whole second. */
  createToken({ tenant, agent, keyId }: SharedReportGrant, validSec: number) {
    const expirySec = Math.ceil(this.#options.clock() / 1000) + validSec;
    const text = JSON.stringify([tenant, agent, keyId, expirySec]);
    const part = Buffer.from(text).toString("base64url");
    return { token: `${part}.${this.#computeMac(part)}`, expiresMs: expirySec * 1000 };
  }

  /** What a token opens; undefined when it was not made here, has expired, or its key is gone. */
  verifyToken(token: string): SharedReportGrant | undefined {
    const [, part = "", seal = ""] = SHARED_TOKEN.exec(token) ?? [];
    if (part === "" || !isSameMac(seal, this.#computeMac(part))) return undefined;
    const text = Buffer.from(part, "base64url").toString();
    const [tenant, agent, keyId, expirySec] = JSON.parse(text) as [string, string, string, number];
    if (expirySec * 1000 <= this.#options.clock()) return undefined;
    if (this.#options.findValidPrincipal(keyId) === undefined) return undefined;
    return { tenant, agent, keyId };
  }

  /**
   * Runs a read by a link.
   * @throws ServiceFault `overloaded` while too many others run.
   */
  async runLimited<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#activeReadCount >= SHARED_READS_MAX) {
      throw new ServiceFault("overloaded", "too many shared reports are read now");
    }
    this.#activeReadCount += 1;
    try {
      return await work();
    } finally {
      this.#activeReadCount -= 1;
    }
  }

  /** Ed25519 signs the same text alike each time: a secret that needs no file. */
  #computeMac(part: string): string {
    const { jws } = this.#options.signingKeys.sign(SECRET_TYPE, {});
    const key = createHash("sha256").update(jws).digest();
    return computeLinkMac(key, `agent report\n${part}`);
  }
}
