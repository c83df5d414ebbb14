// Generated from the folders of src/worlds by `python -m workbench.views.typescript`.

import { world as clusters } from "./worlds/clusters/register";
import { world as numerics } from "./worlds/numerics/register";

export const WORLDS = [clusters, numerics];
