// Changes of something named by an id that another node of the cluster may just have made: "not found" is answered only
// after a round trip to the log that began after the request.
import { type FaultCode, ServiceFault } from "../../contract/faults.ts";
import type { Route } from "../route.ts";

/** Faults of what is not known here, and of a namespace that was not granted here. */
const MISSING_CODES: ReadonlySet<FaultCode> = new Set(["not_found", "namespace_not_owned"]);
/** Deadline of such a route in ms: the round trip, a change that waits for an election, and what says where it holds. */
export const CLUSTER_CHANGE_DEADLINE_MS = 15_000;

/**
 * The handler and deadline of a route. The handler runs a second time where the first found nothing and this node was
 * behind; it must change nothing before it finds out.
 * @throws ServiceFault `node_behind` where the round trip takes too long.
 */
export function confirmMissing(handle: Route["handle"]): Pick<Route, "handle" | "deadlineMs"> {
  return {
    deadlineMs: CLUSTER_CHANGE_DEADLINE_MS,
    handle: async (exchange) => {
      try {
        return await handle(exchange);
      } catch (thrown) {
        const { lagGuard } = exchange.services;
        const isMissing = thrown instanceof ServiceFault && MISSING_CODES.has(thrown.code);
        if (lagGuard === undefined || !isMissing) throw thrown;
        await lagGuard.confirmCurrent();
        return handle(exchange);
      }
    },
  };
}
