// `trustrank webhooks`: endpoints that a running service tells of events. Only the server tells them, so
// only the server is asked.
import type {
  Webhook,
  WebhookCreated,
  WebhookDead,
  WebhookList,
  WebhookPatch,
  WebhookRedelivery,
  WebhookTested,
} from "../../contract/schemas/webhooks.ts";
import { CommandFailure } from "../../service/failure.ts";
import { type DataAccess, withData } from "../data-access.ts";
import { formatTable, note, print, printJson } from "../output.ts";
import type { ServerClient, ServerRequest } from "../server-client.ts";

interface OutputFlags {
  readonly json?: boolean;
}

const ROUTE = "/v1/webhooks";
const COLUMNS = ["id", "url", "tenant", "events", "state", "waiting", "delivered", "dead"];
const DEAD_COLUMNS = ["webhook id", "type", "died", "attempts", "why"];

/** Every endpoint, without secrets. */
export async function list(access: DataAccess, flags: OutputFlags): Promise<void> {
  const { webhooks } = await ask<WebhookList>(access, "GET", ROUTE);
  if (flags.json === true) {
    printJson(webhooks);
    return;
  }
  for (const line of formatTable(COLUMNS, webhooks.map(formatWebhookCells))) print(line);
}

export interface AddFlags extends OutputFlags {
  readonly events?: string;
  readonly tenant?: string;
  readonly description?: string;
}

/** Prints the secret alone on stdout, so that a script can take it; the rest goes to stderr. */
export async function add(access: DataAccess, url: string, flags: AddFlags): Promise<void> {
  const { events, tenant, description } = flags;
  const made = await ask<WebhookCreated>(access, "POST", ROUTE, {
    url,
    ...(events === undefined ? {} : { events: events.split(",").map((each) => each.trim()) }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(description === undefined ? {} : { description }),
  });
  showSecret(made, flags);
}

/** Another secret; the former one signs beside it for a day. */
export async function renewSecret(
  access: DataAccess,
  id: string,
  flags: OutputFlags,
): Promise<void> {
  showSecret(await ask<WebhookCreated>(access, "POST", `${buildWebhookRoute(id)}/secret`), flags);
}

/** Takes an endpoint away, with all that waits for it. */
export async function remove(access: DataAccess, id: string, flags: OutputFlags): Promise<void> {
  const was = await ask<Webhook>(access, "DELETE", buildWebhookRoute(id));
  if (flags.json === true) printJson(was);
  else print(`removed ${was.id} (${was.url})`);
}

/** Lets an endpoint go on, or stops it. */
export async function enable(
  access: DataAccess,
  id: string,
  flags: OutputFlags & { readonly skipBacklog?: boolean },
): Promise<void> {
  const isSkipping = flags.skipBacklog === true;
  await change(access, id, { enabled: true, ...(isSkipping ? { skip_backlog: true } : {}) }, flags);
}

export async function disable(access: DataAccess, id: string, flags: OutputFlags): Promise<void> {
  await change(access, id, { enabled: false }, flags);
}

/** @throws CommandFailure when the endpoint did not take it. */
export async function test(access: DataAccess, id: string, flags: OutputFlags): Promise<void> {
  const tested = await ask<WebhookTested>(access, "POST", `${buildWebhookRoute(id)}/test`);
  if (flags.json === true) printJson(tested);
  const took = `${Math.round(tested.elapsed_ms)} ms`;
  if (!tested.delivered) throw new CommandFailure(`not delivered: ${tested.detail} (${took})`);
  if (flags.json !== true) print(`delivered: answered ${tested.status} in ${took}`);
}

/** Dead letters; with `redeliver` they are sent again: all of them or those that `only` names. */
export async function dead(
  access: DataAccess,
  id: string,
  flags: OutputFlags & { readonly redeliver?: boolean; readonly only?: string },
): Promise<void> {
  if (flags.redeliver === true) {
    await redeliver(access, id, flags);
    return;
  }
  const { dead: letters } = await ask<WebhookDead>(access, "GET", `${buildWebhookRoute(id)}/dead`);
  if (flags.json === true) {
    printJson(letters);
    return;
  }
  const rows = letters.map((each) => [
    each.webhook_id,
    each.type,
    each.died_at,
    each.attempts,
    each.detail,
  ]);
  for (const line of formatTable(DEAD_COLUMNS, rows)) print(line);
}

async function redeliver(
  access: DataAccess,
  id: string,
  flags: OutputFlags & { readonly only?: string },
): Promise<void> {
  const ids = flags.only?.split(",").map((each) => each.trim());
  const body = ids === undefined ? {} : { webhook_ids: ids };
  const answer = await ask<WebhookRedelivery>(
    access,
    "POST",
    `${buildWebhookRoute(id)}/dead/redeliver`,
    body,
  );
  if (flags.json === true) printJson(answer);
  else print(`${answer.redelivered} wait again, ${answer.dead} are left`);
}

async function change(
  access: DataAccess,
  id: string,
  patch: WebhookPatch,
  flags: OutputFlags,
): Promise<void> {
  const now = await ask<Webhook>(access, "PATCH", buildWebhookRoute(id), patch);
  if (flags.json === true) printJson(now);
  else print(`${now.id} is ${describeWebhookState(now)}`);
}

function showSecret(made: WebhookCreated, flags: OutputFlags): void {
  if (flags.json === true) {
    printJson(made);
    return;
  }
  note(`endpoint ${made.id} for ${made.events.join(", ")}; its secret, shown once:`);
  print(made.secret);
}

function formatWebhookCells(webhook: Webhook): unknown[] {
  const { id, url, tenant, events, waiting, delivered, dead: letters } = webhook;
  const told = events.join(",");
  return [
    id,
    url,
    tenant ?? "(all)",
    told,
    describeWebhookState(webhook),
    waiting,
    delivered,
    letters,
  ];
}

function describeWebhookState({ enabled, paused_by: by, failing_since: since }: Webhook): string {
  if (!enabled) return `paused (${by})`;
  return since === null ? "enabled" : `failing since ${since}`;
}

function buildWebhookRoute(id: string): string {
  return `${ROUTE}/${encodeURIComponent(id)}`;
}

function ask<Answer>(
  access: DataAccess,
  method: ServerRequest["method"],
  path: string,
  body?: unknown,
): Promise<Answer> {
  return withData<Answer>(access, noServer, (client: ServerClient) =>
    client.sendJson<Answer>(method, path, body),
  );
}

function noServer(): Promise<never> {
  const detail = "no server holds the data directory: webhooks are told by a running service";
  return Promise.reject(new CommandFailure(detail));
}
