import { Viewers } from '../preview/viewers.ts'
import { isTranscoded, Renditions } from '../rendering/renditions.ts'
import type { TranscodeSlots } from '../rendering/transcode.ts'
import { refusalOf } from '../doctor/refusal.ts'
import type { Diagnosis, Patient } from '../doctor/stream-doctor.ts'
import type { Publisher } from '../ingest/rtmp-ingest.ts'
import type { PictureSize } from '../rtmp/sps.ts'
import type { DesiredStream, Destination, MediaEvent, MediaLog, MediaMessage, StreamStatus } from '../types.ts'
import type { RelayLimits } from './limits.ts'
import type { Feeder } from './feeder.ts'
import { LiveMeter } from './live-meter.ts'
import { PublisherPair } from './publisher-pair.ts'
import { PushClient } from './push-client.ts'
import { Source } from './source.ts'
import { FileFeed } from '../playout/file-feed.ts'
import { Recorder } from '../recording/recorder.ts'
import type { SlateRenderer } from '../slate/renderer.ts'
import { Slate } from '../slate/slate.ts'
import type { FfmpegProgram } from '../whip/transcode/ffmpeg-args.ts'
import type { TcpTable } from './tcp-table.ts'

export interface RelayStreamOptions {
  readonly limits: RelayLimits
  readonly allowPrivateAddresses: boolean
  readonly ca: string | undefined
  readonly tcpTable: TcpTable
  readonly log: MediaLog
  readonly onEvent: (event: MediaEvent) => void
  readonly isHosted: () => boolean
  /** For renderings; undefined where there is none. */
  readonly ffmpeg: FfmpegProgram | undefined
  readonly slots: TranscodeSlots
  readonly slates: SlateRenderer
}

/** One stream on this node: its publisher and perhaps one standing by, its source, and an output for each destination. */
export class RelayStream {
  /** Those who watch what comes in. */
  readonly viewers: Viewers
  readonly #options: RelayStreamOptions
  readonly #source: Source
  readonly #renditions: Renditions
  readonly #meter = new LiveMeter()
  readonly #clients = new Map<string, PushClient>()
  readonly #closing = new Set<Promise<void>>()
  #desired: DesiredStream
  readonly #publishers: PublisherPair
  readonly #files: FileFeed
  readonly #recorder: Recorder
  readonly #slate: Slate
  /** Monotonic: when the publisher that is gone sent its last frame; null while there is one, and when the hold is over. */
  #goneAt: number | null = null
  #holdTimer: NodeJS.Timeout | undefined
  /** Of the publisher before. */
  #lastSize: PictureSize | null = null

