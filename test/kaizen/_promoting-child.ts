// A process to be killed: promotes a config through the real service of kaizen, ledger thread and
// files, with findings that win without the work. Argument: data directory.
import { ASKED, openStage, winning } from "./_service.ts";

const stage = await openStage(process.argv[2], { runTask: () => Promise.resolve(winning()) });
await stage.kaizen.start(ASKED)?.done;
await stage.kaizen.close();
await stage.ledger.close();
