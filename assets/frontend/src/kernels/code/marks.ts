// What is marked in a column: selected, related and hovered lines, kept as decorations.

import { type Extension, RangeSet, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, gutter, GutterMarker } from "@codemirror/view";
import { type Difference, linesOf, type Spans } from "./rows";

export interface Marks {
  selected: number | null;
  related: Spans;
  hovered: Spans;
}

const LOOKS = {
  selected: Decoration.line({ class: "cm-sel", attributes: { "aria-current": "true" } }),
  related: Decoration.line({ class: "cm-rel" }),
  hovered: Decoration.line({ class: "cm-hov" }),
};

export const setMarks = StateEffect.define<Marks>();

const marked = StateField.define<Marks>({
  create: () => ({ selected: null, related: [], hovered: [] }),
  update(current, transaction) {
    for (const effect of transaction.effects) if (effect.is(setMarks)) return effect.value;
    return current;
  },
});

/** The marks; decorations are made only for what is in sight. */
export const markField: Extension = [
  marked,
  EditorView.decorations.of((view) => {
    const { doc } = view.state;
    const first = doc.lineAt(view.viewport.from).number - 1;
    const last = doc.lineAt(view.viewport.to).number - 1;
    return decorations(view.state.field(marked), doc, first, last);
  }),
];

interface Lines {
  line(number: number): { from: number };
}

function decorations(marks: Marks, doc: Lines, first: number, last: number): DecorationSet {
  const looks = new Map<number, Decoration>();
  for (const at of linesOf(marks.hovered, first, last)) looks.set(at, LOOKS.hovered);
  for (const at of linesOf(marks.related, first, last)) looks.set(at, LOOKS.related);
  const { selected } = marks;
  if (selected !== null && first <= selected && selected <= last)
    looks.set(selected, LOOKS.selected);
  const ranges = [...looks]
    .sort(([a], [b]) => a - b)
    .map(([at, look]) => look.range(doc.line(at + 1).from));
  return Decoration.set(ranges);
}

const DIFFERENT: Record<Difference, Decoration> = {
  changed: Decoration.line({ class: "cm-changed" }),
  added: Decoration.line({ class: "cm-added" }),
  removed: Decoration.line({ class: "cm-removed" }),
  gap: Decoration.line({ class: "cm-gap" }),
  fold: Decoration.line({ class: "cm-fold" }),
};

/** How the lines of a comparison differ; the text never changes, so neither do they. */
export function differing(lines: readonly (Difference | null)[]): Extension {
  let made: DecorationSet | null = null;
  return EditorView.decorations.of((view) => {
    const { doc } = view.state;
    made ??= Decoration.set(
      lines.flatMap((kind, at) => (kind ? [DIFFERENT[kind].range(doc.line(at + 1).from)] : [])),
    );
    return made;
  });
}

class Colour extends GutterMarker {
  constructor(private readonly colour: number) {
    super();
  }

  override eq(other: Colour): boolean {
    return other.colour === this.colour;
  }

  override toDOM(): HTMLElement {
    const element = document.createElement("i");
    element.className = "cm-colour";
    element.style.background = `var(--g${this.colour})`;
    return element;
  }
}

const COLOURS = Array.from({ length: 8 }, (_, colour) => new Colour(colour));

/** The strip beside the numbers: one colour per FX node. */
export function strip(colours: readonly number[]): Extension {
  let made: RangeSet<GutterMarker> | null = null;
  return gutter({
    class: "cm-strip",
    markers(view) {
      // The text never changes, so that one set serves the editor's whole life.
      made ??= RangeSet.of(
        colours.flatMap((colour, at) =>
          colour >= 0 ? [COLOURS[colour]!.range(view.state.doc.line(at + 1).from)] : [],
        ),
      );
      return made;
    },
  });
}
