import { ChangeTracker } from './change-tracker.ts'
import { logWith } from './log.ts'
import { CpuMeter } from './cpu-meter.ts'
import { startPreviewServer, type PreviewServer, type PreviewSettings } from './preview/preview-server.ts'
import { startRtmpIngest, type IngestLimits, type Publisher, type RtmpsSettings } from './ingest/rtmp-ingest.ts'
import { DEFAULT_RELAY_LIMITS, type RelayLimits } from './relay/limits.ts'
import { RelayStream, inputOfKey } from './relay-stream.ts'
import { TcpTable } from './relay/tcp-table.ts'
import { SlateRenderer } from './slate/renderer.ts'
import type {
  DesiredStream,
  MediaNode,
  MediaNodeOptions,
  PublishDecision,
  PublishRequest,
  WhipReply,
  WhipSettings,
} from './types.ts'
import type { WhepReply } from './whip/whep/whep-sessions.ts'
import { startWhipIngest, type WhipIngest } from './whip/whip-ingest.ts'

export interface MediaNodeLimits {
  readonly ingest?: Partial<IngestLimits>
  readonly relay?: Partial<RelayLimits>
}

export interface MediaNodeSettings extends MediaNodeOptions {
  readonly limits?: MediaNodeLimits
  /** Certificate authorities that RTMPS destinations are checked against instead of the system's, PEM. For tests. */
  readonly destinationCa?: string
  /** Also accepts publishers over TLS. */
  readonly rtmps?: RtmpsSettings
  /** Serves previews to API nodes. */
  readonly preview?: PreviewSettings
  /** Also accepts publishers over WHIP. */
  readonly whip?: WhipSettings
  /** An ffmpeg for slates only, if the node has no other: it reads nothing but pictures that Crier has made. */
  readonly slateFfmpeg?: string
}

const NO_WHIP: WhipReply = {
  ok: false,
  code: 'unavailable',
  message: 'This node does not accept publishers over WHIP.',
}

const NO_WHEP: WhepReply = { ok: false, code: 'unavailable', message: 'This node has no preview over WebRTC.' }

/** Encoders that one node runs at the same time. Each takes most of a core. */
const MAX_TRANSCODES = 8

/** Starts a media node in this process. Rejects when it cannot listen on the port. */
export async function startMediaNode(settings: MediaNodeSettings): Promise<MediaNode> {
  const { host, port, log, onEvent, allowPrivateAddresses } = settings
  const limits: RelayLimits = { ...DEFAULT_RELAY_LIMITS, ...settings.limits?.relay }
  const slots = { used: 0, max: MAX_TRANSCODES }
  const ffmpeg = settings.whip?.ffmpeg
  const slates = new SlateRenderer(ffmpeg?.path ?? settings.slateFfmpeg, log)
  const relay = {
    ffmpeg,
    slots,
    slates,
    limits,
    allowPrivateAddresses,
    ca: settings.destinationCa,
    tcpTable: new TcpTable(),
    log,
    onEvent,
    isHostAlive: settings.isHostAlive ?? (() => true),
  }
  const streams = new Map<string, RelayStream>()
  const startedAt = performance.now()

  const changes = new ChangeTracker()
  const cpu = new CpuMeter()

  const newStream = (stream: DesiredStream): RelayStream => {
    const { streamId } = stream
    return new RelayStream(stream, { ...relay, log: logWith(log, { streamId }) })
  }

  const applyStream = (stream: DesiredStream): void => {
    const existing = streams.get(stream.streamId)
    if (existing === undefined) streams.set(stream.streamId, newStream(stream))
    else existing.apply(stream)
  }

  const authorizePublish = (request: PublishRequest): Promise<PublishDecision> =>
    changes.during(async (changed) => {
      const decision = await settings.authorizePublish(request)
      if (!decision.allowed) return decision
      const { streamId } = decision.stream
      if (!changed(streamId)) applyStream(decision.stream)
      const current = streams.get(streamId)?.desired
      if (current !== undefined && inputOfKey(current, request.keyHash) !== null)
        return { allowed: true, stream: current }
      return { allowed: false, reason: 'the key has changed' }
    })

  const onPublisher = (publisher: Publisher): void => {
    const stream = streams.get(publisher.stream.streamId)
    if (stream === undefined) publisher.drop('stream removed')
    else stream.attach(publisher)
  }

  const ingestLimits = settings.limits?.ingest
  const ingest = await startRtmpIngest({
    host,
    port,
    authorizePublish,
    onPublisher,
    log,
    rtmps: settings.rtmps,
    ...(ingestLimits && { limits: ingestLimits }),
  })
  const lastFrameAt = (streamId: string): number | null => streams.get(streamId)?.lastFrameAt ?? null
  let previews: PreviewServer | undefined
  let whip: WhipIngest | undefined
  const requestWhip: MediaNode['whip'] = async (request) => (await whip?.request(request)) ?? NO_WHIP
  try {
    previews =
      settings.preview &&
      (await startPreviewServer(
        settings.preview,
        {
          viewersOf: (id) => streams.get(id)?.viewers,
          whip: requestWhip,
          openWhep: async (streamId, current, sdp) => (await whip?.openWhep(streamId, current, sdp)) ?? NO_WHEP,
          endWhep: (session) => whip?.endWhep(session) ?? false,
        },
        settings.log,
      ))
    whip =
      settings.whip &&
      (await startWhipIngest({
        settings: settings.whip,
        authorizePublish,
        onPublisher,
        lastFrameAt,
        videoSize: (streamId) => streams.get(streamId)?.videoSize ?? null,
        onLost: (lost) => onEvent({ type: 'webrtc.lost', ...lost }),
        log,
        limits: ingestLimits,
      }).catch((error: Error) => {
        // The other protocols still work.
        log.error({ reason: error.message }, 'WHIP ingest could not start')
        return undefined
      }))
  } catch (error) {
    await previews?.close()
    await ingest.close()
    throw error
  }

  const ticker = setInterval(() => {
    const now = performance.now()
    cpu.tick(now)
    for (const stream of streams.values()) stream.tick(now)
  }, limits.tickMs)

  return {
    apply(stream) {
      changes.changed(stream.streamId)
      applyStream(stream)
    },
    remove(streamId) {
      changes.changed(streamId)
      const stream = streams.get(streamId)
      streams.delete(streamId)
      void stream?.close('stream removed')
    },
    retry(streamId, destinationId) {
      streams.get(streamId)?.retry(destinationId)
    },
    whip: requestWhip,
    status() {
      return {
        rtmpPort: ingest.port,
        rtmpsPort: ingest.rtmpsPort,
        previewPort: previews?.port ?? null,
        cpu: cpu.share,
        uptimeSeconds: Math.floor((performance.now() - startedAt) / 1000),
        connections: ingest.connections(),
        renderings: { running: slots.used, max: slots.max },
        whip: whip === undefined ? null : { port: whip.port, sessions: whip.sessions(), pid: whip.pid() ?? null },
        streams: [...streams.values()].map((stream) => stream.status()),
      }
    },
    async close() {
      clearInterval(ticker)
      await whip?.close()
      await ingest.close()
      await previews?.close()
      slates.close()
      await Promise.all([...streams.values()].map((stream) => stream.close('shutdown')))
      streams.clear()
    },
  }
}
