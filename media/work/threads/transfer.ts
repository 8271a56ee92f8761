import { move, transferableSymbol, valueSymbol } from 'piscina'

/** Returns a value from a thread whose pixels change hands instead of being copied. */
export function transfer<Value extends { readonly data: ArrayBufferView<ArrayBuffer> }>(value: Value): Value {
  const holder = { [transferableSymbol]: [value.data.buffer], [valueSymbol]: value }
  // What arrives on the other side is the value itself.
  return move(holder) as unknown as Value
}
