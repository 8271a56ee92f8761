/** Hours of a week: weekday × 24 + hour, with Monday as 0. */
export const SLOTS = 168

/** A published post and what it achieved. */
export interface Achievement {
  /** The hour of the week in which it was published. */
  readonly slot: number
  /** The account, with whose other posts it is compared. */
  readonly group: string
  /** Engagements or another figure, at least 0. */
  readonly value: number
}

export interface SlotScore {
  /** Posts in the hour itself. */
  readonly postCount: number
  /** Posts that the score rests on: those in the hours beside count half. */
  readonly weight: number
  /** The factor by which posts do better than the mean of their account. Null without posts. */
  readonly score: number | null
  /** The interval that contains the true factor with 90 %: around the mean of the posts, before it is shrunk. */
  readonly low: number | null
  readonly high: number | null
}

export interface SlotScores {
  readonly slots: readonly SlotScore[]
  /** The slots that are better than chance explains, the best first. */
  readonly best: readonly number[]
}

/** Fewer posts than this say nothing about 168 hours. */
export const MIN_POSTS = 40
const SHUFFLES = 400
/** The share of weeks without any pattern in which a slot is called better by chance. */
const CHANCE = 0.01
const MAX_BEST = 5
/** Two-sided 90 %. */
const Z90 = 1.645
const NEIGHBOURS = [
  [0, 1],
  [1, 0.5],
  [SLOTS - 1, 0.5],
] as const

/**
 * Scores each hour of the week. The values are logarithms relative to the mean of their account, so that one post with
 * very many likes counts little, and large accounts count as much as small ones. Each hour is shrunk towards the mean by
 * how much hours differ at all (empirical Bayes): `sum / (weight + noise / spread)`. A slot is called better only if its
 * deviation is larger than the largest one of nearly all weeks in which the same posts are shuffled.
 */
export function scoreSlots(posts: readonly Achievement[]): SlotScores {
  const values = centered(posts)
  const at = posts.map(({ slot }) => slot)
  const weights = weightsOf(at)
  const totals = totalsOf(at, values)
  const noise = values.reduce((sum, value) => sum + value * value, 0) / Math.max(1, values.length)
  const spread = spreadOf(weights, totals, noise)
  const counts = new Int32Array(SLOTS)
  for (const slot of at) counts[slot]! += 1
  const slots = Array.from({ length: SLOTS }, (_, slot): SlotScore => {
    const { squares, sum: weight } = weights[slot]!
    const postCount = counts[slot]!
    if (weight === 0) return { postCount, weight: 0, score: null, low: null, high: null }
    // Without differences between hours, all are equal to the mean.
    const trust = spread === 0 ? 0 : 1 / (weight + noise / spread)
    const mean = totals[slot]! / weight
    const reach = (Z90 * Math.sqrt(noise * squares)) / weight
    return {
      postCount,
      weight,
      score: round(Math.exp(totals[slot]! * trust)),
      low: round(Math.exp(mean - reach)),
      high: round(Math.exp(mean + reach)),
    }
  })
  return { slots, best: posts.length < MIN_POSTS ? [] : bestOf(at, values, weights, totals) }
}

/** Logarithms minus their mean within each account. */
function centered(posts: readonly Achievement[]): Float64Array {
  const logs = posts.map(({ value }) => Math.log1p(Math.max(0, value)))
  const means = new Map<string, { sum: number; count: number }>()
  for (const [index, { group }] of posts.entries()) {
    const known = means.get(group) ?? { sum: 0, count: 0 }
    means.set(group, { sum: known.sum + logs[index]!, count: known.count + 1 })
  }
  return Float64Array.from(posts, ({ group }, index) => {
    const { count, sum } = means.get(group)!
    return logs[index]! - sum / count
  })
}

interface Weight {
  readonly sum: number
  /** The sum of the squared weights, for the variance of the weighted sum. */
  readonly squares: number
}

function weightsOf(at: readonly number[]): Weight[] {
  const sums = new Float64Array(SLOTS)
  const squares = new Float64Array(SLOTS)
  for (const slot of at) {
    for (const [distance, weight] of NEIGHBOURS) {
      const other = (slot + distance) % SLOTS
      sums[other]! += weight
      squares[other]! += weight * weight
    }
  }
  return Array.from(sums, (sum, slot) => ({ sum, squares: squares[slot]! }))
}

function totalsOf(at: readonly number[], values: Float64Array): Float64Array {
  const totals = new Float64Array(SLOTS)
  for (const [index, slot] of at.entries()) {
    const value = values[index]!
    for (const [distance, weight] of NEIGHBOURS) totals[(slot + distance) % SLOTS]! += weight * value
  }
  return totals
}

/** The variance between hours: that of their means, without what the noise explains. Never below 0. */
function spreadOf(weights: readonly Weight[], totals: Float64Array, noise: number): number {
  let above = 0
  let below = 0
  for (const [slot, { squares, sum }] of weights.entries()) {
    if (sum === 0) continue
    const mean = totals[slot]! / sum
    above += sum * (mean * mean - (noise * squares) / (sum * sum))
    below += sum
  }
  return below === 0 ? 0 : Math.max(0, above / below)
}

function bestOf(
  at: readonly number[],
  values: Float64Array,
  weights: readonly Weight[],
  totals: Float64Array,
): number[] {
  const deviations = (sums: Float64Array) =>
    Float64Array.from(sums, (sum, slot) => {
      const { squares, sum: weight } = weights[slot]!
      // Fewer than three posts are no evidence, however good they are.
      return weight < 3 ? -Infinity : sum / Math.sqrt(squares)
    })
  const random = randomOf(at.length)
  const shuffled = Float64Array.from(values)
  const highest = Array.from({ length: SHUFFLES }, () => {
    for (let index = shuffled.length - 1; index > 0; index -= 1) {
      const other = Math.floor(random() * (index + 1))
      const kept = shuffled[index]!
      shuffled[index] = shuffled[other]!
      shuffled[other] = kept
    }
    return deviations(totalsOf(at, shuffled)).reduce((one, two) => Math.max(one, two), -Infinity)
  })
  const limit = highest.toSorted((one, two) => two - one)[Math.floor(SHUFFLES * CHANCE)] ?? Infinity
  return Array.from(deviations(totals), (deviation, slot) => ({ deviation, slot }))
    .filter(({ deviation }) => deviation > limit)
    .toSorted((one, two) => two.deviation - one.deviation)
    .slice(0, MAX_BEST)
    .map(({ slot }) => slot)
}

/** The same numbers for the same posts, so that a repeated request has the same reply (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000
}
