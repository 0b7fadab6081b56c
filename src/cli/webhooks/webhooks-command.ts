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
import { type DataAccess, runOnFilesOrServer } from "../data-access.ts";
import { printNote, print, printJson, printTable, type OutputFlags } from "../output.ts";
import type { ServerClient, ServerRequest } from "../server-client.ts";

const ROUTE = "/v1/webhooks";
const COLUMNS = ["id", "url", "tenant", "events", "state", "waiting", "delivered", "dead"];
const DEAD_COLUMNS = ["webhook id", "type", "died", "attempts", "why"];

/** Every endpoint, without secrets. */
export async function listWebhooks(access: DataAccess, flags: OutputFlags): Promise<void> {
  const { webhooks } = await callWebhookServer<WebhookList>(access, "GET", ROUTE);
  if (flags.json === true) return printJson(webhooks);
  printTable(COLUMNS, webhooks.map(formatWebhookCells));
}

export interface WebhookAddFlags extends OutputFlags {
  readonly events?: string;
  readonly tenant?: string;
  readonly description?: string;
}

/** Prints the secret alone on stdout, so that a script can take it; the rest goes to stderr. */
export async function addWebhook(
  access: DataAccess,
  url: string,
  flags: WebhookAddFlags,
): Promise<void> {
  const { events, tenant, description } = flags;
  const made = await callWebhookServer<WebhookCreated>(access, "POST", ROUTE, {
    url,
    ...(events === undefined ? {} : { events: events.split(",").map((each) => each.trim()) }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(description === undefined ? {} : { description }),
  });
  showSecret(made, flags);
}

/** Another secret; the former one signs beside it for a day. */
export async function renewWebhookSecret(
  access: DataAccess,
  id: string,
  flags: OutputFlags,
): Promise<void> {
  showSecret(
    await callWebhookServer<WebhookCreated>(access, "POST", `${buildWebhookRoute(id)}/secret`),
    flags,
  );
}

/** Takes an endpoint away, with all that waits for it. */
export async function removeWebhook(
  access: DataAccess,
  id: string,
  flags: OutputFlags,
): Promise<void> {
  const was = await callWebhookServer<Webhook>(access, "DELETE", buildWebhookRoute(id));
  if (flags.json === true) printJson(was);
  else print(`removed ${was.id} (${was.url})`);
}

/** Lets an endpoint go on, or stops it. */
export async function enableWebhook(
  access: DataAccess,
  id: string,
  flags: OutputFlags & { readonly skipBacklog?: boolean },
): Promise<void> {
  const isSkipping = flags.skipBacklog === true;
  await patchWebhook(
    access,
    id,
    { enabled: true, ...(isSkipping ? { skip_backlog: true } : {}) },
    flags,
  );
}

export async function disableWebhook(
  access: DataAccess,
  id: string,
  flags: OutputFlags,
): Promise<void> {
  await patchWebhook(access, id, { enabled: false }, flags);
}

/** @throws CommandFailure when the endpoint did not take it. */
export async function testWebhook(
  access: DataAccess,
  id: string,
  flags: OutputFlags,
): Promise<void> {
  const tested = await callWebhookServer<WebhookTested>(
    access,
    "POST",
    `${buildWebhookRoute(id)}/test`,
  );
  if (flags.json === true) printJson(tested);
  const took = `${Math.round(tested.elapsed_ms)} ms`;
  if (!tested.delivered) throw new CommandFailure(`not delivered: ${tested.detail} (${took})`);
  if (flags.json !== true) print(`delivered: answered ${tested.status} in ${took}`);
}

/** Dead letters; with `redeliver` they are sent again: all of them or those that `only` names. */
export async function listWebhookDeadLetters(
  access: DataAccess,
  id: string,
  flags: OutputFlags & { readonly redeliver?: boolean; readonly only?: string },
): Promise<void> {
  if (flags.redeliver === true) {
    await redeliver(access, id, flags);
    return;
  }
  const { dead: letters } = await callWebhookServer<WebhookDead>(
    access,
    "GET",
    `${buildWebhookRoute(id)}/dead`,
  );
  if (flags.json === true) return printJson(letters);
  const rows = letters.map((each) => [
    each.webhook_id,
    each.type,
    each.died_at,
    each.attempts,
    each.detail,
  ]);
  printTable(DEAD_COLUMNS, rows);
}

async function redeliver(
  access: DataAccess,
  id: string,
  flags: OutputFlags & { readonly only?: string },
): Promise<void> {
  const ids = flags.only?.split(",").map((each) => each.trim());
  const body = ids === undefined ? {} : { webhook_ids: ids };
  const answer = await callWebhookServer<WebhookRedelivery>(
    access,
    "POST",
    `${buildWebhookRoute(id)}/dead/redeliver`,
    body,
  );
  if (flags.json === true) printJson(answer);
  else print(`${answer.redelivered} wait again, ${answer.dead} are left`);
}

async function patchWebhook(
  access: DataAccess,
  id: string,
  patch: WebhookPatch,
  flags: OutputFlags,
): Promise<void> {
  const now = await callWebhookServer<Webhook>(access, "PATCH", buildWebhookRoute(id), patch);
  if (flags.json === true) printJson(now);
  else print(`${now.id} is ${describeWebhookState(now)}`);
}

function showSecret(made: WebhookCreated, flags: OutputFlags): void {
  if (flags.json === true) return printJson(made);
  printNote(`endpoint ${made.id} for ${made.events.join(", ")}; its secret, shown once:`);
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

function callWebhookServer<Answer>(
  access: DataAccess,
  method: ServerRequest["method"],
  path: string,
  body?: unknown,
): Promise<Answer> {
  return runOnFilesOrServer<Answer>(access, rejectWithoutServer, (client: ServerClient) =>
    client.sendJson<Answer>(method, path, body),
  );
}

function rejectWithoutServer(): Promise<never> {
  const detail = "no server holds the data directory: webhooks are told by a running service";
  return Promise.reject(new CommandFailure(detail));
}
