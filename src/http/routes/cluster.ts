// Route about the cluster: its log, its nodes, and whether their journals agree.
import { ServiceFault } from "../../contract/faults.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../route.ts";
import type { Reply } from "../server/port.ts";

const OCTET_STREAM = "application/octet-stream";

export const CLUSTER_ROUTES: readonly Route[] = [
  {
    name: "cluster_state",
    method: "GET",
    path: "/v1/cluster",
    summary: "The cluster as this node last saw it: log, nodes, and whether journals agree",
    access: "metrics:read",
    responses: { 200: { description: "At most some seconds old", schema: "ClusterState" } },
    isSynchronous: true,
    handle: handleClusterState,
  },
  {
    name: "journal_segments",
    method: "GET",
    path: "/v1/cluster/segments",
    summary: "Files of this node's journal, for a node that copies it",
    access: "admin",
    responses: { 200: { description: "In order", schema: "JournalSegments" } },
    handle: listSegments,
  },
  {
    name: "journal_segment",
    method: "GET",
    path: "/v1/cluster/segments/{name}",
    parameter: { description: "Name of the file", example: "seg-00000000000000000001.log" },
    summary: "One file of the journal as it is by now; who reads it verifies it",
    access: "admin",
    responses: { 200: { description: "The file", mediaType: OCTET_STREAM } },
    isFixedFormat: true,
    handle: readSegment,
  },
];

const NOT_CLUSTERED_DETAIL = "this process is no node of a cluster";

async function listSegments(exchange: Exchange): Promise<Reply> {
  const { segments } = exchange.services;
  if (segments === undefined) throw new ServiceFault("not_found", NOT_CLUSTERED_DETAIL);
  return exchange.document(200, await segments.list());
}

async function readSegment(exchange: Exchange): Promise<Reply> {
  const stream = await exchange.services.segments?.read(exchange.parameter);
  if (stream === undefined) throw new ServiceFault("not_found", "there is no such segment");
  return { status: 200, headers: ["Content-Type", OCTET_STREAM], body: "", stream };
}

function handleClusterState(exchange: Exchange): Reply {
  const found = exchange.services.cluster?.();
  if (found === undefined) {
    throw new ServiceFault("not_found", NOT_CLUSTERED_DETAIL);
  }
  return exchange.document(200, found);
}