  constructor(desired: DesiredStream, options: RelayStreamOptions) {
    this.#options = options
    const { group, returns, slateAfterMs, takeOverMs } = options.limits
    this.#source = new Source(group)
    this.#renditions = new Renditions({ ...options, source: this.#source })
    const { streamId } = desired
    this.viewers = new Viewers(this.#source, options.limits.viewers, (viewers) =>
      options.onEvent({ type: 'viewers.changed', streamId, viewers }),
    )
    this.#slate = new Slate({
      source: this.#source,
      renderer: options.slates,
      afterMs: slateAfterMs,
      onShown: (shown) => this.#onSlate(shown),
    })
    this.#publishers = new PublisherPair({
      source: this.#source,
      standIn: this.#slate,
      limits: group,
      takeOverMs,
      returns,
      onMedia: (message, now) => this.#onMedia(message, now),
      onActive: (feeder, previous, reason) => this.#onActive(feeder, previous, reason),
      onSwitch: () => this.#onSwitch(),
      onGone: (feeder, reason) => this.#onGone(feeder, reason),
    })
    this.#recorder = new Recorder({ source: this.#source, onEvent: options.onEvent, log: options.log })
    this.#files = new FileFeed({
      attach: (publisher) => this.#publishers.attach(publisher, 'file'),
      isRelieved: () => this.#publishers.standby !== null,
      isHosted: options.isHosted,
      onLapse: () => {
        if (this.#publishers.active === null) this.#letGo()
      },
      onEvent: options.onEvent,
      log: options.log,
    })
    this.#desired = { ...desired, live: false, destinations: [] }
    this.apply(desired)
  }

  get desired(): DesiredStream {
    return this.#desired
  }

  /** Makes the stream as described; what stays the same is not touched. */
  apply(desired: DesiredStream): void {
    const before = this.#desired
    if (before.live && !desired.live) this.#goOff()
    this.#desired = desired
    this.#publishers.drop('key changed', ({ publisher }) => sourceOf(desired, publisher.keyHash) === null)
    this.#publishers.prefer(desired.preferredInput)
    this.#meter.setLive(desired.live)
    this.#slate.apply(desired.slate, desired.live)
    if (desired.slate === undefined || !desired.live) this.#publishers.dismissStandIn()
    if (desired.holdMs !== before.holdMs) this.#hold()
    const fresh = desired.live && !before.live
    this.#renditions.want(desired.destinations.map(({ rendering }) => rendering))
    this.#render()
    this.#applyDestinations(desired.destinations, fresh)
    this.#recorder.apply(desired.streamId, desired.recording)
    this.#files.apply(desired)
  }

  /** Takes an admitted publisher: it feeds the stream, or stands by while another one does. */
  attach(publisher: Publisher): void {
    const source = sourceOf(this.#desired, publisher.keyHash)
    if (source === null) {
      publisher.drop('key changed')
      return
    }
    // By the same key an older one has ended before; by the other way in (RTMP, WHIP) it has not.
    this.#publishers.drop('replaced', (feeder) => feeder.source === source)
    this.#publishers.attach(publisher, source)
  }

  /** Monotonic milliseconds of the last frame of the first publisher; null without one. */
  get lastFrameAt(): number | null {
    const { active, standby } = this.#publishers
    return [active, standby].find((feeder) => feeder?.source === 'primary')?.lastFrameAt ?? null
  }

  /** In which size destinations have the pictures, also while they wait for the publisher; null when they have none. */
  get pictureSize(): PictureSize | null {
    if (!this.#desired.live) return null
    const { active } = this.#publishers
    return (active === null ? null : sizeOf(active)) ?? this.#lastSize
  }

  retry(destinationId: string): void {
    this.#clients.get(destinationId)?.retry()
  }

  tick(now: number): void {
    this.#judge()
    this.#reportUsage()
    this.#examine()
    this.viewers.tick(now)
    this.#slate.tick(now)
    this.#renditions.tick(now)
    this.#files.tick(now)
    this.#recorder.tick(now)
    for (const client of this.#clients.values()) client.tick(now)
  }

  status(): StreamStatus {
    const { streamId, path, live } = this.#desired
    const { active, standby } = this.#publishers
    return {
      streamId,
      path,
      live,
      ingest: active?.status() ?? null,
      standby: standby?.status() ?? null,
      destinations: [...this.#clients.values()].map((client) => ({
        ...client.status(),
        rendering: this.#renditions.statusOf(client.destination.rendering),
      })),
      playout: this.#files.status(),
      recording: this.#recorder.status(),
      liveMs: this.#meter.totalMs,
      viewers: this.viewers.count,
      slate: this.#slate.status(),
    }
  }

  /** Drops the publisher and ends all outputs. Resolves when their connections are gone. */
  async close(reason: string): Promise<void> {
    this.#files.close()
    this.#publishers.drop(reason)
    clearTimeout(this.#holdTimer)
    this.#slate.end()
    this.viewers.close()
    this.#renditions.close()
    for (const client of this.#clients.values()) this.#stop(client, 'stopped')
    await Promise.all([...this.#closing, this.#recorder.close()])
  }

  #onMedia(message: MediaMessage, now: number): void {
    this.#meter.media(now)
    // Before it is passed on: a server must not see a configuration that it does not take.
    if (message.isHeader && message.kind !== 'data') this.#judge()
  }

  /** Keeps destinations off codecs that they are known not to take. */
  #judge(): void {
    if (!this.#desired.live) return
    const ingest = this.#publishers.active?.publisher.stats()
    if (ingest === undefined) return
    for (const { id, rendering, rules } of this.#desired.destinations) {
      const reason = rules === undefined || isTranscoded(rendering) ? null : refusalOf(rules, ingest)
      // As long as the codec is not known, what was said of it before holds.
      if (reason !== null || ingest.videoCodec !== null) this.#clients.get(id)?.bar(reason)
    }
  }

  #onActive(feeder: Feeder, previous: Feeder | null, reason: string): void {
    const { streamId } = this.#desired
    const { remoteAddress, sessionId } = feeder.publisher
    this.#goneAt = null
    clearTimeout(this.#holdTimer)
    this.#slate.follow(feeder)
    if (previous !== null) this.#settle(previous)
    this.#meter.beginSession(feeder.liveMs)
    // The new one is told of first: whoever follows the stream must not think that it has none.
    this.#options.onEvent({ type: 'ingest.started', streamId, sessionId, remoteAddress })
    if (previous !== null) {
      this.#options.log.info({ streamId, from: previous.source, to: feeder.source, reason }, 'publisher took over')
      this.#options.onEvent({ type: 'ingest.ended', streamId, sessionId: previous.publisher.sessionId, reason })
      const change = { source: feeder.source, previous: previous.source, reason: switchReason(reason) }
      this.#options.onEvent({ type: 'input.changed', streamId, ...change })
    }
    this.#judge()
    if (this.#desired.live) for (const client of this.#clients.values()) client.start()
  }

  #onSwitch(): void {
    this.#renditions.switched(performance.now())
    this.#render()
  }

  #onSlate(shown: boolean): void {
    const { live, streamId } = this.#desired
    this.#options.log.info({ streamId, shown }, 'slate')
    this.#options.onEvent({ type: 'slate.changed', streamId, shown })
    if (!live) return
    this.#render()
    if (!this.#isFed) for (const client of this.#clients.values()) client.hold()
    else if (shown) for (const client of this.#clients.values()) client.start()
  }

  #onGone(feeder: Feeder, reason: string): void {
    const { streamId } = this.#desired
    this.#settle(feeder)
    this.#lastSize = sizeOf(feeder) ?? this.#lastSize
    this.#options.onEvent({ type: 'ingest.ended', streamId, sessionId: feeder.publisher.sessionId, reason })
    // Not when its connection ended: one that breaks half-open is found out only after seconds of silence.
    this.#goneAt = feeder.lastFrameAt
    if (!this.#slate.isShown) for (const client of this.#clients.values()) client.hold()
    this.#hold()
  }

  /** Waits for a publisher, for as long as the stream is to be held since its last frame. */
  #hold(): void {
    if (this.#goneAt === null) return
    clearTimeout(this.#holdTimer)
    const { holdMs = this.#options.limits.holdMs } = this.#desired
    this.#holdTimer = setTimeout(() => this.#letGo(), Math.max(0, this.#goneAt + holdMs - performance.now()))
  }

  #letGo(): void {
    clearTimeout(this.#holdTimer)
    this.#goneAt = this.#lastSize = null
    this.#slate.follow(null)
    this.#publishers.dismissStandIn()
    this.viewers.close()
    this.#render()
    if (this.#desired.live) for (const client of this.#clients.values()) this.#stop(client, 'idle')
  }

  /** A publisher feeds the stream no more: counts what it sent, and takes back what was said of it. */
  #settle(feeder: Feeder): void {
    if (this.#desired.live) this.#tellUsage(feeder)
    feeder.liveMs = this.#meter.sessionMs
    this.#tell({ raised: [], cleared: feeder.publisher.dismiss() })
  }

  #applyDestinations(destinations: readonly Destination[], fresh: boolean): void {
    const wanted = new Map(destinations.map((destination) => [destination.id, destination]))
    for (const [id, client] of this.#clients) {
      if (wanted.has(id)) continue
      this.#clients.delete(id)
      this.#stop(client, 'stopped')
    }
    for (const destination of wanted.values()) {
      const client = this.#clients.get(destination.id)
      if (client !== undefined && !fresh && isSame(client.destination, destination)) {
        if (destination.hasWorked) client.noteWorked()
        continue
      }
      const successor = this.#create(destination)
      this.#clients.set(destination.id, successor)
      if (client !== undefined) this.#stop(client, 'stopped')
      if (this.#isFed) successor.start()
    }
  }

  #create(destination: Destination): PushClient {
    const { limits, allowPrivateAddresses, ca, tcpTable, log, onEvent } = this.#options
    const { streamId } = this.#desired
    const client: PushClient = new PushClient({
      destination,
      source: this.#renditions.sourceOf(destination.rendering),
      limits,
      allowPrivateAddresses,
      ca,
      tcpTable,
      log,
      onChange: (status) => {
        // What one says on its way out would be taken for its successor's, which goes by the same id.
        const current = this.#clients.get(destination.id)
        if (current !== undefined && current !== client) return
        onEvent({ type: 'destination.changed', streamId, destination: status })
      },
    })
    return client
  }

  /** Whether there is something to send on the air. */
  get #isFed(): boolean {
    return this.#desired.live && (this.#publishers.active !== null || this.#slate.isShown)
  }

  /** Encoders run while there is something to send, and while a publisher is waited for: they go on with the next one. */
  #render(): void {
    const isHeld = this.#desired.live && this.#goneAt !== null
    this.#renditions.run(this.#isFed || isHeld)
  }

  #goOff(): void {
    this.#reportUsage()
    clearTimeout(this.#holdTimer)
    for (const client of this.#clients.values()) this.#stop(client, 'stopped')
  }

  #stop(client: PushClient, state: 'idle' | 'stopped'): void {
    const closing = client.stop(state).finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }

  #examine(): void {
    const diagnosis = this.#publishers.active?.publisher.examine(patientsOf(this.#desired))
    if (diagnosis !== undefined) this.#tell(diagnosis)
  }

  #tell({ raised, cleared }: Diagnosis): void {
    if (raised.length + cleared.length === 0) return
    this.#options.onEvent({ type: 'warnings.changed', streamId: this.#desired.streamId, raised, cleared })
  }

  #reportUsage(): void {
    const feeder = this.#publishers.active
    if (feeder === null || !this.#desired.live) return
    this.#tellUsage(feeder)
  }

  #tellUsage(feeder: Feeder): void {
    const { sessionId } = feeder.publisher
    const { streamId } = this.#desired
    this.#options.onEvent({ type: 'usage', streamId, sessionId, liveMs: this.#meter.sessionMs })
  }
}

/** With which of a stream's keys a publisher was admitted; null with neither. */
export function sourceOf({ backup, keyHash, whipHash }: DesiredStream, hash: string): 'primary' | 'backup' | null {
  if (hash === keyHash || hash === whipHash) return 'primary'
  return hash === backup?.keyHash ? 'backup' : null
}

const SWITCH_REASONS = ['preferred', 'selected', 'silent'] as const

function switchReason(reason: string): Extract<MediaEvent, { type: 'input.changed' }>['reason'] {
  return SWITCH_REASONS.find((one) => one === reason) ?? 'ended'
}

function sizeOf({ publisher }: Feeder): PictureSize | null {
  const { height, width } = publisher.stats()
  return width === null || height === null ? null : { width, height }
}

function patientsOf({ destinations }: DesiredStream): Patient[] {
  return destinations.flatMap(({ id, rendering, rules }) =>
    rules === undefined || isTranscoded(rendering) ? [] : [{ id, rules }],
  )
}

function isSame(left: Destination, right: Destination): boolean {
  const form = ({ rendering }: Destination) =>
    JSON.stringify([rendering?.crop, rendering?.maxBitrate, rendering?.delayMs])
  return left.url === right.url && left.streamKey === right.streamKey && form(left) === form(right)
}
