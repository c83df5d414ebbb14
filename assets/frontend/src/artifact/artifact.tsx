// Artifact: a round trip, what the file is, holds and needs, and how to get one.

import { seconds } from "../format";
import type { Store } from "../store";
import { Facts, Frame, Message, plain, Segments } from "../ui/basics";
import { usePaneState } from "../ui/kept";
import type { TripWay } from "../wire";
import { Checking, fileOf, Saving } from "./actions";
import "./artifact.css";
import { LEAVES, MEMBERS, NEEDS, Part } from "./tables";
import { WaterfallChart, waterfallOf, wayOf, WaysTable } from "./trip";

export function ArtifactPane({ store }: { store: Store }) {
  const report = store.doc.value;
  if (!report) return null;
  const { artifact: groups, file } = report;
  const isSaved = fileOf(groups) !== null;
  return (
    <div class="scroll facts-pane" tabIndex={0} role="group" aria-label="Artifact">
      {file.advice && <Message note={plain(file.heading ?? "Not saved.", file.advice)} />}
      {file.can_save && !isSaved && <Saving store={store} />}
      {isSaved && <Checking store={store} />}
      {file.checked && <Message note={plain("Compared.", file.checked)} />}
      {file.ways.length > 0 && <RoundTrip store={store} ways={file.ways} />}
      {isSaved && <FileBar store={store} />}
      <div class="art-two">
        <Part
          store={store}
          title="What the file holds"
          table="members"
          rows={file.members}
          cells={MEMBERS}
          more={report.omitted["members"]}
        />
        <Part
          store={store}
          title={file.checked ? "Does it load there?" : "Does it load on this machine?"}
          table="requirements"
          rows={file.requirements}
          cells={NEEDS}
        />
      </div>
      <div class="art-two">
        <Part store={store} title="What it takes and gives" table="contract" rows={file.contract} />
        <Part
          store={store}
          title="Outputs beside eager"
          table="leaves"
          frame="roundtrip_leaves"
          rows={file.leaves}
          cells={LEAVES}
        />
      </div>
      <div class="facts-columns">
        {groups.map((group) => (
          <section key={group.title}>
            <h2>{group.title}</h2>
            <Facts of="file" rows={group.facts} />
          </section>
        ))}
      </div>
    </div>
  );
}

/** The file in one line; the facts stand below the tables. */
function FileBar({ store }: { store: Store }) {
  const groups = store.doc.value?.artifact ?? [];
  const facts = new Map(groups.find((group) => group.title === "File")?.facts);
  const size = facts.get("Size")?.replace(/ \(.*/, "");
  const words = [facts.get("Path"), size, facts.get("Vouched for"), facts.get("Digest")];
  const text = words.filter(Boolean).join(", ");
  return (
    <div class="bar edge">
      <h2>File</h2>
      <span class="mut cut" data-tip="">
        {text}
      </span>
      <span class="grow" />
      <Frame store={store} name="artifact" />
    </div>
  );
}

function RoundTrip({ store, ways }: { store: Store; ways: TripWay[] }) {
  const [isWhole, setWhole] = usePaneState(store, "whole", false);
  const way = wayOf(ways, store.selected.value);
  return (
    <>
      <div class="bar">
        <h2>Round trip</h2>
        <span class="faint cut">the same call in fresh processes with empty caches, once each</span>
        <span class="grow" />
        <Frame store={store} name="roundtrip" />
      </div>
      <div class="art-table" style={{ height: `${27 + 24 * ways.length}px` }}>
        <WaysTable store={store} ways={ways} />
      </div>
      {way && (
        <div class="bar edge">
          <h2>{way.title}</h2>
          {way.ran && (
            <span class="faint cut">
              {`${seconds(waterfallOf(way, isWhole).seconds)}, then ${seconds(way.steady_s)} a call`}
            </span>
          )}
          <span class="grow" />
          {way.ran && (
            <Segments
              label="Stretch of time"
              look=""
              of={STRETCHES}
              value={isWhole ? "whole" : "own"}
              set={(id) => setWhole(id === "whole")}
            />
          )}
          <Frame store={store} name="roundtrip_phases" />
        </div>
      )}
      {way?.ran && <WaterfallChart store={store} way={way} isWhole={isWhole} />}
      {way && !way.ran && <p class="art-why">{`It did not run: ${way.note ?? "no reason"}`}</p>}
    </>
  );
}

/** From where the waterfall counts. */
const STRETCHES = [
  ["own", "After import torch", "From having torch and the inputs to the first result"],
  ["whole", "Whole process", "From the start of the process to the first result"],
] as const;
