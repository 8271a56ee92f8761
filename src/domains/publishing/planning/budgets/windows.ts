/** Something that counts for a budget. */
export interface Counted {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly weight: number
}

/**
 * The largest sum of any span of a length that contains an instant. Platforms count in windows that move, so a new post
 * counts for windows that end at it and for those that end at later posts.
 * @param list in any order, at least what is within one span of the instant
 */
export function mostAround(list: readonly Counted[], at: number, span: number): number {
  const near = list.filter((one) => Math.abs(one.at - at) < span).toSorted((a, b) => a.at - b.at)
  let most = 0
  let sum = 0
  let first = 0
  let next = 0
  for (const end of [at, ...near.map((one) => one.at).filter((one) => one > at)]) {
    for (; next < near.length && (near[next]?.at ?? 0) <= end; next += 1) sum += near[next]?.weight ?? 0
    for (; first < next && (near[first]?.at ?? 0) <= end - span; first += 1) sum -= near[first]?.weight ?? 0
    most = Math.max(most, sum)
  }
  return most
}
