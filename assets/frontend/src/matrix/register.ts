// The Matrix pane; what it shows are configurations of kernels.

import type { Registration } from "../registration";
import type { Store } from "../store";
import { CompareButton } from "../targets/dialog";
import { MatrixPane } from "./matrix";

export const matrix: Registration<Store> = {
  id: "matrix",
  Pane: MatrixPane,
  things: {},
  offer: "Compile for…",
  Remedy: CompareButton,
};
