// Program that writes a history from which a run learns: `node _learnable-history.ts DATA_DIR`. For tests
// that are compiled for the browser and cannot take the parts of the service themselves.
import { openStage, outcomesOf } from "./_service.ts";

const OUTCOMES = 6000;
const STICKINESS = 1.5;

const stage = await openStage(process.argv[2]);
await stage.ledger.appendBatch(outcomesOf(1, OUTCOMES, Date.now(), STICKINESS));
await stage.kaizen.close();
await stage.ledger.close();
