// Modules as an icicle: module, operator, kernel; the width is time on the device.

import { useContext, useMemo, useRef } from "preact/hooks";
import { microseconds } from "../../format";
import { Button } from "../../ui/basics";
import { usePaneState } from "../../ui/kept";
import { RoomContext, useWidth } from "../../ui/size";
import type { ProfileBox, ProfileDocument } from "./wire";
import { HUES } from "./painting";
import type { ProfileState } from "./state";

const ROW = 22;
const LEVELS = 5;
const NARROWEST = 1.5;
const LETTER = 6.4;

/** A box with its place: pixels from the left edge, and rows from the top. */
export interface Placed {
  box: ProfileBox;
  at: number;
  left: number;
  width: number;
  row: number;
}

/** The boxes inside the one at `root` (-1 for all), as far as they can be seen. */
export function placedIn(
  boxes: readonly ProfileBox[],
  root: number,
  whole: number,
  width: number,
): Placed[] {
  const top = boxes[root];
  const begin = top?.begin_us ?? 0;
  const scale = width / Math.max(1e-9, top?.last_us ?? whole);
  const isInside = insideOf(boxes, root);
  return boxes.flatMap((box, at) => {
    const row = box.level - (top?.level ?? 0);
    const wide = box.last_us * scale;
    const isDrawn = isInside[at] && row < LEVELS && wide >= NARROWEST;
    return isDrawn ? [{ box, at, left: (box.begin_us - begin) * scale, width: wide, row }] : [];
  });
}

/** Parents stand before their children. */
function insideOf(boxes: readonly ProfileBox[], root: number): boolean[] {
  const inside: boolean[] = [];
  boxes.forEach(({ parent }, at) => {
    inside[at] = root < 0 || at === root || (parent >= 0 && inside[parent]!);
  });
  return inside;
}

/** The box and those around it, the outermost first. */
export function pathOf(boxes: readonly ProfileBox[], at: number): number[] {
  const path: number[] = [];
  for (let each = at; each >= 0; each = boxes[each]!.parent) path.unshift(each);
  return path;
}

export function Modules({ state, doc }: { state: ProfileState; doc: ProfileDocument }) {
  const area = useRef<HTMLDivElement>(null);
  const width = Math.max(50, useWidth(area));
  const [root, setRoot] = usePaneState(state, "root of the modules", -1);
  const [chosen, open] = usePaneState<boolean | null>(state, "modules", null);
  const room = useContext(RoomContext);
  const isOpen = chosen ?? room !== "narrow"; // a table needs the room more
  const placed = useMemo(() => placedIn(doc.boxes, root, doc.boxes_us, width), [doc, root, width]);
  const rows = placed.reduce((most, { row }) => Math.max(most, row + 1), 0);
  const selected = state.selected.value;
  const at =
    selected === null ? -1 : doc.boxes.findIndex(({ id, row }) => [id, row].includes(selected));
  return (
    <section class="prof-modules" role="group" aria-label="Modules">
      <div class="bar">
        <Button
          look="link fold"
          icon={isOpen ? "down" : "right"}
          isOpen={isOpen}
          press={() => open(!isOpen)}
        >
          <h2>Modules</h2>
        </Button>
        <span class="mut cut">{doc.boxes_words}</span>
        <span class="grow" />
        <Path doc={doc} at={at < 0 ? root : at} go={(id) => state.select(id)} />
        {root >= 0 && (
          <Button look="quiet" press={() => setRoot(doc.boxes[root]!.parent)}>
            Out
          </Button>
        )}
      </div>
      {isOpen && (
        <div
          ref={area}
          class="prof-icicle"
          role="tree"
          aria-label="Modules. Arrow keys move, Enter zooms in, Escape zooms out."
          tabIndex={0}
          style={{ height: `${rows * ROW}px` }}
          onKeyDown={(event) => press(event, state, doc, at, root, setRoot)}
        >
          {placed.map((each) => (
            <Box key={each.at} placed={each} state={state} into={() => setRoot(each.at)} />
          ))}
        </div>
      )}
    </section>
  );
}

function Box({ placed, state, into }: BoxProps) {
  const { box, left, width, row } = placed;
  const target = box.row ?? box.id;
  const selected = state.selected.value;
  const isSelected = selected === target;
  const isRelated = state.related.value.has(target) || state.related.value.has(box.id);
  const letters = Math.floor((width - 8) / LETTER);
  const long = `${box.title}, ${microseconds(box.last_us)}`;
  const words = letters >= long.length ? long : box.title;
  return (
    <div
      role="treeitem"
      aria-level={row + 1}
      aria-selected={isSelected}
      aria-label={box.words}
      class={["prof-box", isSelected ? "sel" : isRelated ? "rel" : ""].join(" ")}
      data-tip={box.words}
      style={{
        left: `${left}px`,
        width: `${Math.max(1, width - 1)}px`,
        top: `${row * ROW}px`,
        ...(box.kind && { "--c": `var(${HUES[box.kind]})` }),
      }}
      onClick={() => state.select(target)}
      onDblClick={into}
    >
      {letters > 2 && words}
    </div>
  );
}

interface BoxProps {
  placed: Placed;
  state: ProfileState;
  into(): void;
}

/** Where the selection is, spelt out: its boxes may be too narrow for words. */
function Path({ doc, at, go }: { doc: ProfileDocument; at: number; go(id: string): void }) {
  if (at < 0) return null;
  const path = pathOf(doc.boxes, at);
  return (
    <span class="cut end" data-tip={path.map((each) => doc.boxes[each]!.title).join(" › ")}>
      {path.map((each, i) => (
        <>
          {i > 0 && <span aria-hidden="true"> › </span>}
          <Button look="link" press={() => go(doc.boxes[each]!.row ?? doc.boxes[each]!.id)}>
            {doc.boxes[each]!.title}
          </Button>
        </>
      ))}
    </span>
  );
}

function press(
  event: KeyboardEvent,
  state: ProfileState,
  doc: ProfileDocument,
  at: number,
  root: number,
  setRoot: (at: number) => void,
): void {
  const { boxes } = doc;
  const here = boxes[at];
  const siblings = boxes.flatMap((box, i) => (box.parent === (here?.parent ?? root) ? [i] : []));
  const beside = siblings.indexOf(at);
  const to: Record<string, number | undefined> = {
    ArrowLeft: siblings[Math.max(0, beside - 1)],
    ArrowRight: siblings[Math.min(siblings.length - 1, beside + 1)],
    ArrowUp: here ? here.parent : undefined,
    ArrowDown: boxes.findIndex(({ parent }) => parent === (here ? at : root)),
  };
  const next = boxes[to[event.key] ?? -1];
  if (next) state.select(next.row ?? next.id);
  else if (event.key === "Enter" && at >= 0) setRoot(at);
  else if (event.key === "Escape" && root >= 0) setRoot(boxes[root]!.parent);
  else return;
  event.preventDefault();
  event.stopPropagation();
}
