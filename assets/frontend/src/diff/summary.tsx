// What matters most, in sentences that lead to their part; what is the same in both.

import type { DiffState } from "./state";
import { isTold } from "./state";

export function Summary({ state }: { state: DiffState }) {
  const { doc } = state;
  const alike = doc.parts.filter((part) => !isTold(part));
  return (
    <div class="scroll diff-summary" tabIndex={0} role="group" aria-label="Summary">
      <ol>
        {doc.sentences.map((sentence, n) => {
          const part = state.part(sentence.part);
          return (
            <li key={n}>
              <span>{sentence.text}</span>
              {part && isTold(part) && (
                <button type="button" class="btn link" onClick={() => state.show(part.id)}>
                  {part.title}
                </button>
              )}
            </li>
          );
        })}
      </ol>
      {alike.length > 0 && (
        <p class="mut">{`The same in both: ${alike.map((part) => `${part.title} (${part.same})`).join(", ")}.`}</p>
      )}
    </div>
  );
}
