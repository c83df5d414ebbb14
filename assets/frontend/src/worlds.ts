// Generated from the folders of src/worlds by `python -m workbench.views.typescript`.

import { world as numerics } from "./worlds/numerics/register";

export const WORLDS = [numerics];
