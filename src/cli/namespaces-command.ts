// `trustrank namespaces grant | list | transfer | revoke`: which tenant owns which namespace. Works on
// the files when no server holds them; otherwise the server makes the change, at once.
import { SerialQueue } from "../concurrency/serial-queue.ts";
import { foldKeyRegistry } from "../bureau/reporters/key-registry.ts";
import { Namespaces } from "../bureau/reporters/namespaces.ts";
import type { ServiceFault } from "../contract/faults.ts";
import { isPlainText, parseNamespace } from "../contract/identifiers.ts";
import { TENANT_LENGTH_MAX } from "../contract/limits.ts";
import type { NamespaceDescription } from "../contract/schemas/namespaces.ts";
import { CommandFailure, EXIT_USAGE } from "../service/failure.ts";
import { OPERATOR_CALL } from "../service/import/local-sink.ts";
import { type DataAccess, runOnFilesOrServer } from "./data-access.ts";
import { withCoreOnFiles } from "./file-core.ts";
import { printNote, print, printJson, printTable, type OutputFlags } from "./output.ts";

const COLUMNS = ["namespace", "tenant", "state", "vouched", "mediator", "since", "granted by"];
const { principal: operator } = OPERATOR_CALL;

/** Every namespace that has an owner; the inherited ones wait to be confirmed. */
export async function listNamespaces(access: DataAccess, flags: OutputFlags): Promise<void> {
  const namespaces = await runOnFilesOrServer(
    access,
    (dataDir) => withNamespacesOnFiles(dataDir, async (files) => files.list()),
    async (client) =>
      (await client.sendJson<{ namespaces: NamespaceDescription[] }>("GET", "/v1/namespaces"))
        .namespaces,
  );
  if (flags.json === true) return printJson(namespaces);
  printTable(COLUMNS, namespaces.map(formatNamespaceCells));
  const isInherited = namespaces.some(({ state }) => state === "inherited");
  if (isInherited) printNote("inherited: grant it to its tenant to confirm, or transfer it");
}

/** Makes a tenant the owner, or confirms that it is. */
export async function grantNamespace(
  access: DataAccess,
  name: string,
  flags: OutputFlags & { tenant: string; vouched?: boolean; mediator?: boolean },
): Promise<void> {
  const [route, tenant] = [buildNamespaceRoute(name), parseTenant(flags.tenant)];
  const { vouched, mediator } = flags;
  const to = { tenant, isVouched: vouched, isMediator: mediator };
  const owned = await runOnFilesOrServer<NamespaceDescription>(
    access,
    (dataDir) => withNamespacesOnFiles(dataDir, (files) => files.grant(name, to, operator)),
    // A member that is undefined is not sent.
    (client) => client.sendJson("PUT", route, { tenant, vouched, mediator }),
  );
  printNamespace(owned, flags);
}

/** Gives a namespace to another tenant. */
export async function transferNamespace(
  access: DataAccess,
  name: string,
  flags: OutputFlags & { readonly to: string; readonly keepKeys?: boolean },
): Promise<void> {
  const [route, tenant] = [buildNamespaceRoute(name), parseTenant(flags.to)];
  const keepsKeys = flags.keepKeys === true;
  const owned = await runOnFilesOrServer<NamespaceDescription>(
    access,
    (dataDir) =>
      withNamespacesOnFiles(dataDir, (files) =>
        files.transfer(name, { tenant, keepsKeys }, operator),
      ),
    (client) => client.sendJson("POST", `${route}/transfer`, { tenant, keep_keys: keepsKeys }),
  );
  printNamespace(owned, flags);
}

/** Takes a namespace back. */
export async function revokeNamespace(
  access: DataAccess,
  name: string,
  flags: OutputFlags & { readonly discountSince?: number },
): Promise<void> {
  const route = buildNamespaceRoute(name);
  const { discountSince: discountSinceMs } = flags;
  const query = discountSinceMs === undefined ? "" : `?discount_since=${discountSinceMs}`;
  const was = await runOnFilesOrServer<NamespaceDescription>(
    access,
    (dataDir) =>
      withNamespacesOnFiles(dataDir, (files) => files.revoke(name, { discountSinceMs }, operator)),
    (client) => client.sendJson("DELETE", route + query),
  );
  if (flags.json === true) printJson(was);
  else print(`${was.namespace} no longer belongs to ${was.tenant}; its keys there have retired`);
}

function printNamespace(owned: NamespaceDescription, { json }: OutputFlags): void {
  if (json === true) printJson(owned);
  else {
    const voices = owned.vouched
      ? "each of its signers is a voice"
      : "all its signers are one voice";
    const mediates = owned.mediator ? "; its keys attest transactions of others" : "";
    print(`${owned.namespace} belongs to ${owned.tenant}; ${voices}${mediates}`);
  }
}

function formatNamespaceCells(owned: NamespaceDescription): string[] {
  const { namespace, tenant, state, since, granted_by: grantedBy } = owned;
  const marks = [owned.vouched, owned.mediator].map((isSo) => (isSo ? "yes" : "no"));
  return [namespace, tenant, state, ...marks, since, grantedBy ?? ""];
}

/** @throws CommandFailure for what is no namespace. */
function buildNamespaceRoute(name: string): string {
  try {
    return `/v1/namespaces/${encodeURIComponent(parseNamespace(name))}`;
  } catch (error) {
    throw new CommandFailure((error as ServiceFault).detail, EXIT_USAGE);
  }
}

function parseTenant(text: string): string {
  if (isPlainText(text, TENANT_LENGTH_MAX)) return text;
  const detail = `a tenant is 1 to ${TENANT_LENGTH_MAX} bytes of plain text`;
  throw new CommandFailure(detail, EXIT_USAGE);
}

function withNamespacesOnFiles<T>(
  dataDir: string,
  run: (namespaces: Namespaces) => Promise<T>,
): Promise<T> {
  return withCoreOnFiles(dataDir, ({ ledger: events }) => {
    const registry = foldKeyRegistry(events.keyEvents);
    const changes = new SerialQueue();
    const onEvent = () => undefined;
    return run(new Namespaces({ events, registry, changes, onEvent, clock: Date.now }));
  });
}
