// The Artifact pane and its things: what the file holds and needs, the ways of a round trip.

import { bytes, seconds } from "../format";
import { type CardProps, Head } from "../inspector/parts";
import type { Registration } from "../registration";
import type { Store } from "../store";
import { Facts, Tag } from "../ui/basics";
import type { SavedFile, TripPhase, TripWay } from "../wire";
import { ArtifactPane } from "./artifact";
import { comparedWords, shortName, Verdict } from "./tables";
import { Against, meaningOf } from "./trip";

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

function SavedCard({ store, id }: CardProps) {
  const file = store.doc.value?.file;
  const found = file && (ofTrip(file, id) ?? ofFile(file, id));
  return found ?? <h2>{id}</h2>;
}

function ofTrip(file: SavedFile, id: string) {
  const way = file.ways.find((each) => each.name === id.split(":")[1]);
  if (!way) return null;
  const phase = way.phases.find((each) => each.id === id);
  return phase ? <PhaseFacts way={way} phase={phase} /> : <WayFacts way={way} />;
}

function WayFacts({ way }: { way: TripWay }) {
  const rows: [string, number | null][] = [
    ["Imports beyond torch", way.imports_s],
    ["Load", way.load_s],
    ["First call", way.first_call_s],
    ["First result", way.first_result_s],
    ["Whole process", way.total_s],
    ["Later calls, p50", way.steady_s],
    ["p99", way.steady_p99_s],
  ];
  return (
    <>
      <Head kind="Way of the round trip" title={way.title} />
      <p>
        <Against way={way} />
      </p>
      {way.note && <p>{way.note}</p>}
      {way.ran && (
        <Facts
          of="ways"
          rows={[
            ...rows.map(([name, value]): [string, string] => [name, seconds(value)]),
            ["Peak RSS", bytes(way.peak_rss_bytes)],
          ]}
        />
      )}
      {way.ran && (
        <p class="mut">
          The first result counts from having torch and the inputs. One run: repeat it before small
          differences are compared.
        </p>
      )}
    </>
  );
}

function PhaseFacts({ way, phase }: { way: TripWay; phase: TripPhase }) {
  return (
    <>
      <Head kind={`Phase of ${way.title}`} title={phase.title} />
      <p>{meaningOf(phase.name)}</p>
      <Facts
        of="ways"
        rows={[
          ["Takes", seconds(phase.duration_s)],
          ["From the start", seconds(phase.start_s)],
        ]}
      />
    </>
  );
}

function ofFile(file: SavedFile, id: string) {
  const member = file.members.find((each) => each.id === id);
  if (member)
    return (
      <>
        <Head kind="Member of the file" title={shortName(member.name)} />
        <Facts
          of="file"
          rows={[
            ["Name", member.name],
            ["What", member.what],
            ["Size", bytes(member.size)],
            ["SHA-256", member.sha256],
          ]}
        />
      </>
    );
  return ofContract(file, id) ?? ofOutputs(file, id);
}

function ofContract(file: SavedFile, id: string) {
  const need = file.requirements.find((each) => each.id === id);
  if (need)
    return (
      <>
        <Head kind="Requirement" title={need.name} />
        <p>
          <Verdict verdict={need.verdict} />
        </p>
        <Facts
          of="requirements"
          rows={[
            ["Needs", need.needed],
            ["Here", need.found],
          ]}
        />
        {need.advice && <p>{need.advice}</p>}
      </>
    );
  const leaf = file.contract.find((each) => each.id === id);
  if (!leaf) return null;
  const rows: [string, string][] = [
    ["Dtype", leaf.dtype],
    ["Shape", leaf.shape],
    ["Device", leaf.device],
    ["Model", leaf.model],
  ];
  return (
    <>
      <Head kind={leaf.side === "input" ? "Input" : "Output"} title={leaf.name} />
      <Facts of="contract" rows={rows.filter(([, value]) => value)} />
    </>
  );
}

function ofOutputs(file: SavedFile, id: string) {
  const row = file.leaves.find((each) => each.id === id);
  if (!row) return null;
  return (
    <>
      <Head kind={`Output of ${row.way}`} title={row.leaf} />
      <p>
        <Tag tone={row.ok ? "captured" : "break"}>{comparedWords(row)}</Tag>
      </p>
      <Facts
        of="leaves"
        rows={[
          ["Dtype", row.dtype],
          ["Shape", row.shape],
          ["Allowed", row.tolerance],
        ]}
      />
      {row.note && <p>{row.note}</p>}
    </>
  );
}
