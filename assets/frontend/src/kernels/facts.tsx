// The bar of facts of the kernel that is shown.

import type { Kernel } from "../wire";

const ELSEWHERE = new Set(["Name", "Kind", "Lines", "Source"]); // in the chooser and the columns' heads

export function Facts({ kernel }: { kernel: Kernel }) {
  const facts = kernel.facts.filter(([name]) => !ELSEWHERE.has(name));
  return (
    <dl class="code-facts" aria-label={`Facts of ${kernel.id}`}>
      <div class="code-name">
        <dt class="sr">Name</dt>
        <dd class="mono cut" data-tip="">
          {kernel.name}
        </dd>
      </div>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
