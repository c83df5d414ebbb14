// The top of the view of a report: what was compiled, the verdict, history, search.

import type { RefObject } from "preact";
import { useState } from "preact/hooks";
import { CostSwitch, ProfileButton } from "../cost/switch";
import type { Host } from "../host";
import { TASKS } from "../progress/progress";
import type { Store } from "../store";
import { TargetButton } from "../targets/dialog";
import { Tag } from "../ui/basics";
import { saveFile } from "../ui/savefile";
import type { PaneId, SavedPage } from "../wire";
import { MenuItem } from "./menu";
import { keyOfExpert, questionsOf, showQuestion } from "./questions";
import { type Findable, findablePanes, SearchBox } from "./searchbox";

/** Experts' panes that show costs; the Overview has the switch above its tree. */
const COSTED: ReadonlySet<string> = new Set(["kernels", "graphs"]);

interface Props {
  store: Store;
  search: RefObject<HTMLInputElement | null>;
}

export function Header({ store, search }: Props) {
  const report = store.doc.value;
  const inputs = report?.inputs.join(", ") ?? "";
  return (
    <>
      <h1 data-tip="">{report?.name ?? "Compilation"}</h1>
      <Verdict store={store} />
      {report && <TargetButton store={store} />}
      {COSTED.has(store.pane.value) && <CostSwitch store={store} />}
      <ProfileButton store={store} />
      <span class="facts mut grow" data-tip="">
        {inputs}
      </span>
      <SearchBox of={findableIn(store)} field={search} />
    </>
  );
}

const STEPS = [
  { way: "left", label: "Previous selection", keys: "Alt ←" },
  { way: "right", label: "Next selection", keys: "Alt →" },
] as const;

interface MenuProps {
  store: Store;
  inspector: { isOpen: boolean; toggle(): void };
}

/** The history of selections, the inspector, the page to keep. */
export function HeaderMenu({ store, inspector }: MenuProps) {
  return (
    <>
      {STEPS.map(({ way, label, keys }) => (
        <MenuItem
          key={way}
          name={way}
          label={label}
          keys={keys}
          disabled={!(way === "left" ? store.canGoBack : store.canGoForward).value}
          press={() => (way === "left" ? store.back() : store.forward())}
        />
      ))}
      <MenuItem
        name="panel"
        label={inspector.isOpen ? "Hide the inspector" : "Show the inspector"}
        keys="i"
        isPressed={inspector.isOpen}
        press={inspector.toggle}
      />
      <ShareItem host={store.host} />
    </>
  );
}

function findableIn(store: Store): Findable {
  return {
    kinds: "line, node, kernel",
    none: "Nothing found. Kernel code is searched only after it was opened.",
    isReady: store.doc.value !== null,
    signs: [store.doc.value, store.learned.value],
    entries: () => [
      findablePanes(
        questionsOf(store),
        (id) => showQuestion(store, id),
        (_, at) => String(at + 1),
        "Questions",
      ),
      findablePanes(
        store.doc.value?.panes ?? [],
        (pane) => store.show(pane as PaneId),
        keyOfExpert,
      ),
      ...store.entries(),
    ],
    prepare: () => void store.prepareSearch(),
    show: (id) => store.select(id, { pane: store.paneOfHit(id) }),
  };
}

function Verdict({ store }: { store: Store }) {
  const { status, task } = store.host.progress.value;
  const report = store.doc.value;
  if (status === "running")
    return (
      <span class="tag plain">
        <span class="spin" aria-hidden="true" />
        {TASKS[task ?? "target"][1]}
      </span>
    );
  if (report) return <Tag tone={report.tone}>{report.verdict}</Tag>;
  if (status === "failed")
    return (
      <Tag tone="break" icon="cross">
        failed
      </Tag>
    );
  return status === "cancelled" ? <Tag tone="plain">cancelled</Tag> : null;
}

const WORDS = "Save as a page that opens without Jupyter";
const ASLEEP = "Saving a page needs the session: run the cell again, then report.to_html(PATH)";

/** A page that was saved is the file already, so it has no button. */
function ShareItem({ host }: { host: Host }) {
  const [state, setState] = useState<"idle" | "busy" | { why: string }>("idle");
  if (host.kind === "page") return null;
  const lost = host.lost.value;
  const isAsleep = host.kind === "saved" || !host.document.value || lost !== null;
  const save = () => {
    setState("busy");
    host.part<SavedPage>("page").then(
      ({ name, html }) => {
        saveFile(html, name, "text/html");
        setState("idle");
      },
      (error: Error) => setState({ why: error.message }),
    );
  };
  const why = typeof state === "object" ? state.why : null;
  const asleep = lost ?? (host.kind === "saved" ? ASLEEP : WORDS);
  const label = state === "busy" ? "Making the page…" : WORDS;
  return (
    <>
      {why && (
        <span class="mut cut" role="alert" data-tip={why}>
          {why}
        </span>
      )}
      <MenuItem
        name="save"
        label={label}
        tip={isAsleep ? asleep : undefined}
        disabled={isAsleep || state === "busy"}
        press={save}
      />
    </>
  );
}
