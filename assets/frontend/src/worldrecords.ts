// Generated from the folders of src/worlds by `python -m workbench.views.typescript`.

import type { WorldRecords } from "./opened/view";
import { records as profiles } from "./worlds/profiles/records";
import { records as sessions } from "./worlds/sessions/records";
import { records as sweeps } from "./worlds/sweeps/records";

export const RECORDS: readonly WorldRecords[] = [profiles, sessions, sweeps];
