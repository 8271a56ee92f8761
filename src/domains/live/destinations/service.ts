import { isIP } from 'node:net'
import { checkAddress, DestinationUrlError, parseDestinationUrl } from '../../../../media/relay/resolve.ts'
import type { Clock } from '../../../core/clock.ts'
import { NotFound, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../core/id.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { SealedBox } from '../../../core/sealed-box.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import type { PlanService } from '../../money/plans/service.ts'
import { requireRoom } from '../../workspace/workspaces/collections.ts'
import { RtmpDestination } from './entities.ts'
import { rtmpDestinationCreated, rtmpDestinationDeleted } from './events.ts'
import { keyHint, masked } from './key-hint.ts'
import type { LivePlatformName } from './live-platforms.ts'
import { keyFault, placeOf } from './platform-choice.ts'
import type { NewRtmpDestinationData, RtmpDestinationData } from './schemas.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly rtmpDestinations: RtmpDestinations
  }
}

interface Row {
  id: string
  workspace_id: string
  name: string
  platform: LivePlatformName | null
  url: string
  key_hint: string
  created_at: string
  updated_at: string
}

const COLUMNS = 'id, workspace_id, name, platform, url, key_hint, created_at, updated_at'
const FIRST_PAGE = `select ${COLUMNS} from rtmp_destinations where workspace_id = $1
  order by created_at desc, id desc limit $2`
const NEXT_PAGE = `select ${COLUMNS} from rtmp_destinations
  where workspace_id = $1 and (created_at, id) < ($3::timestamptz, $4::uuid)
  order by created_at desc, id desc limit $2`

export interface RtmpDestinationsOptions {
  readonly sql: Sql
  readonly clock: Clock
  readonly keys: SealedBox
  readonly plans: PlanService
  readonly allowPrivateAddresses: boolean
  /** Removes a destination from all streams. @throws AppError conflict while a live stream uses it */
  readonly takeOffStreams: (turn: Turn, destinationId: string) => Promise<void>
}

/** Custom RTMP(S) servers of a workspace. Their keys go in and never come out again but to the media node. */
export class RtmpDestinations {
  readonly #options: RtmpDestinationsOptions

  constructor(options: RtmpDestinationsOptions) {
    this.#options = options
  }

  /** @throws AppError validation_failed for a URL that is none, carries a credential or points inside; for a key that cannot be one; plan_limit_reached */
  async create(turn: Turn, body: NewRtmpDestinationData): Promise<RtmpDestinationData> {
    const place = keyFault(body) ?? placeOf(body)
    if ('field' in place) refuse(place.field, place.code, place.message)
    const { url } = place
    this.#checkUrl(url)
    await requireRoom(turn, this.#options.plans, 'rtmpDestinations')
    const now = new Date(this.#options.clock.now())
    const destination = turn.em.create(RtmpDestination, {
      id: uuidv7(now.getTime()),
      workspaceId: turn.workspaceId,
      name: body.name,
      platform: body.platform ?? null,
      url,
      keySealed: this.#options.keys.seal(body.streamKey),
      keyHint: keyHint(body.streamKey),
      createdAt: now,
      updatedAt: now,
    })
    turn.audit({ kind: 'rtmp_destination', id: destination.id })
    const { id: rtmpDestinationId, name, platform } = destination
    turn.emit(rtmpDestinationCreated, { rtmpDestinationId, name, platform: platform ?? null })
    const at = now.toISOString()
    return view({
      id: destination.id,
      workspace_id: turn.workspaceId,
      name: destination.name,
      platform: destination.platform ?? null,
      url,
      key_hint: destination.keyHint,
      created_at: at,
      updated_at: at,
    })
  }

  async list(workspaceId: string, page: PageRequest): Promise<PageResult<RtmpDestinationData>> {
    const { sql } = this.#options
    const { after, limit } = page
    const rows = after
      ? await sql.rows<Row>(NEXT_PAGE, [workspaceId, limit + 1, after.createdAt, after.id])
      : await sql.rows<Row>(FIRST_PAGE, [workspaceId, limit + 1])
    return pageOf(rows, limit, (row) => ({ createdAt: row.created_at, id: row.id }), view)
  }

  /**
   * Deletes a destination and removes it from the streams that use it.
   * @throws AppError not_found; conflict while a live stream uses it
   */
  async delete(turn: Turn, id: string): Promise<void> {
    await this.#options.takeOffStreams(turn, id)
    const deleted = await turn.sql.run('delete from rtmp_destinations where id = $1 and workspace_id = $2', [
      id,
      turn.workspaceId,
    ])
    if (deleted === 0) throw NotFound()
    turn.emit(rtmpDestinationDeleted, { rtmpDestinationId: id })
    turn.audit({ kind: 'rtmp_destination', id })
  }

  #checkUrl(url: string): void {
    try {
      const { host } = parseDestinationUrl(url)
      if (this.#options.allowPrivateAddresses) return
      if (/(^|\.)localhost\.?$/.test(host))
        refuse('url', 'address_refused', `The URL leads to this machine itself, ${NOT_ALLOWED}`)
      // Other names are looked up, and their addresses checked, each time that the media node connects.
      if (isIP(host) === 0) return
      const check = checkAddress(host)
      if (!check.allowed) refuse('url', 'address_refused', `The URL leads to ${check.reason}, ${NOT_ALLOWED}`)
    } catch (error) {
      if (!(error instanceof DestinationUrlError)) throw error
      refuse('url', 'url', error.message)
    }
  }
}

const NOT_ALLOWED = 'which this server does not allow (`ALLOW_PRIVATE_ADDRESSES` is off).'

function refuse(field: string, code: string, message: string): never {
  throw ValidationFailed({ message, errors: [{ path: `/body/${field}`, code, message }] })
}

function view(row: Row): RtmpDestinationData {
  return {
    _id: row.id,
    workspaceId: row.workspace_id,
    name: row.name,
    platform: row.platform,
    url: row.url,
    streamKey: masked(row.key_hint),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
