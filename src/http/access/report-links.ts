// Links to one report that open in a browser, where no key can be sent: signed for one run and a few
// minutes, with a key that lives as long as the process. They read, and only that run.
import { createHmac, timingSafeEqual } from "node:crypto";

/** Life of a link. */
export const KAIZEN_REPORT_LINK_LIFE_MS = 15 * 60_000;

const TOKEN = /^([1-9]\d{9,11})\.([\w-]{43})$/;

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
    const [, expiry, signature] = TOKEN.exec(token) ?? [];
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
