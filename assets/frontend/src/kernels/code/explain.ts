// What an instruction does: a small card at the pointer, or at the selected line by key.

import { type Extension, StateEffect, StateField } from "@codemirror/state";
import {
  closeHoverTooltips,
  EditorView,
  hasHoverTooltips,
  hoverTooltip,
  keymap,
  showTooltip,
  type Tooltip,
  tooltips,
} from "@codemirror/view";
import type { Opcode } from "../../wire";
import type { Rows } from "./rows";
import { opcodesIn } from "./stages";

const setCard = StateEffect.define<Tooltip | null>();

/** Cards for rows that know opcodes; `line` gives the selected line from 0. */
export function explaining(rows: Rows, parent: HTMLElement, line: () => number | null): Extension {
  const { opcodes } = rows;
  if (!opcodes) return [];
  const card = StateField.define<Tooltip | null>({
    create: () => null,
    update: (value, transaction) =>
      transaction.effects.reduce((now, effect) => (effect.is(setCard) ? effect.value : now), value),
    provide: (field) => showTooltip.from(field),
  });
  const toggle = (view: EditorView) => {
    const at = line();
    const open = view.state.field(card) === null && at !== null ? cardOfLine(view, rows, at) : null;
    view.dispatch({ effects: [setCard.of(open), closeHoverTooltips] });
    return true;
  };
  const close = (view: EditorView) => {
    if (view.state.field(card) === null && !hasHoverTooltips(view.state)) return false;
    view.dispatch({ effects: [setCard.of(null), closeHoverTooltips] });
    return true;
  };
  return [
    card,
    // A column cuts off what it holds, so cards belong to the pane.
    tooltips({ parent: parent.closest<HTMLElement>(".kernels") ?? parent }),
    keymap.of([
      { key: "e", run: toggle },
      { key: "Escape", run: close },
    ]),
    // One card at a time: the pointer rests where a line was just chosen.
    hoverTooltip((view, at) => (view.state.field(card) ? null : cardAt(view, rows, at)), {
      hoverTime: 250,
    }),
    EditorView.domEventHandlers({ blur: (_, view) => void close(view) }),
  ];
}

function cardAt(view: EditorView, rows: Rows, position: number): Tooltip | null {
  const line = view.state.doc.lineAt(position);
  const column = position - line.from;
  const found = opcodesIn(line.text, rows.opcodes ?? {}).find(
    ({ name, from }) => from <= column && column <= from + name.length,
  );
  if (!found) return null;
  const place = rows.inlined?.(line.number - 1) ?? null;
  return tooltip(line.from + found.from, [found], place);
}

/** Everything known of a line; a sentence where nothing is. */
function cardOfLine(view: EditorView, rows: Rows, at: number): Tooltip | null {
  if (at >= view.state.doc.lines) return null;
  const line = view.state.doc.line(at + 1);
  const found = opcodesIn(line.text, rows.opcodes ?? {});
  return tooltip(line.from + (found[0]?.from ?? 0), found, rows.inlined?.(at) ?? null);
}

interface Known {
  name: string;
  opcode: Opcode;
}

function tooltip(pos: number, known: readonly Known[], place: string | null): Tooltip {
  return {
    pos,
    above: true,
    create: () => {
      const dom = element("div", "opcode-card");
      dom.setAttribute("role", "status");
      for (const each of known) dom.append(...explained(each));
      if (known.length === 0) dom.append(element("p", "", "No known instruction on this line."));
      if (place) dom.append(element("p", "mut", `Inlined from ${place}.`));
      return { dom };
    },
  };
}

function explained({ name, opcode }: Known): HTMLElement[] {
  const head = element("p", "");
  head.append(element("b", "mono", name), ` ${opcode.text}`);
  const parts = element("dl", "props");
  for (const [modifier, meaning] of opcode.parts)
    parts.append(element("dt", "mono", modifier), element("dd", "", meaning));
  const shown = opcode.parts.length ? [head, parts] : [head];
  return shown;
}

function element(tag: string, name: string, text = ""): HTMLElement {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.textContent = text;
  return made;
}
