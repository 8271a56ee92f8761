import { closestMatch } from 'leven'

/** `; did you mean create?` for a word that is similar to a known one or part of it; otherwise an empty text. */
export function didYouMean(given: string, known: readonly string[], prefix = ''): string {
  const parts = known.filter((name) => name.startsWith(given) || given.startsWith(name) || name.includes(given))
  const [part] = parts.toSorted((a, b) => a.length - b.length)
  const near = part ?? closestMatch(given, [...known], { maxDistance: Math.max(2, Math.floor(given.length / 3)) })
  return near === undefined ? '' : `; did you mean ${prefix}${near}?`
}
