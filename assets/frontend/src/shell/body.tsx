// What the pane's place shows: the pane, why it is empty, or a compilation as it goes.

import { Component, type ComponentChildren } from "preact";
import { ProgressView } from "../progress/progress";
import type { Store } from "../store";
import { Empty, Message } from "../ui/basics";

export function Body({ store }: { store: Store }) {
  const report = store.doc.value;
  const { status } = store.host.progress.value;
  const id = store.pane.value;
  const failure = store.host.failure.value;
  const { Pane, Remedy, isHome } = store.registration(id);
  if (status === "running" && (isHome || !report)) return <ProgressView store={store} />;
  if (!report) {
    if (status === "failed" || status === "cancelled") return <ProgressView store={store} />;
    const note = failure
      ? { title: "Nothing to show.", text: failure, tone: "plain" as const }
      : { title: "Loading", text: "The report is on its way.", tone: "plain" as const };
    return <Empty store={store} note={note} />;
  }
  const head = report.panes.find((each) => each.id === id);
  return (
    <>
      {failure && (
        <Message note={{ title: "The kernel did not answer.", text: failure, tone: "break" }} />
      )}
      {head?.empty && !isHome ? (
        <Empty store={store} note={head.empty}>
          {Remedy && <Remedy store={store} />}
        </Empty>
      ) : (
        <Guarded key={id} store={store}>
          <Pane store={store} />
        </Guarded>
      )}
    </>
  );
}

/** A pane that fails says so and leaves the rest of the view alive. */
class Guarded extends Component<{ store: Store; children: ComponentChildren }, { error?: Error }> {
  override state: { error?: Error } = {};

  override componentDidCatch(error: Error): void {
    console.error(error);
    this.setState({ error });
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    const text = `${error.message}. The other panes work; please report it with the saved report.`;
    return (
      <Empty store={this.props.store} note={{ title: "This pane failed.", text, tone: "break" }} />
    );
  }
}
