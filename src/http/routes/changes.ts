// Route of the change feed: server-sent events or long poll, answered on the thread that was asked.
import { CHANGE_WAIT_SEC_MAX, parseChangeWaitSec } from "../../contract/parse/change-positions.ts";
import { ServiceFault } from "../../contract/faults.ts";
import { negotiateFeedFormat } from "../codec/negotiation.ts";
import type { ChangeFollowers } from "../changes/followers.ts";
import { CHANGES_PAGE_MAX } from "../changes/followers.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";

const EVENT_STREAM = "text/event-stream";
/** Left of the deadline for the reply, ms. */
const REPLY_RESERVE_MS = 100;
const WAIT_DEADLINE_MS = CHANGE_WAIT_SEC_MAX * 1000 + 2000;

export const CHANGE_ROUTES: readonly Route[] = [
  {
    name: "follow_changes",
    method: "GET",
    path: "/v1/changes",
    summary:
      "Changes that outdate cached verdicts, of the caller's tenant and of all tenants: a stream by " +
      "`Accept: text/event-stream`, else a list, with `wait` once there is a change",
    access: "score:read",
    query: {
      since: {
        description:
          "Position that the feed returned last; left out: changes from now on. A position that is gone is answered with 410: drop what is cached",
        example: "0a1b2c3d-42",
      },
      wait: {
        description: `Seconds to wait for a change, 0 to ${CHANGE_WAIT_SEC_MAX}; not for a stream`,
        example: "30",
      },
    },
    responses: {
      200: {
        description:
          "The changes after the position. The stream has events `change` (a `Change`) and `heartbeat` (once a second); `id` is the position to resume from",
        schema: "ChangeList",
        mediaType: EVENT_STREAM,
      },
    },
    isFixedFormat: true,
    isLongPoll: true,
    deadlineMs: WAIT_DEADLINE_MS,
    handle: followChanges,
  },
];

async function followChanges(exchange: Exchange): Promise<Reply> {
  const { services, head, query } = exchange;
  const followers = exchange.require("changes");
  const format = negotiateFeedFormat(head.accept);
  const waitMs = 1000 * parseChangeWaitSec(query.get("wait"));
  if (services.isDraining) {
    throw new ServiceFault("draining", "follow another node, or the next process");
  }
  await followers.log.opened;
  if (format !== "events") {
    exchange.replyFormat = format;
    return pollChanges(exchange, followers, waitMs);
  }
  const headers = [
    "Content-Type",
    EVENT_STREAM,
    "Cache-Control",
    "no-store",
    "X-Accel-Buffering",
    "no",
    "X-Request-Id",
    exchange.echoedId,
  ];
  if (head.method === "HEAD") return { status: 200, headers, body: "" };
  const stream = followers.openStream(exchange.principal, query.get("since"));
  return { status: 200, headers, body: "", stream };
}

async function pollChanges(
  exchange: Exchange,
  followers: ChangeFollowers,
  waitMs: number,
): Promise<Reply> {
  const { log } = followers;
  const { principal } = exchange;
  const after = log.resolvePosition(exchange.query.get("since"));
  const leftMs = Math.min(waitMs, exchange.deadlineMs - REPLY_RESERVE_MS);
  let page = log.read(after, principal.tenant, CHANGES_PAGE_MAX);
  if (page.changes.length === 0 && leftMs > 0) {
    await followers.waitForChange(principal, leftMs);
    page = log.read(after, principal.tenant, CHANGES_PAGE_MAX);
  }
  const position = log.formatPosition(page.end);
  const changes = page.changes.map(({ json }) => JSON.parse(json) as unknown);
  return exchange.document(200, { position, changes });
}
