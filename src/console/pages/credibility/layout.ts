// Places of reporters in a picture: forces between those who vouch for one another, a gentle pull
// together within a cluster. The same graph is laid out the same way: nothing is drawn by chance.
import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from "d3-force";
import type { VouchingGraphReply } from "./replies.ts";

export const WIDTH = 720;
export const HEIGHT = 520;
const EDGE = 24;
/** Steps of the simulation; fewer for large graphs, so that the page answers within half a second. */
const SIMULATION_STEPS = 240;
const SIMULATION_STEPS_LARGE = 100;
const LARGE_GRAPH_NODES = 200;

export interface NodePosition {
  readonly x: number;
  readonly y: number;
  readonly radius: number;
}

interface SimulatedNode {
  readonly radius: number;
  readonly cluster: number;
  x: number;
  y: number;
  vx: number;
  vy: number;
}

/** Draws the members of a cluster to their middle. */
function createClusterForce(bodies: readonly SimulatedNode[]) {
  const groups = new Map<number, SimulatedNode[]>();
  for (const body of bodies) {
    if (body.cluster === 0) continue;
    groups.set(body.cluster, [...(groups.get(body.cluster) ?? []), body]);
  }
  return (alpha: number) => {
    for (const members of groups.values()) {
      const x = members.reduce((sum, each) => sum + each.x, 0) / members.length;
      const y = members.reduce((sum, each) => sum + each.y, 0) / members.length;
      for (const each of members) {
        each.vx += (x - each.x) * 0.25 * alpha;
        each.vy += (y - each.y) * 0.25 * alpha;
      }
    }
  };
}

/** A place for each node, within the picture. */
export function computeLayout({ nodes, edges }: VouchingGraphReply): NodePosition[] {
  const most = Math.max(...nodes.map(({ mass }) => mass), 1e-9);
  const bodies = nodes.map(({ mass, cluster }) => ({
    radius: 4 + 8 * Math.sqrt(mass / most),
    cluster,
  })) as SimulatedNode[];
  const links = edges.map(({ from, to, weight }) => ({ source: from, target: to, weight }));
  const simulation = forceSimulation(bodies)
    .force(
      "links",
      forceLink(links)
        .distance(46)
        .strength((link: { weight: number }) => 0.08 * Math.min(2, link.weight)),
    )
    .force("apart", forceManyBody().strength(-60).distanceMax(260))
    .force(
      "room",
      forceCollide((body: SimulatedNode) => body.radius + 2),
    )
    .force("x", forceX(0).strength(0.05))
    .force("y", forceY(0).strength(0.07))
    .force("together", createClusterForce(bodies))
    .stop();
  simulation.tick(nodes.length > LARGE_GRAPH_NODES ? SIMULATION_STEPS_LARGE : SIMULATION_STEPS);
  return scaleToPicture(bodies);
}

/** Stretched evenly until it fills the picture. */
function scaleToPicture(bodies: readonly SimulatedNode[]): NodePosition[] {
  const [left, right] = computeRange(bodies.map(({ x }) => x));
  const [top, bottom] = computeRange(bodies.map(({ y }) => y));
  const scale = Math.min(
    (WIDTH - 2 * EDGE) / Math.max(1, right - left),
    (HEIGHT - 2 * EDGE) / Math.max(1, bottom - top),
    2.5,
  );
  return bodies.map(({ x, y, radius }) => ({
    x: WIDTH / 2 + (x - (left + right) / 2) * scale,
    y: HEIGHT / 2 + (y - (top + bottom) / 2) * scale,
    radius,
  }));
}

function computeRange(values: readonly number[]): [number, number] {
  let [least, most] = [Infinity, -Infinity];
  for (const value of values) {
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return values.length === 0 ? [0, 0] : [least, most];
}

/** Outline around some spots, counter-clockwise (monotone chain). */
export function computeConvexHull(spots: readonly NodePosition[]): NodePosition[] {
  const sorted = spots.toSorted((a, b) => a.x - b.x || a.y - b.y);
  if (sorted.length < 3) return sorted;
  const isLeft = (a: NodePosition, b: NodePosition, c: NodePosition) =>
    (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x) > 0;
  const half = (list: readonly NodePosition[]) => {
    const chain: NodePosition[] = [];
    for (const spot of list) {
      while (chain.length > 1 && !isLeft(chain.at(-2)!, chain.at(-1)!, spot)) chain.pop();
      chain.push(spot);
    }
    return chain.slice(0, -1);
  };
  return [...half(sorted), ...half(sorted.toReversed())];
}
