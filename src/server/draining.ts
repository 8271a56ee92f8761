import type { Actors } from '../../actors/index.ts'
import type { Config } from '../config/config.ts'
import { SECOND } from '../core/clock.ts'

/** Long enough for two health checks of a load balancer, and short enough to stop within ten seconds in total. */
const USUAL_DRAIN_MS = 4 * SECOND

/** How long closing everything may take after draining. */
const CLOSING_MS = 5.5 * SECOND
const USUAL_STOP_MS = 9.5 * SECOND

/**
 * How long a stopping node keeps serving while it reports that it is not ready, so that a load balancer notices before
 * connections are refused. A single node cannot hand requests to another, so it stops at once.
 */
export function drainMs({ DRAIN_SECONDS }: Config, actors: Actors): number {
  if (DRAIN_SECONDS !== undefined) return DRAIN_SECONDS * SECOND
  return (actors.stats().cluster?.nodes ?? 1) > 1 ? USUAL_DRAIN_MS : 0
}

/** A stop that takes longer is forced. Everything that must survive is committed by then. */
export function stopWithinMs({ DRAIN_SECONDS = 0 }: Config): number {
  return Math.max(USUAL_STOP_MS, DRAIN_SECONDS * SECOND + CLOSING_MS)
}
