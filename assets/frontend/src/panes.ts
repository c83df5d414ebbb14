// The panes by id; a pane is a component that gets the store.

import type { ComponentType } from "preact";
import { ArtifactPane } from "./artifact/artifact";
import { AutotunePane } from "./autotune/autotune";
import { BreaksPane } from "./breaks/breaks";
import { FusionPane } from "./fusion/fusion";
import { GraphPane } from "./graph";
import { KernelsPane } from "./kernels";
import { Overview } from "./overview/overview";
import { MatrixPane } from "./matrix/matrix";
import { RooflinePane } from "./roofline/roofline";
import type { Store } from "./store";
import { TimelinePane } from "./timeline/timeline";
import type { PaneId } from "./wire";

export type Pane = ComponentType<{ store: Store }>;

export const PANES: Record<PaneId, Pane> = {
  overview: Overview,
  graphs: GraphPane,
  breaks: BreaksPane,
  fusion: FusionPane,
  kernels: KernelsPane,
  timeline: TimelinePane,
  autotune: AutotunePane,
  roofline: RooflinePane,
  matrix: MatrixPane,
  artifact: ArtifactPane,
};
