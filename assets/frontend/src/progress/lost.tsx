// The kernel is gone: one strip under the tabs says so; what was loaded stays below it.

import { Icon } from "../ui/icons";

export function LostStrip({ why }: { why: string }) {
  const end = why.indexOf(":");
  return (
    <div class="job lost" role="alert">
      <Icon name="info" />
      <span class="cut" data-tip="">
        <b>{why.slice(0, end)}</b>
        {why.slice(end)}
      </span>
    </div>
  );
}
