// The view of a session.

import { openRecords, type WorldRecords } from "../../opened/view";
import { SessionShell } from "./shell";
import { SessionState } from "./state";

export const records: WorldRecords = { session: openRecords(SessionState, SessionShell) };
