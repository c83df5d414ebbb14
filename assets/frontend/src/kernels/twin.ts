// Two columns of one height that scroll together.

import type { CodeEditor } from "./editor";

export class Twin {
  private readonly editors = new Set<CodeEditor>();

  /** Gives what takes the editor out again. */
  join(editor: CodeEditor): () => void {
    this.editors.add(editor);
    editor.onScroll((top, left) => {
      for (const other of this.editors) if (other !== editor) other.scrollTo(top, left);
    });
    return () => this.editors.delete(editor);
  }
}
