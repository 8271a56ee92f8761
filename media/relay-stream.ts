import { Viewers } from './preview/viewers.ts'
import { isTranscoded, Renderings } from './rendering/renderings.ts'
import type { TranscodeSlots } from './rendering/transcode.ts'
import { codecRefusal } from './doctor/codec-refusal.ts'
import type { DestinationWithRules, WarningChanges } from './doctor/stream-doctor.ts'
import type { Publisher } from './ingest/rtmp-ingest.ts'
import type { PictureSize } from './rtmp/sps.ts'
import type { DesiredStream, Destination, MediaEvent, MediaLog, MediaMessage, StreamStatus } from './types.ts'
import type { RelayLimits } from './relay/limits.ts'
import type { Feeder } from './relay/feeder.ts'
import { LiveMeter } from './relay/live-meter.ts'
import { PublisherPair } from './relay/publisher-pair.ts'
import { PushClient } from './relay/push-client.ts'
import { Source } from './relay/source.ts'
import { PlayoutPublisher } from './playout/playout-publisher.ts'
import { Recorder } from './recording/recorder.ts'
import type { SlateRenderer } from './slate/renderer.ts'
import { Slate } from './slate/slate.ts'
import type { FfmpegProgram } from './whip/transcode/ffmpeg-args.ts'
import type { TcpTable } from './relay/tcp-table.ts'

export interface RelayStreamOptions {
  readonly limits: RelayLimits
  readonly allowPrivateAddresses: boolean
  readonly ca: string | undefined
  readonly tcpTable: TcpTable
  readonly log: MediaLog
  readonly onEvent: (event: MediaEvent) => void
  readonly isHostAlive: () => boolean
  /** For renderings. Undefined when ffmpeg is missing. */
  readonly ffmpeg: FfmpegProgram | undefined
  readonly slots: TranscodeSlots
  readonly slates: SlateRenderer
}

/**
 * One stream on this node, put together from the parts of `media/`: its publisher and the one on standby, its source, a
 * push client per destination, and playout, recording, slate, renderings and preview.
 */
export class RelayStream {
  /** Viewers of the preview. */
  readonly viewers: Viewers
  readonly #options: RelayStreamOptions
  readonly #source: Source
  readonly #renderings: Renderings
  readonly #meter = new LiveMeter()
  readonly #clients = new Map<string, PushClient>()
  readonly #closing = new Set<Promise<void>>()
  #desired: DesiredStream
  readonly #publishers: PublisherPair
  readonly #files: PlayoutPublisher
  readonly #recorder: Recorder
  readonly #slate: Slate
  /** When the lost publisher sent its last frame, monotonic. Null while there is a publisher, and after the hold. */
  #goneAt: number | null = null
  #holdTimer: NodeJS.Timeout | undefined
  /** Picture size of the previous publisher. */
  #lastSize: PictureSize | null = null

  constructor(desired: DesiredStream, options: RelayStreamOptions) {
    this.#options = options
    const { group, returns, slateAfterMs, takeOverMs } = options.limits
    this.#source = new Source(group)
    this.#renderings = new Renderings({ ...options, source: this.#source })
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
    this.#files = new PlayoutPublisher({
      attach: (publisher) => this.#publishers.attach(publisher, 'file'),
      hasStandby: () => this.#publishers.standby !== null,
      isHostAlive: options.isHostAlive,
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

  /** Applies the desired state. Unchanged parts are left alone. */
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
    this.#renderings.want(desired.destinations.map(({ rendering }) => rendering))
    this.#render()
    this.#applyDestinations(desired.destinations, fresh)
    this.#recorder.apply(desired.streamId, desired.recording)
    this.#files.apply(desired)
  }

