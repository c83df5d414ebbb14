// What a view in a notebook is given by its host: the model of a widget.

/** The part of anywidget's model that is used here. */
export interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  send(content: unknown): void;
  on(event: string, call: (...args: never[]) => void): void;
  off(event: string, call: (...args: never[]) => void): void;
  /** What the frontend knows of all its widgets; marimo and some others have none. */
  readonly widget_manager?: unknown;
}
