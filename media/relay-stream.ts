import { Viewers } from './preview/viewers.ts'
import { isTranscoded, Renderings } from './rendering/renderings.ts'
import type { TranscodeSlots } from './rendering/transcode.ts'
import { codecRefusal } from './doctor/codec-refusal.ts'
import type { DestinationWithRules, WarningChanges } from './doctor/stream-doctor.ts'
import type { Publisher } from './ingest/rtmp-ingest.ts'
import type { VideoSize } from './rtmp/sps.ts'
import type { DesiredStream, Destination, MediaEvent, MediaLog, MediaMessage, StreamStatus } from './types.ts'
import type { RelayLimits } from './relay/limits.ts'
import type { StreamInput } from './relay/stream-input.ts'
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
  #holdFrom: number | null = null
  #holdTimer: NodeJS.Timeout | undefined
  /** Video size of the previous publisher. */
  #lastSize: VideoSize | null = null

  constructor(desired: DesiredStream, options: RelayStreamOptions) {
    this.#options = options
    const { gop, failback, slateAfterMs, takeOverMs } = options.limits
    this.#source = new Source(gop)
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
      slate: this.#slate,
      limits: gop,
      takeOverMs,
      failback,
      onMedia: (message, now) => this.#onMedia(message, now),
      onActive: (input, previous, reason) => this.#onActive(input, previous, reason),
      onSwitch: () => this.#onSwitch(),
      onGone: (input, reason) => this.#onGone(input, reason),
    })
    this.#recorder = new Recorder({ source: this.#source, onEvent: options.onEvent, log: options.log })
    this.#files = new PlayoutPublisher({
      attach: (publisher) => this.#publishers.attach(publisher, 'file'),
      hasStandby: () => this.#publishers.standby !== null,
      isHostAlive: options.isHostAlive,
      onLapse: () => {
        if (this.#publishers.active === null) this.#endHold()
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
    if (before.live && !desired.live) this.#stopRelaying()
    this.#desired = desired
    this.#publishers.drop('key changed', ({ publisher }) => inputOfKey(desired, publisher.keyHash) === null)
    this.#publishers.prefer(desired.preferredInput)
    this.#meter.setLive(desired.live)
    this.#slate.apply(desired.slate, desired.live)
    if (desired.slate === undefined || !desired.live) this.#publishers.endSlate()
    if (desired.holdMs !== before.holdMs) this.#startHold()
    const isGoingLive = desired.live && !before.live
    this.#renderings.apply(desired.destinations.map(({ rendering }) => rendering))
    this.#updateRenderings()
    this.#applyDestinations(desired.destinations, isGoingLive)
    this.#recorder.apply(desired.streamId, desired.recording)
    this.#files.apply(desired)
  }

  /** Takes an admitted publisher. It feeds the stream, or stays on standby while another one does. */
  attach(publisher: Publisher): void {
    const source = inputOfKey(this.#desired, publisher.keyHash)
    if (source === null) {
      publisher.drop('key changed')
      return
    }
    // The ingest has ended an older publisher with the same key, but not one that came by the other protocol.
    this.#publishers.drop('replaced', (input) => input.source === source)
    this.#publishers.attach(publisher, source)
  }

  /** When the primary publisher sent its last frame, monotonic milliseconds. Null without one. */
  get lastFrameAt(): number | null {
    const { active, standby } = this.#publishers
    return [active, standby].find((input) => input?.source === 'primary')?.lastFrameAt ?? null
  }

  /** The video size that destinations see, also while they wait for the publisher. Null when they see no video. */
  get videoSize(): VideoSize | null {
    if (!this.#desired.live) return null
    const { active } = this.#publishers
    return (active === null ? null : sizeOf(active)) ?? this.#lastSize
  }

  retry(destinationId: string): void {
    this.#clients.get(destinationId)?.retry()
  }

  tick(now: number): void {
    this.#checkCodecs()
    this.#reportUsage()
    this.#runDoctor()
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
    this.#meter.noteMedia(now)
    // Checked before the message is relayed: a server must not get a configuration that it does not accept.
    if (message.isSequenceHeader && message.kind !== 'data') this.#checkCodecs()
  }

  /** Stops destinations that are known not to accept the codecs of the publisher. */
  #checkCodecs(): void {
    if (!this.#desired.live) return
    const ingest = this.#publishers.active?.publisher.stats()
    if (ingest === undefined) return
    for (const { id, rendering, rules } of this.#desired.destinations) {
      const reason = rules === undefined || isTranscoded(rendering) ? null : codecRefusal(rules, ingest)
      // While the codec is unknown, the last decision stays.
      if (reason !== null || ingest.videoCodec !== null) this.#clients.get(id)?.setRefusal(reason)
    }
  }

  #onActive(input: StreamInput, previous: StreamInput | null, reason: string): void {
    const { streamId } = this.#desired
    const { remoteAddress, sessionId } = input.publisher
    this.#holdFrom = null
    clearTimeout(this.#holdTimer)
    this.#slate.follow(input)
    if (previous !== null) this.#finishInput(previous)
    this.#meter.beginSession(input.liveMs)
    // Reported before the end of the previous one, so that the stream never seems to be without a publisher.
    this.#options.onEvent({ type: 'ingest.started', streamId, sessionId, remoteAddress })
    if (previous !== null) {
      this.#options.log.info(
        { streamId, from: previous.source, to: input.source, reason },
        'another publisher feeds the stream',
      )
      this.#options.onEvent({ type: 'ingest.ended', streamId, sessionId: previous.publisher.sessionId, reason })
      const change = { source: input.source, previous: previous.source, reason: switchReason(reason) }
      this.#options.onEvent({ type: 'input.changed', streamId, ...change })
    }
    this.#checkCodecs()
    if (this.#desired.live) for (const client of this.#clients.values()) client.start()
  }

  #onSwitch(): void {
    this.#renderings.publisherChanged(performance.now())
    this.#updateRenderings()
  }

  #onSlate(shown: boolean): void {
    const { live, streamId } = this.#desired
    this.#options.log.info({ streamId, shown }, shown ? 'slate shown' : 'slate ended')
    this.#options.onEvent({ type: 'slate.changed', streamId, shown })
    if (!live) return
    this.#updateRenderings()
    if (!this.#isFed) for (const client of this.#clients.values()) client.pause()
    else if (shown) for (const client of this.#clients.values()) client.start()
  }

  #onGone(input: StreamInput, reason: string): void {
    const { streamId } = this.#desired
    this.#finishInput(input)
    this.#lastSize = sizeOf(input) ?? this.#lastSize
    this.#options.onEvent({ type: 'ingest.ended', streamId, sessionId: input.publisher.sessionId, reason })
    // The hold counts from the last frame: a half-open connection is detected only after seconds without data.
    this.#holdFrom = input.lastFrameAt
    if (!this.#slate.isShown) for (const client of this.#clients.values()) client.pause()
    this.#startHold()
  }

  /** Starts the timer of the hold. The hold counts from the last frame. */
  #startHold(): void {
    if (this.#holdFrom === null) return
    clearTimeout(this.#holdTimer)
    const { holdMs = this.#options.limits.holdMs } = this.#desired
    this.#holdTimer = setTimeout(() => this.#endHold(), Math.max(0, this.#holdFrom + holdMs - performance.now()))
  }

  #endHold(): void {
    clearTimeout(this.#holdTimer)
    this.#holdFrom = this.#lastSize = null
    this.#slate.follow(null)
    this.#publishers.endSlate()
    this.viewers.close()
    this.#updateRenderings()
    if (this.#desired.live) for (const client of this.#clients.values()) this.#stop(client, 'idle')
  }

  /** Called when a publisher stops feeding the stream. Reports its usage and clears its warnings. */
  #finishInput(input: StreamInput): void {
    if (this.#desired.live) this.#emitUsage(input)
    input.liveMs = this.#meter.sessionMs
    this.#reportWarnings({ raised: [], cleared: input.publisher.clearWarnings() })
  }

  #applyDestinations(destinations: readonly Destination[], isGoingLive: boolean): void {
    const wanted = new Map(destinations.map((destination) => [destination.id, destination]))
    for (const [id, client] of this.#clients) {
      if (wanted.has(id)) continue
      this.#clients.delete(id)
      this.#stop(client, 'stopped')
    }
    for (const destination of wanted.values()) {
      const client = this.#clients.get(destination.id)
      if (client !== undefined && !isGoingLive && isSame(client.destination, destination)) {
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
        // A client that is closing must not report states for its successor, which has the same id.
        const current = this.#clients.get(destination.id)
        if (current !== undefined && current !== client) return
        onEvent({ type: 'destination.changed', streamId, destination: status })
      },
    })
    return client
  }

  /** Whether there is media for the destinations. */
  get #isFed(): boolean {
    return this.#desired.live && (this.#publishers.active !== null || this.#slate.isShown)
  }

  /** Runs or stops the encoders. They also run during the hold, so that they continue with the next publisher. */
  #updateRenderings(): void {
    const isHeld = this.#desired.live && this.#holdFrom !== null
    this.#renderings.setRunning(this.#isFed || isHeld)
  }

  #stopRelaying(): void {
    this.#reportUsage()
    clearTimeout(this.#holdTimer)
    for (const client of this.#clients.values()) this.#stop(client, 'stopped')
  }

  #stop(client: PushClient, state: 'idle' | 'stopped'): void {
    const closing = client.stop(state).finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }

  #runDoctor(): void {
    const changes = this.#publishers.active?.publisher.examine(destinationsWithRules(this.#desired))
    if (changes !== undefined) this.#reportWarnings(changes)
  }

  #reportWarnings({ raised, cleared }: WarningChanges): void {
    if (raised.length + cleared.length === 0) return
    this.#options.onEvent({ type: 'warnings.changed', streamId: this.#desired.streamId, raised, cleared })
  }

  #reportUsage(): void {
    const { active } = this.#publishers
    if (active !== null && this.#desired.live) this.#emitUsage(active)
  }

  #emitUsage(input: StreamInput): void {
    const { sessionId } = input.publisher
    const { streamId } = this.#desired
    this.#options.onEvent({ type: 'usage', streamId, sessionId, liveMs: this.#meter.sessionMs })
  }
}

