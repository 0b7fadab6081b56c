// Drawing of the vouching graph: seeds are squares, believed reporters discs, unvouched ones rings.
// The table beside it has the same data.
import { formatNumber, formatPercent, escapeHiddenCharacters } from "../../format.ts";
import { html, useMemo, type VNode } from "../../html.ts";
import { HEIGHT, computeConvexHull, computeLayout, type NodePosition, WIDTH } from "./layout.ts";
import { VOUCHING_NODE_KINDS, type VouchingGraphReply, type VouchingNode } from "./replies.ts";

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
