import { move, transferableSymbol, valueSymbol } from 'piscina'

/** Returns a value from a thread. Its pixels are transferred, not copied. */
export function transfer<Value extends { readonly data: ArrayBufferView<ArrayBuffer> }>(value: Value): Value {
  const holder = { [transferableSymbol]: [value.data.buffer], [valueSymbol]: value }
  // The receiver gets the value itself.
  return move(holder) as unknown as Value
}
