/**
 * Keeps the result of a function for each object that it was called with, for as long as the object lives. Schemas are
 * constants, so what is compiled from them is compiled once per process, however many operations and nodes share them.
 */
export function memoize<K extends object, V>(make: (key: K) => V): (key: K) => V {
  const made = new WeakMap<K, { readonly value: V }>()
  return (key) => {
    let entry = made.get(key)
    if (entry === undefined) {
      entry = { value: make(key) }
      made.set(key, entry)
    }
    return entry.value
  }
}
