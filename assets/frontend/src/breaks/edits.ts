// What is typed into the guard sandbox: lists of sizes, and the stride of a dense tensor.

import type { Input } from "../wire";

/** "4, 512" as numbers, or null when it is not a list of whole numbers. */
export function sizesOf(text: string): number[] | null {
  const inner = text
    .trim()
    .replace(/^[[(]|[\])]$/g, "")
    .trim();
  if (inner === "") return [];
  const parts = inner.replace(/,\s*$/, "").split(/\s*,\s*|\s+/);
  const sizes = parts.map((part) => (/^\d+$/.test(part) ? Number(part) : Number.NaN));
  return sizes.some(Number.isNaN) ? null : sizes;
}

/** The strides of a dense tensor in C order, in elements. */
export function denseStride(shape: number[]): number[] {
  const stride: number[] = new Array(shape.length);
  let step = 1;
  for (let i = shape.length - 1; i >= 0; i -= 1) {
    stride[i] = step;
    step *= Math.max(1, shape[i] ?? 1);
  }
  return stride;
}

export interface Draft {
  shape: string;
  stride: string;
  dtype: string;
}

export function draftOf(input: Input): Draft {
  return { shape: input.shape.join(", "), stride: input.stride.join(", "), dtype: input.dtype };
}

/** A draft with another shape; the stride follows unless it was not dense before. */
export function reshaped(draft: Draft, shape: string): Draft {
  const before = sizesOf(draft.shape);
  const after = sizesOf(shape);
  const wasDense = before !== null && denseStride(before).join(", ") === draft.stride;
  const stride = after && wasDense ? denseStride(after).join(", ") : draft.stride;
  return { ...draft, shape, stride };
}

/** The input as edited, or a sentence that says what cannot be read. */
export function edited(input: Input, draft: Draft): Input | string {
  const shape = sizesOf(draft.shape);
  const stride = sizesOf(draft.stride);
  if (!shape) return `The shape of ${input.path} must be whole numbers, such as 4, 512.`;
  if (!stride) return `The stride of ${input.path} must be whole numbers, such as 512, 1.`;
  if (shape.length !== stride.length)
    return `The stride of ${input.path} needs ${shape.length} numbers, one for each dimension.`;
  return { ...input, shape, stride, dtype: draft.dtype };
}
