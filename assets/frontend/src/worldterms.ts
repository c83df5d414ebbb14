// Generated from workbench/worlds/*/terms.json by `python -m workbench.views.typescript`.

import numerics from "../../../workbench/worlds/numerics/terms.json";
import sessions from "../../../workbench/worlds/sessions/terms.json";
import sweeps from "../../../workbench/worlds/sweeps/terms.json";

export const TERMS = [numerics, sessions, sweeps];
