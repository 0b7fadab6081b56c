// nginx as a gateway, with the example configuration that the package ships.
import { describeProgram } from "./_program.ts";

describeProgram("nginx");
