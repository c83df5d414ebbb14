// The view of a sweep.

import { openRecords, type WorldRecords } from "../../opened/view";
import { SweepShell } from "./shell";
import { SweepState } from "./state";

export const records: WorldRecords = { sweep: openRecords(SweepState, SweepShell) };
