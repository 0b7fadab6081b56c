// Port of reporters' keys and signatures, as the transports use it. Only the composition root calls
// the constructor.
import { parseDetachedJws } from "../../contract/jws.ts";
import { OUTCOME_SKEW_MS_MAX } from "../../contract/limits.ts";
import type { Principal } from "../../contract/principal.ts";
import type {
  KeyNonce,
  ReporterKeyDescription,
  ReporterKeyRequest,
  ReporterKeyRevocation,
} from "../../contract/schemas/reporter-keys.ts";
import type { OutcomeIntake } from "../outcomes/batch-reader.ts";
import { Namespaces } from "./namespaces.ts";
import { ReporterKeyLifecycle, type ReporterKeyLifecycleOptions } from "./reporters.ts";
import { SignedBody } from "./signed-body.ts";

/** Changes resolve once durable and reject with a ServiceFault. */
export interface ReporterKeys {
  /** Required `aud` of signatures. */
  readonly serviceId: string;
  readonly isSignatureRequired: boolean;
  /**
   * Makes the cheap checks of a signature.
   * @throws ServiceFault as the constructor of SignedBody.
   */
  parseSignedBody(header: string, body: Uint8Array): SignedBody;
  /** Whether the signed id may be a repeat that the ledger no longer remembers. */
  mayBeForgotten(header: string): boolean;
  /** Reads whole batches on another thread; left out, they are recorded row by row. */
  readonly intake?: OutcomeIntake;
  issueNonce(agent: string, principal: Principal): KeyNonce;
  /** Figures under the names of their metrics. */
  gauges(): Record<string, number>;
  list(agent: string): ReporterKeyDescription[];
  register(
    agent: string,
    request: ReporterKeyRequest,
    principal: Principal,
  ): Promise<ReporterKeyDescription>;
  revoke(
    agent: string,
    request: ReporterKeyRevocation,
    principal: Principal,
  ): Promise<ReporterKeyDescription>;
}

export interface ReporterKeysOptions extends ReporterKeyLifecycleOptions {
  readonly intake?: OutcomeIntake;
}

/** Keys of reporters, and the namespaces in which tenants may register them. */
export function openReporterKeys(options: ReporterKeysOptions): {
  reporterKeys: ReporterKeys;
  namespaces: Namespaces;
  /** Takes an event that another node has recorded. */
  learn: (payload: Uint8Array) => void;
} {
  const reporters = new ReporterKeyLifecycle(options);
  const { registry, changes } = reporters;
  const { events, clock, onRegistryEvent: onEvent = () => undefined } = options;
  const namespaces = new Namespaces({ events, registry, changes, onEvent, clock });
  const learn = (payload: Uint8Array) => onEvent(registry.applyPayload(payload), payload);
  return { reporterKeys: buildReporterKeys(reporters, options), namespaces, learn };
}

function buildReporterKeys(
  reporters: ReporterKeyLifecycle,
  options: ReporterKeysOptions,
): ReporterKeys {
  return {
    serviceId: reporters.serviceId,
    isSignatureRequired: reporters.isSignatureRequired,
    ...(options.intake === undefined ? {} : { intake: options.intake }),
    parseSignedBody: (header, body) => new SignedBody(options, header, body),
    mayBeForgotten: (header) => mayBeForgotten(header, options),
    issueNonce: (agent, principal) => reporters.issueNonce(agent, principal),
    gauges: () => reporters.gauges(),
    list: (agent) => reporters.list(agent),
    register: (agent, request, principal) => reporters.register(agent, request, principal),
    revoke: (agent, request, principal) => reporters.revoke(agent, request, principal),
  };
}

/** A malformed header is refused by the route that uses it. */
function mayBeForgotten(header: string, options: ReporterKeyLifecycleOptions): boolean {
  const rememberedSinceMs = options.rememberedSinceMs?.() ?? 0;
  if (rememberedSinceMs === 0 || options.findSigned === undefined) return false;
  try {
    return parseDetachedJws(header).jtiMs - OUTCOME_SKEW_MS_MAX < rememberedSinceMs;
  } catch {
    return false;
  }
}
