// The list of keys.

import { useEffect, useRef } from "preact/hooks";

/** Keys and what they do; `isRange` where the two stand for all between them. */
export interface KeyWords {
  keys: readonly string[];
  words: string;
  isRange?: boolean;
}

interface Props {
  keys: readonly KeyWords[];
  isOpen: boolean;
  close(): void;
}

export function Help({ keys: all, isOpen, close }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isOpen && !dialog.current?.open) dialog.current?.showModal();
    if (!isOpen) dialog.current?.close();
  }, [isOpen]);
  return (
    <dialog ref={dialog} aria-label="Keyboard" onClose={close}>
      <h2>Keyboard</h2>
      <dl class="keys">
        {all.map(({ keys, words, isRange }) => (
          <>
            <dt>
              {keys.map((key, i) => (
                <>
                  {isRange && i ? " to " : " "}
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
