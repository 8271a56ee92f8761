import type { DesiredStream, PublishDecision, PublishRequest } from '../../../../media/types.ts'
import { MINUTE, SECOND } from '../../../core/clock.ts'
import type { Switches } from '../../../core/ports.ts'
import type { SealedBox } from '../../../tools/sealed-box.ts'
import type { Foundation } from '../../../foundation.ts'
import type { PlanService } from '../../money/plans/index.ts'
import { fileKey, playableAssets } from '../../media/assets/index.ts'
import {
  backupPath,
  findTarget,
  isActive,
  monthOf,
  primaryPath,
  renderingOf,
  type StreamTarget,
  usedMs,
} from '../streams/index.ts'
import { payerOf } from '../../workspace/workspaces/index.ts'
import { desiredPlayout, type DesiredStateWithPlayout } from '../playout/index.ts'
import { destinationAccess, rulesOf } from '../destinations/index.ts'
import { isSame } from '../../../tools/keys.ts'

/** What a media node has to do with a stream, file playout included. */
export type DesiredState = DesiredStateWithPlayout

/** Why a publisher with a wrong key is refused. */
export const UNKNOWN_KEY = 'unknown key'

type Dependencies = Pick<Foundation, 'clock' | 'database'> & {
  readonly switches: Switches
  readonly plans: PlanService
  /** Opens the keys of destinations. */
  readonly keys: SealedBox
}

/** Reads from the database what a media node has to do. */
export class DesiredStates {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** Undefined when the node has nothing to do with the stream: it has ended or was deleted. */
  async of(streamId: string): Promise<DesiredState | undefined> {
    const { database: sql } = this.#dependencies
    const target = await findTarget(sql, { id: streamId })
    if (target === undefined || target.status === 'ended') return undefined
    const ownerId = await payerOf(sql, target.workspaceId)
    return ownerId === undefined ? undefined : this.#state(target, ownerId)
  }

  /** Whether a publisher may send. The reason of a refusal is for logs and the publisher. */
  async authorize(request: PublishRequest): Promise<PublishDecision & { readonly state?: DesiredState }> {
    const { clock, plans, database: sql, switches } = this.#dependencies
    const target = await findTarget(sql, { path: primaryPath(request.path) })
    const hash = target && hashFor(target, request)
    if (target === undefined || hash == null || !isSame(hash, request.keyHash)) {
      return { allowed: false, reason: UNKNOWN_KEY }
    }
    const ownerId = await payerOf(sql, target.workspaceId)
    if (ownerId === undefined) return { allowed: false, reason: UNKNOWN_KEY }
    if (target.status === 'ended') return { allowed: false, reason: 'the stream has ended; arm it for a new key' }
    if (Date.parse(target.keyExpiresAt) <= clock.now()) {
      return { allowed: false, reason: 'the key has expired; arm the stream for a new one' }
    }
    if (!switches.isOn('streams')) {
      return { allowed: false, later: true, reason: 'streams are currently disabled' }
    }
    const allowance = await plans.limitsOf(ownerId)
    const used = await usedMs(sql, ownerId, monthOf(clock.now()))
    if (used >= allowance.streamingMinutesPerMonth * MINUTE) {
      return { allowed: false, later: true, reason: 'the streaming minutes of this month are used up' }
    }
    const state = await this.#state(target, ownerId)
    return { allowed: true, stream: state.stream, state }
  }

  /** Whether a token, given by its hash, is the WHIP token of the stream with this path. A stream that ended has none. */
  async isWhipToken(path: string, hash: string): Promise<boolean> {
    const { database: sql } = this.#dependencies
    const target = await findTarget(sql, { path })
    if (target === undefined || target.whipTokenHash === null || target.status === 'ended') return false
    return isSame(target.whipTokenHash, hash) && (await payerOf(sql, target.workspaceId)) !== undefined
  }

  async #state(target: StreamTarget, ownerId: string): Promise<DesiredState> {
    const { database: sql } = this.#dependencies
    const enabled = target.platforms.filter((platform) => platform.enabled)
    const [access, playout, slate] = await Promise.all([
      destinationAccess(
        sql,
        enabled.map(({ accountId }) => accountId),
      ),
      desiredPlayout(sql, target.id),
      this.#slate(target),
    ])
    const destinations = enabled.flatMap(({ _id: id, accountId, rendering }) => {
      const found = access.get(accountId)
      if (found === undefined) return []
      const { keySealed, platform, url, workedAt } = found
      return {
        id,
        url,
        streamKey: this.#dependencies.keys.open(keySealed),
        ...(platform === null ? {} : { rules: rulesOf(platform) }),
        ...(rendering === null ? {} : { rendering: renderingOf(rendering) }),
        ...(workedAt !== null && { hasWorked: true }),
      }
    })
    const { backupKeyHash, sessionId, status, whipTokenHash } = target
    return {
      stream: {
        streamId: target.id,
        path: target.path,
        keyHash: target.keyHash,
        ...(backupKeyHash === null ? {} : { backup: { path: backupPath(target.path), keyHash: backupKeyHash } }),
        ...(whipTokenHash === null ? {} : { whipHash: whipTokenHash }),
        live: isActive(status),
        holdMs: target.holdSeconds * SECOND,
        ...preferredInput(target),
        destinations,
      },
      workspaceId: target.workspaceId,
      ownerId,
      status,
      sessionId,
      ingestNode: target.ingestNode,
      mediaNode: target.mediaNode,
      recordSession: target.record && (status === 'live' || status === 'interrupted') ? sessionId : null,
      recordGaps: target.recordGaps,
      ...(playout && { playout }),
      ...(slate && { slate }),
    }
  }

  /** The picture of the slate. Without one, or when the picture was deleted, it is the card. */
  async #slate({ slate, workspaceId }: StreamTarget): Promise<DesiredState['slate']> {
    if (slate === null) return undefined
    if (slate.assetId === null) return { key: null }
    const { assetId } = slate
    const asset = (await playableAssets(this.#dependencies.database, workspaceId, [assetId])).get(assetId)
    return { key: asset?.kind === 'image' ? fileKey(workspaceId, asset.fileId) : null }
  }
}

/** The encoder that should be live: the selected one, or the primary, unless the stream keeps the current one. */
function preferredInput({ inputPreference, inputSelected }: StreamTarget): Pick<DesiredStream, 'preferredInput'> {
  if (inputSelected !== null) return { preferredInput: { source: inputSelected, selected: true } }
  return inputPreference === 'primary' ? { preferredInput: { source: 'primary', selected: false } } : {}
}

/** The hash of the credential that the publisher claims to have. A credential for RTMP is not valid for WHIP. */
function hashFor(target: StreamTarget, { path, via }: PublishRequest): string | null {
  if (via === 'whip') return target.path === path ? target.whipTokenHash : null
  return target.path === path ? target.keyHash : target.backupKeyHash
}
