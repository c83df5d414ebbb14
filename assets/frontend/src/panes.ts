// The panes of the view of a report; a new one is registered here and by the same id in Python.
// Python says where those of the worlds stand.

import { accesses } from "./accesses/register";
import { artifact } from "./artifact/register";
import { autotune } from "./autotune/register";
import { breaks } from "./breaks/register";
import { checks } from "./checks/register";
import { fusion } from "./fusion/register";
import { graphs } from "./graph/register";
import { kernels } from "./kernels/register";
import { matrix } from "./matrix/register";
import { overview } from "./overview/register";
import type { Registration } from "./registration";
import { roofline } from "./roofline/register";
import { memory } from "./memory/register";
import type { Store } from "./store";
import { timeline } from "./timeline/register";
import { WORLDS } from "./worlds";

export const PANES: readonly Registration<Store>[] = [
  overview,
  graphs,
  breaks,
  fusion,
  kernels,
  timeline,
  autotune,
  roofline,
  memory,
  matrix,
  artifact,
  checks,
  accesses,
  { id: "tables", things: {} },
  ...WORLDS.flatMap(({ panes }) => panes),
];
