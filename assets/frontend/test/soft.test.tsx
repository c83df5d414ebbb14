// @vitest-environment happy-dom
import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import { Soft } from "../src/ui/basics";
import { Python } from "../src/ui/highlight";

/** The text with a bar where a line may end. */
async function drawn(what: preact.ComponentChild): Promise<string> {
  const box = document.createElement("div");
  await act(() => render(what, box));
  for (const each of box.querySelectorAll("wbr")) each.replaceWith("|");
  return box.textContent;
}

test("a long name goes on behind what joins its parts, as `Expert.forwa|rd` did not", async () => {
  expect(await drawn(<Soft text="Expert.forward" />)).toBe("Expert.|forward");
  const kernel = "triton_poi_fused_add_native_group_norm_0";
  expect(await drawn(<Soft text={kernel} />)).toBe(
    "triton_|poi_|fused_|add_|native_|group_|norm_0",
  );
});

test("short words, numbers and sentences stay as they are", async () => {
  const said = "See host.py:32, 12.5 µs of aten.mm in v2.13.0, [131072, 1, 4096].";
  expect(await drawn(<Soft text={said} />)).toBe(said);
});

test("a line of Python ends behind a mark, not within a name", async () => {
  expect(await drawn(<Python text="h=self.inner(noisy)+self.time(wave)" />)).toBe(
    "h=|self.|inner(|noisy)+|self.|time(|wave)",
  );
});
