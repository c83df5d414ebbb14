// Generated from the folders of src/worlds by `python -m workbench.views.typescript`.

import type { WorldRecords } from "./opened/view";
import { records as profiles } from "./worlds/profiles/records";
import { records as sessions } from "./worlds/sessions/records";

export const RECORDS: readonly WorldRecords[] = [profiles, sessions];
