import type { SceneLayer, ScenePage } from './scene.ts'

/** How long a video shows a page that does not say so. The API always says so. */
const DEFAULT_PAGE_SECONDS = 5

/** A part of a page during which nothing changes. */
export interface Still {
  /** From the start of the page. */
  readonly from: number
  readonly seconds: number
}

export function isShown({ endsAt = Infinity, startsAt = 0 }: SceneLayer, seconds: number): boolean {
  return startsAt <= seconds && seconds < endsAt
}

export function secondsOf({ seconds = DEFAULT_PAGE_SECONDS }: Pick<ScenePage, 'seconds'>): number {
  return seconds
}

/** Divides a page at the times when a layer appears or disappears. */
export function stillsOf(page: ScenePage): Still[] {
  const end = secondsOf(page)
  const changes = page.layers.flatMap(({ endsAt = end, startsAt = 0 }) => [startsAt, endsAt])
  const times = [...new Set([0, ...changes])].filter((time) => time < end).toSorted((one, other) => one - other)
  return times.map((from, index) => ({ from, seconds: (times[index + 1] ?? end) - from }))
}
