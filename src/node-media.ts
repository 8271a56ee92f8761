import { Gauge, type Registry as Metrics } from 'prom-client'
import { startMediaProcess } from '../media/process/host.ts'
import type { Config } from './config.ts'
import type { Composition, Foundation } from './services.ts'
import { MediaLink } from './streams/link/media-link.ts'
import type { MediaDirectory } from './streams/media-directory.ts'

/** The media side of a node. */
export interface NodeMedia {
  readonly rtmpPort: number
  /** Of the media process; undefined while it is being started again. */
  readonly pid: () => number | undefined
  /** Drains the media process, then writes what it told last. */
  close(): Promise<void>
}

/**
 * Starts the media process and links it to the database.
 * @throws Error when the RTMP port cannot be had
 */
export async function startMedia(foundation: Foundation, composition: Composition): Promise<NodeMedia> {
  const { clock, config, database, metrics } = foundation
  const { health, mediaNodes, plans, turns } = composition.services
  const log = foundation.log.child({ part: 'media' })
  const link = new MediaLink({
    sql: database,
    clock,
    turns,
    plans,
    desired: composition.streaming.desiredStates,
    notices: composition.streaming.notices,
    directory: mediaNodes,
    log,
  })
  const host = startMediaProcess({
    host: config.RTMP_HOST,
    port: config.RTMP_PORT,
    allowPrivateAddresses: config.ALLOW_PRIVATE_ADDRESSES,
    ...rtmpsOf(config),
    authorizePublish: link.authorizePublish,
    onEvent: link.onEvent,
    log,
  })
  const close = async () => {
    await host.close()
    await link.close()
  }
  let rtmpPort: number
  try {
    rtmpPort = (await host.ready).port
  } catch (error) {
    await close()
    throw error
  }
  link.attach(host)
  health.register('media', () => link.probe())
  measure(metrics, mediaNodes, link.nodeId)
  return { rtmpPort, pid: () => host.pid(), close }
}

function rtmpsOf({ RTMPS_CERT, RTMPS_KEY, RTMPS_PORT }: Config) {
  if (RTMPS_PORT === undefined || RTMPS_CERT === undefined || RTMPS_KEY === undefined) return {}
  return { rtmps: { port: RTMPS_PORT, certPath: RTMPS_CERT, keyPath: RTMPS_KEY } }
}

/** Figures of this node's media process, from what it said last. */
function measure(metrics: Metrics, directory: MediaDirectory, nodeId: string): void {
  const status = () => directory.nodes().find((node) => node.nodeId === nodeId)?.status ?? undefined
  const streams = () => status()?.streams ?? []
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers: [metrics],
      collect() {
        this.set(read())
      },
    })
  gauge('crier_media_up', 'Whether the media process answers', () => (status() ? 1 : 0))
  gauge('crier_media_connections', 'RTMP connections', () => status()?.connections ?? 0)
  gauge('crier_media_ingests', 'Streams that take in media', () => streams().filter((stream) => stream.ingest).length)
  gauge('crier_media_ingest_bits_per_second', 'Media coming in', () =>
    streams().reduce((sum, stream) => sum + (stream.ingest?.bitrate ?? 0), 0),
  )
  gauge('crier_media_output_bits_per_second', 'Media going out', () =>
    streams().reduce((sum, stream) => sum + stream.destinations.reduce((all, one) => all + one.bitrate, 0), 0),
  )
  void new Gauge({
    name: 'crier_media_destinations',
    help: 'Destinations by state',
    labelNames: ['state'],
    registers: [metrics],
    collect() {
      this.reset()
      for (const { destinations } of streams()) for (const { state } of destinations) this.inc({ state })
    },
  })
}
