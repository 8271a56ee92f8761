import { isIP } from 'node:net'
import { DestinationUrlError, parseDestinationUrl } from '../../../tools/destination-url.ts'
import { checkAddress } from '../../../tools/public-address.ts'
import { NotFound, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { SealedBox } from '../../../tools/sealed-box.ts'
import type { Turn } from '../../../core/turn.ts'
import type { Row } from '../../../db/row.ts'
import type { Foundation } from '../../../foundation.ts'
import type { PlanService } from '../../money/plans/index.ts'
import { rtmpDestinationCreated, rtmpDestinationDeleted, rtmpDestinationUpdated } from './events.ts'
import { keyHint, MASK, masked } from './key-hint.ts'
import type { LivePlatformName } from './live-platforms.ts'
import { keyFault, placeOf } from './platform-choice.ts'
import type { NewRtmpDestinationData, RtmpDestinationData, RtmpDestinationEditData } from './schemas.ts'
import { rtmpDestinations, type RtmpDestination } from './tables.ts'

type Dependencies = Pick<Foundation, 'clock' | 'database'> & {
  readonly keys: SealedBox
  readonly plans: PlanService
  readonly allowPrivateAddresses: boolean
}

/** Removes what refers to a destination. @throws AppError conflict while the destination cannot be deleted */
type DeleteHook = (turn: Turn, destinationId: string) => Promise<void>

/** A destination after a change. */
export interface ChangedDestination {
  readonly id: string
  readonly name: string
  readonly platform: LivePlatformName | null
  /** Whether its server or key has changed. */
  readonly accessChanged: boolean
}

/** Applies a change to what refers to a destination. @returns the titles of live streams that reconnect to it */
type ChangeHook = (turn: Turn, destination: ChangedDestination) => Promise<readonly string[]>

/** RTMP(S) servers of a workspace. Their keys are never shown. Only media nodes get them. */
export class RtmpDestinations {
  readonly #dependencies: Dependencies
  readonly #deleteHooks: DeleteHook[] = []
  readonly #changeHooks: ChangeHook[] = []

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** Runs a hook in the turn that deletes a destination. */
  onDelete(hook: DeleteHook): void {
    this.#deleteHooks.push(hook)
  }

  /** Runs a hook in the turn that changes a destination. */
  onChange(hook: ChangeHook): void {
    this.#changeHooks.push(hook)
  }

  /** @throws AppError validation_failed for an invalid URL, a URL with credentials or a private address, and an invalid key; plan_limit_reached */
  async create(turn: Turn, body: NewRtmpDestinationData): Promise<RtmpDestinationData> {
    const place = keyFault(body) ?? placeOf(body)
    if ('field' in place) refuse(place.field, place.code, place.message)
    const { url } = place
    this.#checkUrl(url)
    const { clock, keys, plans } = this.#dependencies
    const count = await rtmpDestinations.count(turn.sql, { workspaceId: turn.workspaceId })
    await plans.requireRoom(turn.workspaceId, 'rtmpDestinations', count)
    const now = clock.now()
    const at = new Date(now).toISOString()
    const destination: ListedRow & { keySealed: string } = {
      id: uuidv7(now),
      workspaceId: turn.workspaceId,
      name: body.name,
      platform: body.platform ?? null,
      url,
      keySealed: keys.seal(body.streamKey),
      keyHint: keyHint(body.streamKey),
      createdAt: at,
      updatedAt: at,
    }
    turn.insert(rtmpDestinations, destination)
    const { id, name, platform } = destination
    turn.audit({ kind: 'rtmp_destination', id })
    turn.emit(rtmpDestinationCreated, { rtmpDestinationId: id, name, platform })
    return view(destination)
  }

  /**
   * Changes a destination. With a new server or key, live streams reconnect to it.
   * @returns the destination, and the titles of the live streams that reconnect
   * @throws AppError not_found; validation_failed as in `create`
   */
  async update(
    turn: Turn,
    id: string,
    edit: RtmpDestinationEditData,
  ): Promise<{ destination: RtmpDestinationData; live: readonly string[] }> {
    const { clock, keys } = this.#dependencies
    const columns = [...LISTED, 'keySealed'] as const
    const before = await rtmpDestinations.first(turn.sql, { id, workspaceId: turn.workspaceId }, { columns })
    if (before === undefined) throw NotFound()
    const platform = edit.platform === undefined ? before.platform : edit.platform
    const isKept = edit.streamKey === undefined || edit.streamKey === masked(before.keyHint)
    if (!isKept && edit.streamKey?.startsWith(MASK))
      refuse('streamKey', 'masked', 'must be the key itself, not its mask')
    const streamKey = isKept ? keys.open(before.keySealed) : (edit.streamKey as string)
    // Another platform has another server, unless the request names one.
    const url = edit.url ?? (platform === before.platform || platform === null ? before.url : undefined)
    const choice = { streamKey, ...(platform !== null && { platform }), ...(url !== undefined && { url }) }
    const place = keyFault(choice) ?? placeOf(choice)
    if ('field' in place) refuse(place.field, place.code, place.message)
    this.#checkUrl(place.url)
    const accessChanged = place.url !== before.url || streamKey !== keys.open(before.keySealed)
    const changes = {
      name: edit.name ?? before.name,
      platform,
      url: place.url,
      keyHint: keyHint(streamKey),
      updatedAt: new Date(clock.now()).toISOString(),
    }
    const proof = accessChanged ? { keySealed: keys.seal(streamKey), workedAt: null } : {}
    await rtmpDestinations.update(turn.sql, { id }, { ...changes, ...proof })
    const destination = { ...before, ...changes }
    const { name } = destination
    turn.audit({ kind: 'rtmp_destination', id, details: { accessChanged } })
    turn.emit(rtmpDestinationUpdated, { rtmpDestinationId: id, name, platform, accessChanged })
    const live: string[] = []
    for (const hook of this.#changeHooks) live.push(...(await hook(turn, { id, name, platform, accessChanged })))
    return { destination: view(destination), live }
  }

  async list(workspaceId: string, page: PageRequest): Promise<PageResult<RtmpDestinationData>> {
    const rows = await rtmpDestinations.page(this.#dependencies.database, { workspaceId }, page, LISTED)
    return pageOf(rows, page.limit, (row) => ({ createdAt: row.createdAt, id: row.id }), view)
  }

  /**
   * Deletes a destination and removes it from the streams that use it.
   * @throws AppError not_found; conflict while a live stream uses it
   */
  async delete(turn: Turn, id: string): Promise<void> {
    for (const hook of this.#deleteHooks) await hook(turn, id)
    const deleted = await rtmpDestinations.delete(turn.sql, { id, workspaceId: turn.workspaceId })
    if (deleted === 0) throw NotFound()
    turn.emit(rtmpDestinationDeleted, { rtmpDestinationId: id })
    turn.audit({ kind: 'rtmp_destination', id })
  }

  #checkUrl(url: string): void {
    try {
      const { host } = parseDestinationUrl(url)
      if (this.#dependencies.allowPrivateAddresses) return
      if (/(^|\.)localhost\.?$/.test(host))
        refuse('url', 'address_refused', `The URL leads to this machine itself, ${NOT_ALLOWED}`)
      // Other names are resolved and their addresses checked each time the media node connects.
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

const LISTED = ['id', 'workspaceId', 'name', 'platform', 'url', 'keyHint', 'createdAt', 'updatedAt'] as const
type ListedRow = Pick<Row<typeof RtmpDestination>, (typeof LISTED)[number]>

function view({ id, keyHint: hint, ...row }: ListedRow): RtmpDestinationData {
  const { createdAt, name, platform, updatedAt, url, workspaceId } = row
  return { _id: id, workspaceId, name, platform, url, streamKey: masked(hint), createdAt, updatedAt }
}
