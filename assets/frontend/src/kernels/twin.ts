// Two columns of one height that scroll together.

import type { CodeEditor } from "./editor";

const SETTLED = 120; // ms without scrolling

export class Twin {
  private readonly editors = new Set<CodeEditor>();
  /** The one that is being scrolled: what the other answers, late or cut short, moves nothing. */
  private leader: CodeEditor | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** Gives what takes the editor out again. */
  join(editor: CodeEditor): () => void {
    this.editors.add(editor);
    editor.onScroll(() => {
      if (this.leader === null || this.leader === editor) this.lead(editor);
    });
    return () => {
      this.editors.delete(editor);
      clearTimeout(this.timer);
    };
  }

  private lead(editor: CodeEditor): void {
    this.leader = editor;
    this.follow(editor);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.follow(editor); // a column that was only being laid out could not go there at once
      this.timer = setTimeout(() => (this.leader = null), SETTLED);
    }, SETTLED);
  }

  private follow(leader: CodeEditor): void {
    for (const other of this.editors) if (other !== leader) other.scrollTo(...leader.place());
  }
}
