// Ends what runs in the kernel.

import type { Host } from "../host";
import { Button } from "../ui/basics";

export function Cancel({ host, look = "" }: { host: Host; look?: string }) {
  const lost = host.lost.value;
  return (
    <Button look={look} tip={lost ?? undefined} isOff={lost !== null} press={() => host.cancel()}>
      Cancel
    </Button>
  );
}
