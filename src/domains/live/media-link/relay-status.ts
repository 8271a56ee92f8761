import type { Static } from 'typebox'
import type { DestinationStatus, MediaWarning, RenderingStatus, StreamStatus } from '../../../../media/types.ts'
import { NotFound } from '../../../core/errors.ts'
import type { Member } from '../../../core/caller.ts'
import type { Memberships } from '../../../core/ports.ts'
import type { Sql } from '../../../core/sql.ts'
import { loadOf, type MediaDirectory } from '../media-nodes/index.ts'
import { capsOf, platformsOf, type PlatformCapsData } from '../destinations/index.ts'
import {
  canBeUnknown,
  findStream,
  isActive,
  type RenderingStatusView,
  type SlateStatusView,
  streamsIn,
  type NamedStream,
  type StreamPlatformData,
  type WorkspacesOf,
} from '../streams/index.ts'
import type { RelayDestination, RelayHealthView, RelayStatusView } from './relay-schemas.ts'

type PathView = Static<typeof RelayHealthView>['paths'][number]

/** The current relay status, from the reports of media nodes about once a second. */
export class RelayStatus {
  readonly #sql: Sql
  readonly #media: MediaDirectory
  readonly #memberships: Memberships
  readonly #workspacesOf: WorkspacesOf

  constructor(sql: Sql, media: MediaDirectory, memberships: Memberships, workspacesOf: WorkspacesOf) {
    this.#sql = sql
    this.#media = media
    this.#memberships = memberships
    this.#workspacesOf = workspacesOf
  }

  /** @throws AppError not_found */
  async of(id: string): Promise<Static<typeof RelayStatusView>> {
    const row = await findStream(this.#sql, id)
    if (row === undefined) throw NotFound()
    const found = this.#media.statusOf(id)
    const named = await this.#capsOf(row.platforms)
    const figures = new Map(found?.status.destinations.map((destination) => [destination.id, destination]))
    return {
      streamId: id,
      status: row.status,
      path: row.path,
      live: isActive(row.status),
      lastSeenAt: found?.at ?? this.#media.lastSeenAt(id),
      ingest: found?.status.ingest ? ingestView(found.status.ingest) : null,
      standby: found?.status.standby ? ingestView(found.status.standby) : null,
      viewers: found?.status.viewers ?? 0,
      slate: slateView(found?.status.slate ?? null),
      recording: recordingView(found?.status.recording ?? null),
      destinations: row.platforms.map((platform) => ({
        ...destinationView(
          found ? platform : unconfirmed(platform),
          figures.get(platform._id),
          found?.status.ingest?.warnings ?? [],
        ),
        caps: named.get(platform.accountId) ?? null,
        rendering: renderingView(figures.get(platform._id)?.rendering ?? null),
      })),
      at: found?.at ?? null,
    }
  }

  /** The media nodes, and the streams with a publisher in workspaces where the caller can read streams. */
  async health(userId: string): Promise<Static<typeof RelayHealthView>> {
    const nodes = this.#media.nodes()
    const active = nodes.flatMap((node) =>
      node.ok ? (node.status?.streams ?? []).filter((stream) => stream.ingest !== null) : [],
    )
    return {
      nodes: nodes.map((node) => ({
        nodeId: node.nodeId,
        ok: node.ok,
        at: node.at,
        lastSeenAt: node.lastSeenAt,
        uptimeSeconds: node.status?.uptimeSeconds ?? 0,
        connections: node.status?.connections ?? 0,
        streams: node.ingests,
        maxStreams: node.mostStreams,
        load: node.ok ? Math.min(1, Math.round(loadOf(node) * 100) / 100) : 0,
      })),
      paths: await this.#visible(userId, active),
    }
  }

  /** The limits of the platforms of these destinations, by RTMP destination. */
  async #capsOf(platforms: readonly StreamPlatformData[]): Promise<ReadonlyMap<string, PlatformCapsData>> {
    const known = await platformsOf(
      this.#sql,
      platforms.map(({ accountId }) => accountId),
    )
    return new Map([...known].map(([id, platform]) => [id, capsOf(platform)]))
  }

