import type { Clock } from '../../../core/clock.ts'
import type { FieldError } from '../../../core/error.ts'
import { NotFound, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Turn } from '../../../core/turn.ts'
import { planLabel, type PlanService } from '../../money/plans/index.ts'
import type { Row } from '../../../db/row.ts'
import { findDestinations } from '../destinations/index.ts'
import { payerOf } from '../../workspace/workspaces/index.ts'
import { chosenRendering } from './rendering.ts'
import type { PlatformInput, StreamPlatformData } from './schemas.ts'
import type { StreamDestination } from './tables.ts'

/** The platform of an RTMP destination without one. Requests can use it for every RTMP destination. */
export const CUSTOM = 'custom'

interface NamedDestination {
  readonly name: string
  readonly platform: string
}

/** A row of `stream_destinations` to insert. */
export type ChosenPlatform = Row<typeof StreamDestination>

/** Checks the destinations that a request names against those of the workspace and the limit of the plan. */
export class PlatformChooser {
  readonly #clock: Clock
  readonly #plans: PlanService
  /** The number that every plan allows. Up to it, the plan is not read. */
  readonly #alwaysAllowed: number

  constructor(clock: Clock, plans: PlanService) {
    this.#clock = clock
    this.#plans = plans
    this.#alwaysAllowed = Math.min(...plans.all().map((plan) => plan.limits.streamDestinations))
  }

  /**
   * Checks all destinations of a stream and makes rows for new ones.
   * @param present the destinations that it already has
   * @throws AppError validation_failed; plan_limit_reached
   */
  async choose(
    turn: Turn,
    streamId: string,
    platforms: readonly PlatformInput[],
    present: readonly StreamPlatformData[] = [],
  ): Promise<ChosenPlatform[]> {
    if (platforms.length === 0) return []
    refuseTwice(platforms)
    const destinations = await this.#destinationsOf(turn, platforms)
    const added = platforms.filter(({ accountId }) => !present.some((one) => one.accountId === accountId))
    if (added.length > 0) await this.#checkCount(turn, platforms.length)
    const now = this.#clock.now()
    const at = new Date(now).toISOString()
    return added.map(({ accountId, rendering: wanted }) => {
      const { name = '', platform = CUSTOM } = destinations.get(accountId) ?? {}
      const rendering = chosenRendering(wanted)
      const id = uuidv7(now)
      return {
        id,
        streamId,
        workspaceId: turn.workspaceId,
        platform,
        accountId,
        name,
        enabled: true,
        status: 'idle',
        since: at,
        lastError: null,
        rendering,
        createdAt: at,
      }
    })
  }

  async #checkCount(turn: Turn, count: number): Promise<void> {
    if (count <= this.#alwaysAllowed) return
    const allowance = await this.#plans.lockLimitsOf(turn.sql, await ownerOf(turn))
    const limit = allowance.streamDestinations
    if (count <= limit) return
    const message = `The ${planLabel(allowance)} allows ${limit} destinations a stream; this one would have ${count}.`
    throw this.#plans.limitError(allowance, 'streamDestinations', count, message)
  }

  /** The named RTMP destinations by id. @throws AppError validation_failed */
  async #destinationsOf(
    turn: Turn,
    platforms: readonly PlatformInput[],
  ): Promise<ReadonlyMap<string, NamedDestination>> {
    const ids = platforms.map(({ accountId }) => accountId)
    const rows = await findDestinations(turn.sql, turn.workspaceId, ids)
    const destinations = new Map(rows.map(({ id, name, platform }) => [id, { name, platform: platform ?? CUSTOM }]))
    refuseIf(
      platforms.flatMap(({ accountId, platform }, index) => {
        const fault = (field: string, code: string, message: string) => [
          { path: `/body/platforms/${index}/${field}`, code, message },
        ]
        const destination = destinations.get(accountId)
        if (destination === undefined) return fault('accountId', 'unknown', 'is no RTMP destination of this workspace')
        if (platform === CUSTOM || platform === destination.platform) return []
        const names = [...new Set([CUSTOM, destination.platform])].join(' or ')
        return fault('platform', 'platform', `must be ${names} for this destination`)
      }),
    )
    return destinations
  }
}

/** @throws AppError validation_failed for duplicate destinations */
function refuseTwice(platforms: readonly PlatformInput[]): void {
  const seen = new Set<string>()
  refuseIf(
    platforms.flatMap(({ accountId }, index) => {
      if (seen.has(accountId)) {
        return [{ path: `/body/platforms/${index}/accountId`, code: 'duplicate', message: 'is named twice' }]
      }
      seen.add(accountId)
      return []
    }),
  )
}

function refuseIf(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw ValidationFailed({ errors })
}

/** The owner whose plan the workspace counts against. @throws AppError not_found when it was deleted */
export async function ownerOf(turn: Turn): Promise<string> {
  const ownerId = await payerOf(turn.sql, turn.workspaceId)
  if (ownerId === undefined) throw NotFound()
  return ownerId
}
