import type { Animation, SceneLayer, ScenePage, ShownLayer } from './scene.ts'

/** How long a video shows a page without `seconds`. The API always sets it. */
const DEFAULT_PAGE_SECONDS = 5
/** Times are multiples of a thirtieth of a second, so a smaller difference is an error of rounding. */
const EPSILON = 1e-6

/** Where and how strongly a layer is drawn at a moment, compared with how it is drawn when nothing moves. */
export interface Motion {
  /** Whether an animation is going on. */
  readonly moving: boolean
  readonly opacity: number
  readonly dx: number
  readonly dy: number
  /** Around the center of the layer. */
  readonly scale: number
}

export const REST: Motion = { moving: false, opacity: 1, dx: 0, dy: 0, scale: 1 }

export function secondsOf({ seconds = DEFAULT_PAGE_SECONDS }: Pick<ScenePage, 'seconds'>): number {
  return seconds
}

/** When a layer is shown or played, from the start of its page. */
export function spanOf(layer: SceneLayer, page: ScenePage): { readonly start: number; readonly end: number } {
  const last = secondsOf(page)
  const { endSeconds = last, startSeconds = 0 } = layer
  return { start: startSeconds, end: Math.min(endSeconds, last) }
}

export function isShown({ endSeconds = Infinity, startSeconds = 0 }: SceneLayer, seconds: number): boolean {
  return startSeconds <= seconds + EPSILON && seconds + EPSILON < endSeconds
}

/** How a layer is drawn at a moment. Undefined if it is not shown. */
export function motionOf(layer: ShownLayer, page: ScenePage, seconds: number): Motion | undefined {
  if (!isShown(layer, seconds)) return undefined
  const { enter, exit } = layer
  const { end, start } = spanOf(layer, page)
  const entering = enter !== undefined && seconds + EPSILON < start + enter.seconds
  const exiting = exit !== undefined && seconds > end - exit.seconds + EPSILON
  const motion = entering ? motionBy(enter, (seconds - start) / enter.seconds, layer, page) : REST
  if (!exiting) return motion
  const other = motionBy(exit, (end - seconds) / exit.seconds, layer, page)
  return {
    moving: true,
    opacity: motion.opacity * other.opacity,
    dx: motion.dx + other.dx,
    dy: motion.dy + other.dy,
    scale: motion.scale * other.scale,
  }
}

/** @param done 0 is invisible, 1 is at rest */
function motionBy({ effect, side = 'left' }: Animation, done: number, layer: ShownLayer, page: ScenePage): Motion {
  const share = Math.min(1, Math.max(0, done))
  const eased = 1 - (1 - share) ** 3
  switch (effect) {
    case 'fade':
      return { ...REST, moving: true, opacity: share }
    case 'zoom':
      return { ...REST, moving: true, scale: eased }
    default: {
      const { height, left, top, width } = layer
      const away = 1 - eased
      const dx = side === 'left' ? -(left + width) : side === 'right' ? page.width - left : 0
      const dy = side === 'top' ? -(top + height) : side === 'bottom' ? page.height - top : 0
      return { ...REST, moving: true, dx: dx * away, dy: dy * away }
    }
  }
}
