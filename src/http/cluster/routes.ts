// Route about the cluster: its log, its nodes, and whether their journals agree.
import { ServiceFault } from "../../contract/faults.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";

export const CLUSTER_ROUTES: readonly Route[] = [
  {
    name: "cluster_state",
    method: "GET",
    path: "/v1/cluster",
    summary: "The cluster as this node last saw it: log, nodes, and whether journals agree",
    access: "metrics:read",
    responses: { 200: { description: "At most some seconds old", schema: "ClusterState" } },
    isSynchronous: true,
    handle: state,
  },
];

function state(exchange: Exchange): Reply {
  const found = exchange.services.cluster?.();
  if (found === undefined) {
    throw new ServiceFault("not_found", "this process is no node of a cluster");
  }
  return exchange.document(200, found);
}
