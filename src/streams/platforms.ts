import type { Clock } from '../core/clock.ts'
import type { FieldError } from '../core/error.ts'
import { NotFound, ValidationFailed } from '../core/errors.ts'
import { uuidv7 } from '../core/id.ts'
import type { Turn } from '../core/turn.ts'
import type { PlanService } from '../plans/service.ts'
import { chosenRendering } from './rendering.ts'
import type { PlatformInput, StreamPlatformData } from './schemas.ts'

/** What stands in `stream_destinations` for a new row, and what the API shows of it. */
export interface ChosenPlatform {
  readonly row: Readonly<Record<string, unknown>>
  readonly view: StreamPlatformData
}

/** Where streams may go: checks what a caller chose against what the workspace has and its plan allows. */
export class PlatformChooser {
  readonly #clock: Clock
  readonly #plans: PlanService
  /** What every plan allows: up to here nobody's plan has to be asked. */
  readonly #alwaysAllowed: number

  constructor(clock: Clock, plans: PlanService) {
    this.#clock = clock
    this.#plans = plans
    this.#alwaysAllowed = Math.min(...plans.all().map((plan) => plan.limits.streamDestinations))
  }

  /**
   * Rows for platforms that a stream does not have yet, of a list that `checkForm` has seen.
   * @param kept how many it has and keeps
   * @throws AppError validation_failed; plan_limit_reached
   */
  async choose(turn: Turn, streamId: string, platforms: readonly PlatformInput[], kept = 0): Promise<ChosenPlatform[]> {
    if (platforms.length === 0) return []
    const names = await this.#namesOf(turn, platforms)
    await this.#checkCount(turn, platforms.length + kept)
    const now = this.#clock.now()
    const at = new Date(now).toISOString()
    return platforms.map(({ platform, accountId, rendering: wanted }) => {
      const rendering = chosenRendering(wanted)
      const id = uuidv7(now)
      const name = names.get(accountId) ?? ''
      return {
        row: {
          id,
          stream_id: streamId,
          workspace_id: turn.workspaceId,
          platform,
          account_id: accountId,
          name,
          enabled: true,
          status: 'idle',
          since: at,
          last_error: null,
          rendering,
          created_at: at,
        },
        view: {
          _id: id,
          platform,
          accountId,
          name,
          enabled: true,
          status: 'idle',
          since: at,
          lastError: null,
          rendering,
        },
      }
    })
  }

  async #checkCount(turn: Turn, count: number): Promise<void> {
    if (count <= this.#alwaysAllowed) return
    const allowance = await this.#plans.lockLimitsOf(turn.sql, await ownerOf(turn))
    const limit = allowance.streamDestinations
    if (count <= limit) return
    const message = `The ${allowance.plan} plan allows ${limit} destinations a stream; this one would have ${count}.`
    throw this.#plans.limitError(allowance, 'streamDestinations', count, message)
  }

  async #namesOf(turn: Turn, platforms: readonly PlatformInput[]): Promise<ReadonlyMap<string, string>> {
    const rows = await turn.sql.rows<{ id: string; name: string }>(
      'select id, name from rtmp_destinations where workspace_id = $1 and id = any($2)',
      [turn.workspaceId, platforms.map((platform) => platform.accountId)],
    )
    const names = new Map(rows.map((row) => [row.id, row.name]))
    refuseIf(
      platforms.flatMap(({ accountId }, index) =>
        names.has(accountId)
          ? []
          : [
              {
                path: `/body/platforms/${index}/accountId`,
                code: 'unknown',
                message: 'is no RTMP destination of this workspace',
              },
            ],
      ),
    )
    return names
  }
}

/** @throws AppError validation_failed for platforms that cannot be streamed to, or that are named twice */
export function checkForm(platforms: readonly PlatformInput[]): void {
  const seen = new Set<string>()
  refuseIf(
    platforms.flatMap(({ platform, accountId }, index) => {
      if (platform !== 'custom') {
        const message = `must be custom: streaming to ${platform} comes by connecting an account, which this version cannot do yet`
        return [{ path: `/body/platforms/${index}/platform`, code: 'platform', message }]
      }
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

/** Who pays for the workspace of a turn. @throws AppError not_found when it was deleted */
export async function ownerOf(turn: Turn): Promise<string> {
  const row = await turn.sql.row<{ owner_id: string }>(
    'select owner_id from workspaces where id = $1 and deleted_at is null',
    [turn.workspaceId],
  )
  if (row === undefined) throw NotFound()
  return row.owner_id
}
