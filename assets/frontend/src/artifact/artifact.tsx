// Artifact: what was saved and what it needs, as facts in groups.

import type { Store } from "../store";
import { Facts } from "../ui/basics";

export function ArtifactPane({ store }: { store: Store }) {
  const groups = store.doc.value?.artifact ?? [];
  return (
    <div class="scroll facts-pane" tabIndex={0} role="group" aria-label="Artifact">
      <div class="facts-columns">
        {groups.map((group) => (
          <section key={group.title}>
            <h2>{group.title}</h2>
            <Facts rows={group.facts} />
          </section>
        ))}
      </div>
    </div>
  );
}
