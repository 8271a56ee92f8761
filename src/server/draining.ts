import type { Actors } from '../../actors/index.ts'
import type { Config } from '../config/config.ts'
import { SECOND } from '../core/clock.ts'

/** Enough for two health checks of a load balancer, and short enough to end within ten seconds all the same. */
const USUAL_DRAIN_MS = 4 * SECOND

/** How long closing everything may take, once requests are no longer sent here. */
const CLOSING_MS = 5.5 * SECOND
const USUAL_STOP_MS = 9.5 * SECOND

/**
 * How long a node that is told to stop goes on serving while it says that it is not ready, so that a load balancer
 * notices before connections are refused. A node on its own has nobody to hand requests to: it stops at once.
 */
export function drainMs({ DRAIN_SECONDS }: Config, actors: Actors): number {
  if (DRAIN_SECONDS !== undefined) return DRAIN_SECONDS * SECOND
  return (actors.stats().cluster?.nodes ?? 1) > 1 ? USUAL_DRAIN_MS : 0
}

/** A stop that takes longer is ended by force; by then everything that must survive is committed. */
export function stopWithinMs({ DRAIN_SECONDS = 0 }: Config): number {
  return Math.max(USUAL_STOP_MS, DRAIN_SECONDS * SECOND + CLOSING_MS)
}
