// Vouching graph: types of its reply, layout by simulated forces, and drawing. The same graph is always
// laid out the same way. Seeds are squares, believed reporters discs, unvouched ones rings.
import { formatNumber, formatPercent, escapeHiddenCharacters } from "../../format.ts";
import { html, useMemo, type VNode } from "../../html.ts";
import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from "d3-force";
import type { CredibilityGraph, CredibilityStatus } from "../../../contract/schemas/kaizen.ts";
import type { MessageOf } from "../../../contract/schemas/schema.ts";
import { linkTo, parsePlace } from "../../location.ts";

export type CredibilityStatusReply = MessageOf<typeof CredibilityStatus>;
export type VouchingGraphReply = MessageOf<typeof CredibilityGraph>;
export type VouchingNode = VouchingGraphReply["nodes"][number];
type VouchingNodeKind = VouchingNode["kind"];

export const VOUCHING_NODE_KINDS: readonly VouchingNodeKind[] = ["seed", "believed", "stranger"];

export const VOUCHING_NODE_TONES: Readonly<Record<VouchingNodeKind, string>> = {
  seed: "allow",
  believed: "",
  stranger: "warn",
};

/** A link to the page as it is, with `change`. */
export function linkWithChange(change: Readonly<Record<string, string>>): string {
  return linkTo("credibility", { ...parsePlace(location.hash).parameters, ...change });
}

const WIDTH = 720;
const HEIGHT = 520;
const EDGE = 24;
/** Steps of the simulation; fewer for large graphs, so that the page answers within half a second. */
const SIMULATION_STEPS = 240;
const SIMULATION_STEPS_LARGE = 100;
const LARGE_GRAPH_NODES = 200;

interface NodePosition {
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
function computeLayout({ nodes, edges }: VouchingGraphReply): NodePosition[] {
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
function computeConvexHull(spots: readonly NodePosition[]): NodePosition[] {
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

/** Names written beside their nodes: more would cover one another. */
const NAMES_MAX = 12;
const NAME_LENGTH_MAX = 26;

interface VouchingGraphProps {
  readonly graph: VouchingGraphReply;
  /** Number of the chosen node. */
  readonly chosen: number;
  readonly onChoose: (id: string) => void;
}

const shortenAgentId = (id: string): string => {
  const name = escapeHiddenCharacters(id).replace(/^agent:\/\//, "");
  return name.length > NAME_LENGTH_MAX ? `${name.slice(0, NAME_LENGTH_MAX)}…` : name;
};

function describeReporter({ id, kind, credibility, mass, cluster, reports }: VouchingNode): string {
  const where = cluster === 0 ? "" : `, cluster ${cluster}`;
  return `${shortenAgentId(id)}: ${kind}, credibility ${formatNumber(credibility, 2)}, ${formatPercent(mass)} of the mass, ${formatNumber(reports)} outcomes${where}`;
}

export function VouchingGraph({ graph, chosen, onChoose }: VouchingGraphProps): VNode {
  const spots = useMemo(() => computeLayout(graph), [graph]);
  const { nodes, edges } = graph;
  const near = new Set(
    edges.flatMap(({ from, to }) => (from === chosen || to === chosen ? [from, to] : [])),
  );
  const names = nodes
    .map((node, i) => [node, i] as const)
    .filter(([{ kind }, i]) => i === chosen || kind === "seed")
    .slice(0, NAMES_MAX);
  const count = (kind: string) => nodes.filter((node) => node.kind === kind).length;
  const said = VOUCHING_NODE_KINDS.map((kind) => `${count(kind)} ${kind}`).join(", ");
  return html`<svg
      class="graph"
      viewBox=${`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label=${`Who vouches for whom: ${said}, ${edges.length} edges. The table beside it has the same.`}
    >
      <${ClusterHulls} nodes=${nodes} spots=${spots} />
      ${edges.map(({ from, to, mass }) => {
        const [a, b] = [spots[from], spots[to]];
        if (a === undefined || b === undefined) return null;
        const isNear = from === chosen || to === chosen;
        const kind = `edge ${mass > 0 ? "trusted" : ""} ${isNear ? "near" : ""}`;
        return html`<line class=${kind} x1=${a.x} y1=${a.y} x2=${b.x} y2=${b.y} />`;
      })}
      ${nodes.map((node, i) => {
        const spot = spots[i];
        if (spot === undefined) return null;
        const isDim = chosen >= 0 && i !== chosen && !near.has(i);
        return html`<${VouchingNodeShape}
          node=${node}
          spot=${spot}
          isChosen=${i === chosen}
          isDim=${isDim}
          onChoose=${onChoose}
        />`;
      })}
      ${names.map(([{ id }, i]) => {
        const spot = spots[i];
        if (spot === undefined) return null;
        const isRight = spot.x > WIDTH * 0.75;
        return html`<text
          class="node-name"
          x=${spot.x + (isRight ? -1 : 1) * (spot.radius + 4)}
          y=${spot.y + 4}
          text-anchor=${isRight ? "end" : "start"}
        >
          ${shortenAgentId(id)}
        </text>`;
      })}
    </svg>
    <ul class="legend">
      <li><i class="shape seed" aria-hidden="true"></i>seed</li>
      <li><i class="shape believed" aria-hidden="true"></i>believed</li>
      <li><i class="shape stranger" aria-hidden="true"></i>stranger</li>
      <li><i class="shape cluster" aria-hidden="true"></i>cluster: counts as one voice</li>
    </ul>`;
}

interface VouchingNodeShapeProps {
  readonly node: VouchingNode;
  readonly spot: NodePosition;
  readonly isChosen: boolean;
  readonly isDim: boolean;
  readonly onChoose: (id: string) => void;
}

/** The pointer's way to a reporter; the keyboard's is the table. */
function VouchingNodeShape({
  node,
  spot,
  isChosen,
  isDim,
  onChoose,
}: VouchingNodeShapeProps): VNode {
  const { x, y, radius: r } = spot;
  const kind = `node ${node.kind} ${isChosen ? "chosen" : ""} ${isDim ? "faint" : ""}`;
  const title = html`<title>${describeReporter(node)}</title>`;
  const choose = () => onChoose(node.id);
  return node.kind === "seed"
    ? html`<rect
        class=${kind}
        x=${x - r}
        y=${y - r}
        width=${2 * r}
        height=${2 * r}
        rx="2"
        onClick=${choose}
      >
        ${title}
      </rect>`
    : html`<circle class=${kind} cx=${x} cy=${y} r=${r} onClick=${choose}>${title}</circle>`;
}

function ClusterHulls({
  nodes,
  spots,
}: {
  nodes: readonly VouchingNode[];
  spots: readonly NodePosition[];
}) {
  const groups = new Map<number, NodePosition[]>();
  nodes.forEach(({ cluster }, i) => {
    const spot = spots[i];
    if (cluster === 0 || spot === undefined) return;
    groups.set(cluster, [...(groups.get(cluster) ?? []), spot]);
  });
  return [...groups].map(([cluster, members]) => {
    const points = computeConvexHull(members).map(({ x, y }) => `${x},${y}`);
    return html`<polygon class="hull" points=${points.join(" ")}
      ><title>cluster ${cluster}</title></polygon
    >`;
  });
}