/** The key that a publisher was admitted with: primary or backup. Null when it is neither. */
export function inputOfKey({ backup, keyHash, whipHash }: DesiredStream, hash: string): 'primary' | 'backup' | null {
  if (hash === keyHash || hash === whipHash) return 'primary'
  return hash === backup?.keyHash ? 'backup' : null
}

const SWITCH_REASONS = ['preferred', 'selected', 'silent'] as const

function switchReason(reason: string): Extract<MediaEvent, { type: 'input.changed' }>['reason'] {
  return SWITCH_REASONS.find((one) => one === reason) ?? 'ended'
}

function sizeOf({ publisher }: StreamInput): VideoSize | null {
  const { height, width } = publisher.stats()
  return width === null || height === null ? null : { width, height }
}

function destinationsWithRules({ destinations }: DesiredStream): DestinationWithRules[] {
  return destinations.flatMap(({ id, rendering, rules }) =>
    rules === undefined || isTranscoded(rendering) ? [] : [{ id, rules }],
  )
}

function isSame(left: Destination, right: Destination): boolean {
  const rendering = ({ rendering: one }: Destination) => JSON.stringify([one?.crop, one?.maxBitrate, one?.delayMs])
  return left.url === right.url && left.streamKey === right.streamKey && rendering(left) === rendering(right)
}
