// The list of keys.

import { useEffect, useRef } from "preact/hooks";

const KEYS: [string[], string][] = [
  [["1", "0"], "switch pane"],
  [["/"], "find"],
  [["↑", "↓"], "previous or next row or line"],
  [["↑", "↓", "←", "→"], "in the graph: walk along edges and siblings"],
  [["Shift", "↑", "↓", "←", "→"], "in the graph: move the view"],
  [["Page Up", "Page Down"], "in the graph: zoom in and out"],
  [["Home", "End"], "in the graph: show all, show the selection"],
  [["Space"], "in the graph: open or close the box"],
  [["e"], "in assembly: explain the instruction of the line"],
  [["n", "p"], "in a comparison: next difference, the one before"],
  [["Enter"], "open the code of the selected thing"],
  [["Alt", "←", "→"], "back and forward through selections"],
  [["i"], "show or hide the inspector"],
  [["Esc"], "clear the selection"],
];

export function Help({ isOpen, close }: { isOpen: boolean; close(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isOpen && !dialog.current?.open) dialog.current?.showModal();
    if (!isOpen) dialog.current?.close();
  }, [isOpen]);
  return (
    <dialog ref={dialog} aria-label="Keyboard" onClose={close}>
      <h2>Keyboard</h2>
      <dl class="keys">
        {KEYS.map(([keys, words]) => (
          <>
            <dt>
              {keys.map((key, i) => (
                <>
                  {words === "switch pane" && i ? " to " : " "}
                  <kbd>{key}</kbd>
                </>
              ))}
            </dt>
            <dd>{words}</dd>
          </>
        ))}
      </dl>
      <p class="mut">Single keys act while the focus is in the view and not in a field.</p>
      <button type="button" class="btn" onClick={close}>
        Close
      </button>
    </dialog>
  );
}