  /** Takes an admitted publisher. It feeds the stream, or stays on standby while another one does. */
  attach(publisher: Publisher): void {
    const source = sourceOf(this.#desired, publisher.keyHash)
    if (source === null) {
      publisher.drop('key changed')
      return
    }
    // The ingest has ended an older publisher with the same key, but not one that came by the other protocol.
    this.#publishers.drop('replaced', (feeder) => feeder.source === source)
    this.#publishers.attach(publisher, source)
  }

  /** When the primary publisher sent its last frame, monotonic milliseconds. Null without one. */
  get lastFrameAt(): number | null {
    const { active, standby } = this.#publishers
    return [active, standby].find((feeder) => feeder?.source === 'primary')?.lastFrameAt ?? null
  }

  /** The picture size that destinations see, also while they wait for the publisher. Null when they see none. */
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
    this.#renderings.tick(now)
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
        rendering: this.#renderings.statusOf(client.destination.rendering),
      })),
      playout: this.#files.status(),
      recording: this.#recorder.status(),
      liveMs: this.#meter.totalMs,
      viewers: this.viewers.count,
      slate: this.#slate.status(),
    }
  }

  /** Drops the publishers and ends all outputs. Resolves when their connections are closed. */
  async close(reason: string): Promise<void> {
    this.#files.close()
    this.#publishers.drop(reason)
    clearTimeout(this.#holdTimer)
    this.#slate.end()
    this.viewers.close()
    this.#renderings.close()
    for (const client of this.#clients.values()) this.#stop(client, 'stopped')
    await Promise.all([...this.#closing, this.#recorder.close()])
  }

  #onMedia(message: MediaMessage, now: number): void {
    this.#meter.media(now)
    // Before the message is sent on: a server must not get a configuration that it does not accept.
    if (message.isHeader && message.kind !== 'data') this.#judge()
  }

  /** Stops destinations that are known not to accept the codecs of the publisher. */
  #judge(): void {
    if (!this.#desired.live) return
    const ingest = this.#publishers.active?.publisher.stats()
    if (ingest === undefined) return
    for (const { id, rendering, rules } of this.#desired.destinations) {
      const reason = rules === undefined || isTranscoded(rendering) ? null : codecRefusal(rules, ingest)
      // While the codec is unknown, the last decision stays.
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
    // Announced before the end of the previous one, so that the stream never seems to have no publisher.
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
    this.#renderings.switched(performance.now())
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
    // Not the end of the connection: a half-open connection is noticed only after seconds of silence.
    this.#goneAt = feeder.lastFrameAt
    if (!this.#slate.isShown) for (const client of this.#clients.values()) client.hold()
    this.#hold()
  }

  /** Waits for a publisher until the hold is over. It counts from the last frame. */
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

  /** Called when a publisher stops feeding the stream: reports its usage and clears its warnings. */
  #settle(feeder: Feeder): void {
    if (this.#desired.live) this.#tellUsage(feeder)
    feeder.liveMs = this.#meter.sessionMs
    this.#tell({ raised: [], cleared: feeder.publisher.clearWarnings() })
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
      source: this.#renderings.sourceOf(destination.rendering),
      limits,
      allowPrivateAddresses,
      ca,
      tcpTable,
      log,
      onChange: (status) => {
        // A client that is closing must not report for its successor, which has the same id.
        const current = this.#clients.get(destination.id)
        if (current !== undefined && current !== client) return
        onEvent({ type: 'destination.changed', streamId, destination: status })
      },
    })
    return client
  }

  /** Whether destinations have something to get. */
  get #isFed(): boolean {
    return this.#desired.live && (this.#publishers.active !== null || this.#slate.isShown)
  }

  /** Encoders also run during the hold, so that they continue with the next publisher. */
  #render(): void {
    const isHeld = this.#desired.live && this.#goneAt !== null
    this.#renderings.run(this.#isFed || isHeld)
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
    const changes = this.#publishers.active?.publisher.examine(destinationsWithRules(this.#desired))
    if (changes !== undefined) this.#tell(changes)
  }

  #tell({ raised, cleared }: WarningChanges): void {
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

/** The key that a publisher was admitted with: primary or backup. Null when it is neither. */
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

function destinationsWithRules({ destinations }: DesiredStream): DestinationWithRules[] {
  return destinations.flatMap(({ id, rendering, rules }) =>
    rules === undefined || isTranscoded(rendering) ? [] : [{ id, rules }],
  )
}

function isSame(left: Destination, right: Destination): boolean {
  const form = ({ rendering }: Destination) =>
    JSON.stringify([rendering?.crop, rendering?.maxBitrate, rendering?.delayMs])
  return left.url === right.url && left.streamKey === right.streamKey && form(left) === form(right)
}
