import { join } from 'node:path'
import { Counter } from 'prom-client'
import { repairRecording } from '../../media/recording/repair.ts'
import { startMediaProcess, type MediaPorts } from '../../media/process/host.ts'
import { previewSettings } from './media-preview.ts'
import { whipSettings } from './media-whip.ts'
import { countMediaEvents } from '../metrics/media-feature-metrics.ts'
import { watchMedia } from '../metrics/media-metrics.ts'
import type { Config } from '../config/config.ts'
import type { Composition } from './compose.ts'
import type { NodeResources } from './foundation.ts'
import { MINUTE, SECOND } from '../core/clock.ts'
import { MediaLink } from '../domains/live/media-link/index.ts'

/** How long drawing a slate may take: enough for 1440p. */
const SLATE_EDGE = 2_560

/** The parts that run on nodes with the role `media`. */
export interface NodeMedia {
  readonly rtmpPort: number
  /** The UDP port; null without WHIP. */
  readonly whipPort: number | null
  /** The pid of the media process; undefined while it restarts. */
  readonly pid: () => number | undefined
  /** Drains the media process, then stores its last reports. */
  close(): Promise<void>
}

/**
 * Starts the media process and connects it to the database.
 * @throws Error when the RTMP port cannot be bound
 */
export async function startMedia(resources: NodeResources, composition: Composition): Promise<NodeMedia> {
  const { clock, config, database, metrics } = resources
  const { assets, health, mediaLink, mediaNodes, plans, storage, turns } = composition.services
  let link: MediaLink | undefined
  // Log lines of the media process contain a stream or key. The workspace is added, because operators need it.
  const locate = (fields: object) => ({ ...link?.locate(fields), ...fields })
  const log = resources.log.child({ part: 'media' }, { formatters: { log: locate } })
  const { preview, previewHost } = previewSettings(config, resources.secret)
  link = new MediaLink({
    database,
    clock,
    turns,
    plans,
    desired: mediaLink.desiredStates,
    notices: mediaNodes.notices,
    directory: mediaNodes.directory,
    previewHost,
    ingestUrl: config.MEDIA_INGEST_URL,
    mostStreams: config.MEDIA_STREAMS,
    placement: mediaNodes.placement,
    log,
    storage,
    scratch: resources.scratch,
    recording: {
      folder: join(config.DATA_DIR, 'recordings'),
      splitMs: config.RECORDING_SPLIT_MINUTES * MINUTE,
      quota: assets.quota,
      intake: assets.intake,
      repair: repairRecording,
    },
    drawSlate: (key, path) => assets.examiner.render(key, SLATE_EDGE, path),
  })
  const found = resources.ffmpeg
  const forSlates = found !== undefined && 'forOwnPictures' in found ? found.forOwnPictures : undefined
  const count = countMediaEvents(metrics)
  const host = startMediaProcess({
    host: config.RTMP_HOST,
    port: config.RTMP_PORT,
    allowPrivateAddresses: config.ALLOW_PRIVATE_ADDRESSES,
    limits: { relay: { maxBehindMs: config.MEDIA_JOIN_SECONDS * SECOND } },
    ...rtmpsOf(config),
    preview,
    whip: whipSettings(config, found?.ffmpeg),
    ...(forSlates !== undefined && { slateFfmpeg: forSlates }),
    authorizePublish: link.authorizePublish,
    onEvent: (event) => {
      count(event)
      link.onEvent(event)
    },
    log,
  })
  const close = async () => {
    await host.close()
    await link.close()
  }
  let ports: MediaPorts
  try {
    ports = await host.ready
  } catch (error) {
    await close()
    throw error
  }
  link.attach(host)
  mediaLink.whip.attach(host, link.nodeId)
  const lost = new Counter({
    name: 'crier_media_lost_total',
    help: 'Restarts of the media process',
    registers: [metrics],
  })
  host.onAvailability((available) => void (available || lost.inc()))
  health.register('media', () => link.probe())
  watchMedia(metrics, () => mediaNodes.directory.entry(link.nodeId))
  const { port: rtmpPort, whipPort } = ports
  return { rtmpPort, whipPort, pid: () => host.pid(), close }
}

function rtmpsOf({ RTMPS_CERT, RTMPS_KEY, RTMPS_PORT }: Config) {
  if (RTMPS_PORT === undefined || RTMPS_CERT === undefined || RTMPS_KEY === undefined) return {}
  return { rtmps: { port: RTMPS_PORT, certPath: RTMPS_CERT, keyPath: RTMPS_KEY } }
}
