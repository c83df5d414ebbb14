// The Artifact pane and its things: what the file holds and needs, the ways of a round trip.

import type { Registration } from "../registration";
import type { Store } from "../store";
import type { SavedFile } from "../wire";
import { ArtifactPane } from "./artifact";
import { SavedCard } from "./card";

export const artifact: Registration<Store> = {
  id: "artifact",
  Pane: ArtifactPane,
  things: {
    saved: { Card: SavedCard, label: (id, store) => savedName(store.doc.value?.file, id) },
  },
  ties(report, { one }) {
    for (const way of report.file.ways) for (const phase of way.phases) one(phase.id, way.id);
  },
};

function savedName(file: SavedFile | undefined, id: string): string {
  const way = file?.ways.find((each) => each.name === id.split(":")[1]);
  const phase = way?.phases.find((each) => each.id === id);
  if (way) return phase ? `${phase.title} of ${way.title}` : way.title;
  const rows = [...(file?.members ?? []), ...(file?.requirements ?? []), ...(file?.contract ?? [])];
  const row = rows.find((each) => each.id === id);
  return row?.name ?? file?.leaves.find((each) => each.id === id)?.leaf ?? id;
}
