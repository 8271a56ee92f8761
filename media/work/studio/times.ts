import type { SceneLayer, ScenePage } from './scene.ts'

/** How long a video shows a page that does not say so. The API always says so. */
const DEFAULT_PAGE_SECONDS = 5

/** A part of a page during which nothing changes. */
export interface Still {
  /** From the start of the page. */
  readonly from: number
  readonly seconds: number
}

export function isShown({ endSeconds = Infinity, startSeconds = 0 }: SceneLayer, seconds: number): boolean {
  return startSeconds <= seconds && seconds < endSeconds
}

export function secondsOf({ seconds = DEFAULT_PAGE_SECONDS }: Pick<ScenePage, 'seconds'>): number {
  return seconds
}

/** Divides a page at the times when a layer appears or disappears. */
export function stillsOf(page: ScenePage): Still[] {
  const end = secondsOf(page)
  const changes = page.layers.flatMap(({ endSeconds = end, startSeconds = 0 }) => [startSeconds, endSeconds])
  const times = [...new Set([0, ...changes])].filter((time) => time < end).toSorted((one, other) => one - other)
  return times.map((from, index) => ({ from, seconds: (times[index + 1] ?? end) - from }))
}
