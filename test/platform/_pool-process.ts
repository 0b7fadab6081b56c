// Process of its own for the pool's test: one pool that answers, and pools that are closed while their
// threads still load.
import { openPool } from "../../src/platform/pool.ts";

const options = {
  name: "echo",
  filename: new URL("./_echo-worker.ts", import.meta.url).href,
  workerData: undefined,
  threads: 2,
};
const pool = openPool(options);
console.log(await pool.run<string, string>("answered"));
await pool.close();
for (let round = 0; round < 10; round++) await openPool(options).close();
console.log("closed");
