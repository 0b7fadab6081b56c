// Posts alerts of an outage as JSON to an address of the operations team. Never delays or changes an answer:
// one attempt of at most two seconds, beside the requests.
import { type OutageAlert, shortenAgentId } from "./outage-alert.ts";
import { callGlobalFetch, type FetchLike, logError, scheduleAfter } from "./runtime.ts";

/** Where alerts are posted. */
export interface AlertTarget {
  /** `http:` or `https:`. */
  readonly url: string;
  /** Such as `Authorization`; `Content-Type` is `application/json`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** In place of the platform's own: for proxies and tests. */
  readonly fetch?: FetchLike;
}

const POST_TIMEOUT_MS = 2000;

export class AlertPoster {
  readonly #url: string;
  readonly #origin: string;
  readonly #headers: Headers;
  readonly #fetch: FetchLike;
  #hasFailed = false;

  /** @throws TypeError for an address or headers that no request can have. */
  constructor(target: AlertTarget) {
    const url = URL.canParse(target.url) ? new URL(target.url) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol) || url.username + url.password !== "")
      throw new TypeError(
        "`alert.url` must be an `http:` or `https:` address without a user: put credentials into `alert.headers`",
      );
    this.#url = url.href;
    this.#origin = url.origin;
    this.#headers = new Headers(target.headers);
    this.#headers.set("Content-Type", "application/json");
    this.#fetch = target.fetch ?? callGlobalFetch;
  }

  /**
   * Sends and forgets; `text` is the alert in one line, which chat services show. A failure is logged once
   * until a post succeeds. Never throws.
   */
  post(alert: OutageAlert, text: string): void {
    this.#send(alert, text).then(
      () => (this.#hasFailed = false),
      (thrown: unknown) => this.#reportFailure(thrown),
    );
  }

  async #send(alert: OutageAlert, text: string): Promise<void> {
    const { kind, error, agentId, toolLevel, blockedCount, since } = alert;
    const body = JSON.stringify({
      kind,
      text,
      since,
      blocked_count: blockedCount,
      error: error.code,
      agent_id: shortenAgentId(agentId),
      tool_level: toolLevel,
    });
    const timeout = new AbortController();
    const cancel = scheduleAfter(POST_TIMEOUT_MS, () =>
      timeout.abort(new Error(`no answer within ${POST_TIMEOUT_MS} ms`)),
    );
    try {
      const response = await this.#fetch(this.#url, {
        method: "POST",
        headers: this.#headers,
        body,
        // The headers may hold a secret that is for this host alone.
        redirect: "error",
        signal: timeout.signal,
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`status ${response.status}`);
    } finally {
      cancel();
    }
  }

  /** Names only the origin: the path of a webhook is often its secret. */
  #reportFailure(thrown: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    const detail = thrown instanceof Error ? thrown.message : "the request failed";
    logError(`trustrank: the alert was not accepted by ${this.#origin}: ${detail}`);
  }
}
