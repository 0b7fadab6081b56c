// Further HTTP thread of the suite's world: the real one, under the world's clock.
import { parentPort, workerData } from "node:worker_threads";
import type { HttpThreadData } from "../../src/threads/http/messages.ts";
import { serveHttpThread } from "../../src/threads/http/server.ts";
import { clock } from "./_clock.ts";

if (parentPort !== null) serveHttpThread(parentPort, workerData as HttpThreadData, clock);