  async #visible(userId: string, active: readonly StreamStatus[]): Promise<PathView[]> {
    if (active.length === 0) return []
    const mine = await this.#workspacesOf(userId)
    const rows = await streamsIn(
      this.#sql,
      mine.map(({ id }) => id),
      active.map(({ streamId }) => streamId),
    )
    const members = new Map<string, Member | undefined>()
    for (const workspaceId of new Set(rows.map((row) => row.workspaceId))) {
      members.set(workspaceId, await this.#memberships.find(workspaceId, userId))
    }
    return rows.flatMap((row) => {
      const stream = active.find((one) => one.streamId === row.id)
      const maySee = members.get(row.workspaceId)?.scopes.has('streams:read')
      return stream && maySee ? [pathView(row, stream)] : []
    })
  }
}

/** A destination that no media node reports: its last state may be outdated. */
function unconfirmed(platform: StreamPlatformData): StreamPlatformData {
  return canBeUnknown(platform.status) ? { ...platform, status: 'unknown' } : platform
}

function recordingView(recording: StreamStatus['recording']): Static<typeof RelayStatusView>['recording'] {
  if (recording === null) return null
  const { bytes, refused: error, seconds: duration } = recording
  return { bytes, duration, error }
}

function slateView(slate: StreamStatus['slate']): Static<typeof SlateStatusView> | null {
  return slate && { status: slate.state, error: slate.reason }
}

function renderingView(rendering: RenderingStatus | null): Static<typeof RenderingStatusView> | null {
  if (rendering === null) return null
  const { lastError: error, state: status, ...figures } = rendering
  return { status, ...figures, error }
}

function pathView(row: NamedStream, stream: StreamStatus): PathView {
  return {
    streamId: row.id,
    workspaceId: row.workspaceId,
    title: row.title,
    path: stream.path,
    live: stream.live,
    bitrate: stream.ingest?.bitrate ?? 0,
    videoCodec: stream.ingest?.videoCodec ?? null,
    audioCodec: stream.ingest?.audioCodec ?? null,
    readers: stream.destinations.filter(({ state }) => state === 'live' || state === 'congested').length,
  }
}

/** Without the address of the publisher, which only operators see. */
function ingestView(ingest: NonNullable<StreamStatus['ingest']>) {
  const { remoteAddress: _address, warnings, ...figures } = ingest
  return { ...figures, warnings: warningsOf(warnings, null) }
}

function warningsOf(warnings: readonly MediaWarning[], about: string | null) {
  return warnings.flatMap(({ code, destinationId, message, since }) =>
    destinationId === about ? [{ code, message, since }] : [],
  )
}

function destinationView(
  platform: StreamPlatformData,
  figures: DestinationStatus | undefined,
  warnings: readonly MediaWarning[],
): Omit<Static<typeof RelayDestination>, 'caps' | 'rendering'> {
  return {
    destinationId: platform._id,
    platform: platform.platform,
    accountId: platform.accountId,
    name: platform.name,
    status: figures?.state ?? platform.status,
    since: figures?.since ?? platform.since,
    bytesSent: figures?.bytesSent ?? 0,
    bytesAcknowledged: figures?.bytesAcknowledged ?? 0,
    bitrate: figures?.bitrate ?? 0,
    queuedBytes: figures?.queuedBytes ?? 0,
    queuedMs: figures?.queuedMs ?? 0,
    messagesSent: figures?.messagesSent ?? 0,
    droppedVideo: figures?.droppedVideo ?? 0,
    droppedAudio: figures?.droppedAudio ?? 0,
    reconnects: figures?.reconnects ?? 0,
    liveSeconds: figures?.liveSeconds ?? 0,
    lastError: figures?.lastError ?? platform.lastError,
    nextRetryAt: figures?.nextRetryAt ?? null,
    warnings: warningsOf(warnings, platform._id),
  }
}
