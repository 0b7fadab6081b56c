// A tenant that was vouched for turns: its names lift an agent of its own and slander a competitor, all
// signed. The operator takes the namespace back and discounts what was signed there since: both agents
// stand as before it. Granted anew without vouching, its names are one stranger's word.
import { series, Stage } from "../../../bench/attack-stage.ts";
import type { Attack } from "../attack.ts";
import { registerSigners, report } from "../material/signers.ts";
import { delay } from "../stage.ts";

const NAMES = 10;
const OWN = "agent://friends/product";
const COMPETITOR = "agent://honest/competitor";
const REPORTERS = 20;
const POINTS_MAX = 10;
const REFOLD_MS = 15_000;
const ASK_MS = 100;

export const grantAndRun: Attack = {
  name: "grant-and-run",
  what: "a vouched tenant's names lift its agent and slander another; the operator discounts them",
  async play(stage) {
    const service = await stage.start("--no-sample");
    const bureau = new Stage(service);
    await bureau.open();
    const broken: string[] = [];
    const hold = (isHeld: boolean, why: string) => isHeld || broken.push(why);
    const reporter = (at: number) => `agent://buyers/b-${at % REPORTERS}`;
    await bureau.import(series(COMPETITOR, 300, { days: 120, reporter }));
    const before = { own: await bureau.ask(OWN), competitor: await bureau.ask(COMPETITOR) };
    const sinceMs = Date.now();
    const size = { names: NAMES, keys: 1, grant: { vouched: true } };
    const friends = await registerSigners(stage, service, "friends", size);
    const said = { names: NAMES, keys: 1 };
    await report(stage, service, friends, { ...said, subject: OWN, outcomes: [1, 1, 1] });
    await report(stage, service, friends, { ...said, subject: COMPETITOR, outcomes: [0, 0, 0] });
    const during = { own: await bureau.ask(OWN), competitor: await bureau.ask(COMPETITOR) };
    hold(during.own.score - before.own.score > POINTS_MAX, "the vouched names were not heard");

    const path = `/v1/namespaces/friends?discount_since=${sinceMs}`;
    const taken = await stage.ask(service, path, { method: "DELETE" });
    hold(taken.status === 200, `the withdrawal was answered ${taken.status}`);
    // What is left is the tenant's unsigned word, a stranger's.
    const differs = async (agent: string, score: number) =>
      Math.abs((await bureau.ask(agent)).score - score);
    const deadline = performance.now() + REFOLD_MS;
    let left = Number.POSITIVE_INFINITY;
    while (left > POINTS_MAX && performance.now() < deadline) {
      await delay(ASK_MS);
      left = Math.max(
        await differs(OWN, before.own.score),
        await differs(COMPETITOR, before.competitor.score),
      );
    }
    hold(left <= POINTS_MAX, `${left} points are left of what was discounted`);

    const anew = await stage.ask(service, "/v1/namespaces/friends", {
      method: "PUT",
      body: { tenant: "friends" },
    });
    hold(anew.status === 200, `the new grant was answered ${anew.status}`);
    hold(anew.text.includes('"vouched":false'), "the new grant vouches again");
    // Keys of the former grant have retired: the names sign with new ones.
    const again = await registerSigners(stage, service, "friends", { names: NAMES, keys: 1 });
    await report(stage, service, again, { ...said, subject: OWN, outcomes: [1, 1, 1] });
    await report(stage, service, again, { ...said, subject: COMPETITOR, outcomes: [0, 0, 0] });
    const after = Math.max(
      await differs(OWN, before.own.score),
      await differs(COMPETITOR, before.competitor.score),
    );
    hold(after <= POINTS_MAX, `${after} points are moved after the new grant`);
    const { l2, l3 } = await bureau.ask(OWN);
    hold(l2 !== "ALLOW" && l3 !== "ALLOW", `the own agent is ${l2} at L2, ${l3} at L3`);

    await service.stop();
    return {
      broken,
      figures: {
        lifted: during.own.score - before.own.score,
        slandered: before.competitor.score - during.competitor.score,
        points_left: left,
        points_after_new_grant: after,
      },
    };
  },
};
