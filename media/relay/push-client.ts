import type { Destination, DestinationFault, DestinationState, DestinationStatus, MediaLog } from '../types.ts'
import { DestinationCounters } from './counters.ts'
import { DestinationUrlError, parseDestinationUrl } from '../../src/tools/destination-url.ts'
import { Fault } from './fault.ts'
import type { RelayLimits } from './limits.ts'
import { OutputQueue } from './output-queue.ts'
import { PushConnection } from './push-connection.ts'
import { continues, noTimestamps, wireFor, type RelayBatch, type WirePosition } from './relay-message.ts'
import { RetryPolicy } from './retry-policy.ts'
import type { Output, Source } from './source.ts'
import { tableKey, type TcpTable } from './tcp-table.ts'

export interface PushClientOptions {
  readonly destination: Destination
  readonly source: Source
  readonly limits: RelayLimits
  readonly allowPrivateAddresses: boolean
  /** Certificate authorities that replace the system's, PEM. For tests. */
  readonly ca?: string | undefined
  readonly tcpTable: TcpTable
  readonly log: MediaLog
  /** Called on every change of state. */
  readonly onChange: (status: DestinationStatus) => void
}

/** States of an attempt. They are logged at debug level, because an unreachable server causes them every few seconds. */
const ATTEMPT_STATES: ReadonlySet<DestinationState> = new Set(['resolving', 'connecting', 'handshake', 'publishing'])

/** How often TCP is sampled while an output becomes live, and later while there are no RTMP acknowledgements. */
const TCP_SAMPLE_MS = { starting: 100, live: 3_000 } as const

/**
 * Relays one source to one destination. It connects, replays the current GOP, relays media, drops media under
 * back-pressure, detects stalls and reconnects. `write` never blocks, so a bad server does not affect other outputs.
 */
export class PushClient implements Output {
  readonly #options: PushClientOptions
  readonly #limits: RelayLimits
  readonly #retries: RetryPolicy
  readonly #queue: OutputQueue
  readonly #counters = new DestinationCounters()
  #state: DestinationState = 'idle'
  #since = new Date().toISOString()
  #lastError: DestinationFault | null = null
  #nextRetryAt: string | null = null
  #retryTimer: NodeJS.Timeout | undefined
  #connection: PushConnection | null = null
  #position: WirePosition | null = null
  #hasSource = false
  /** Why the destination must not get the publisher's media. Null when it may. */
  #refusal: string | null = null
  #expectsAcknowledgements = true
  /** Since when the current connection is live, monotonic. Null while it is not. */
  #liveAt: number | null = null
  #droppedAt = 0
  #tcpSampledAt = 0
  #isSamplingTcp = false

  constructor(options: PushClientOptions) {
    this.#options = options
    this.#limits = options.limits
    this.#retries = new RetryPolicy(options.limits, options.destination.hasWorked === true)
    this.#queue = new OutputQueue(options.limits.queue)
  }

  get destination(): Destination {
    return this.#options.destination
  }

  /** The source has media. Connects, unless it is connected, waits for a retry or needs attention. */
  start(): void {
    this.#hasSource = true
    if (this.#state === 'idle' || this.#state === 'stopped') this.#attempt()
  }

  /** The source has no media at the moment. Keeps an open connection, but opens no new one. */
  pause(): void {
    this.#hasSource = false
    if (this.#state !== 'backoff') return
    clearTimeout(this.#retryTimer)
    this.#nextRetryAt = null
    this.#enter('idle')
  }

  /** Sends queued media, unpublishes and disconnects. Resolves when the connection is closed. */
  async stop(state: 'idle' | 'stopped'): Promise<void> {
    this.#hasSource = false
    clearTimeout(this.#retryTimer)
    this.#nextRetryAt = null
    const connection = this.#connection
    if (connection !== null && this.#position !== null) {
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
        connection.write(wireFor(next, this.#position))
      }
    }
    this.#dropConnection()
    // A rejected key stays rejected until a user acts.
    if (state === 'stopped' || this.#state !== 'needs_attention') this.#enter(state)
    await connection?.close()
  }

  /** Connects now, if it waits for a retry or needs attention. */
  retry(): void {
    if (this.#state !== 'backoff' && this.#state !== 'needs_attention') return
    clearTimeout(this.#retryTimer)
    this.#nextRetryAt = null
    this.#retries.reset()
    if (this.#hasSource) this.#attempt()
    else this.#enter('idle')
  }

  /**
   * Sets why the destination does not accept the current media, or null if it does. With a reason the client unpublishes
   * and disconnects. With null it connects again.
   */
  setRefusal(reason: string | null): void {
    if (reason === this.#refusal) return
    const wasRefused = this.#refusal !== null
    this.#refusal = reason
    if (reason === null) {
      this.retry()
      return
    }
    if (!this.#hasSource || (wasRefused && this.#connection === null)) return
    clearTimeout(this.#retryTimer)
    this.#nextRetryAt = null
    const connection = this.#connection
    this.#dropConnection()
    void connection?.close()
    this.#enterRefused(reason)
  }

  write(batch: RelayBatch): void {
    const connection = this.#connection
    const position = this.#position
    if (connection === null || position === null) return
    if (this.#canBypassQueue(batch) && !connection.needsDrain && continues(batch, position)) {
      connection.write(batch.wire)
      const { last } = position
      const { endsAt } = batch
      if (endsAt.video !== undefined) last.video = endsAt.video
      if (endsAt.audio !== undefined) last.audio = endsAt.audio
      if (endsAt.data !== undefined) last.data = endsAt.data
      this.#counters.messagesSent += batch.messages.length
      return
    }
    let dropped = false
    for (const message of batch.messages) dropped = this.#queue.push(message, connection.bufferedBytes) || dropped
    if (dropped) this.#onDrop()
    this.#sendQueue()
  }

  /** Checks for stalls and recovery, and updates the counters. Call it regularly. `now` is in monotonic milliseconds. */
  tick(now: number): void {
    const connection = this.#connection
    this.#updateCounters()
    this.#counters.tick(now, this.#state === 'live' || this.#state === 'congested')
    if (connection === null || this.#position === null) return
    const buffered = connection.bufferedBytes + this.#queue.bytes
    const { progress } = connection
    const { stallMs } = this.#limits
    const isSuspicious = buffered > 0 || progress.timeWithoutProgress(buffered, now) >= stallMs / 2
    const isDue = progress.needsTcpSample(now) && now - this.#tcpSampledAt >= TCP_SAMPLE_MS.live
    if (isSuspicious || isDue) void this.#sampleTcp(connection)
    if (progress.isStalled(buffered, now, stallMs)) {
      // The server may only have stopped acknowledging. Then the next connection must not be reset for the same reason.
      if (progress.onlyTcpProgressed) this.#expectsAcknowledgements = false
      const seconds = Math.round(stallMs / 1000)
      connection.destroy()
      this.#onFault(new Fault('stalled', `The server accepted no data for ${seconds} seconds.`))
      return
    }
    if (this.#liveAt !== null) this.#noteLiveTime(now - this.#liveAt)
    const hasRecovered =
      now - this.#droppedAt >= this.#limits.recoverMs && this.#queue.durationMs < this.#limits.queue.maxMs / 2
    if (this.#state === 'congested' && hasRecovered) this.#enter('live')
  }

  status(): DestinationStatus {
    this.#updateCounters()
    return {
      id: this.#options.destination.id,
      state: this.#state,
      since: this.#since,
      bytesSent: this.#counters.bytesSent,
      bytesAcknowledged: this.#counters.bytesAcknowledged,
      bitrate: this.#counters.bitrate,
      queuedBytes: this.#queue.bytes + (this.#connection?.bufferedBytes ?? 0),
      queuedMs: this.#queue.durationMs,
      messagesSent: this.#counters.messagesSent,
      droppedVideo: this.#queue.droppedVideo,
      droppedAudio: this.#queue.droppedAudio,
      reconnects: this.#counters.reconnects,
      liveSeconds: this.#counters.liveSeconds,
      lastError: this.#lastError,
      nextRetryAt: this.#nextRetryAt,
      hasWorked: this.#retries.hasWorked,
    }
  }

  /** The host reports that the server has accepted media with this key before. */
  noteWorked(): void {
    if (!this.#retries.hasWorked) this.#retries.noteWorked()
  }

  #canBypassQueue(batch: RelayBatch): boolean {
    return this.#queue.length === 0 && (!this.#queue.awaitsKeyframe || batch.startsAfter.video === undefined)
  }

  #attempt(): void {
    this.#nextRetryAt = null
    if (this.#refusal !== null) {
      this.#enterRefused(this.#refusal)
      return
    }
    try {
      const { destination, allowPrivateAddresses, ca } = this.#options
      const target = parseDestinationUrl(destination.url)
      const { streamKey } = destination
      const { provenMs, timeouts } = this.#limits
      const expectsAcknowledgements = this.#expectsAcknowledgements
      const connection = new PushConnection(
        { target, streamKey, allowPrivateAddresses, timeouts, ca, provenMs, expectsAcknowledgements },
        {
          onStep: (step) => this.#enter(step),
          onReady: (messageStreamId) => this.#onReady(connection, messageStreamId),
          onAcknowledgement: () => this.#checkLive(),
          onDrain: () => this.#sendQueue(),
          onFault: (fault) => this.#onFault(fault),
        },
      )
      this.#connection = connection
      connection.start()
    } catch (error) {
      if (!(error instanceof DestinationUrlError)) throw error
      this.#onFault(new Fault('address_refused', error.message))
    }
  }

  #onReady(connection: PushConnection, messageStreamId: number): void {
    const { maxBehindMs, queue } = this.#limits
    const { messages, base } = this.#options.source.replay(queue.maxBytes, maxBehindMs)
    this.#position = { base, messageStreamId, last: noTimestamps() }
    this.#queue.reset(messages)
    connection.progress.beginMedia(performance.now())
    this.#options.source.add(this)
    this.#sendQueue()
    void this.#becomeLive(connection)
  }

  /** Samples TCP at short intervals until media has arrived. RTMP acknowledgements come only after a whole window. */
  async #becomeLive(connection: PushConnection): Promise<void> {
    while (this.#connection === connection && this.#state === 'publishing') {
      if (connection.progress.needsTcpSample(performance.now())) await this.#sampleTcp(connection)
      await new Promise((resolve) => {
        setTimeout(resolve, TCP_SAMPLE_MS.starting)
      })
    }
  }

  async #sampleTcp(connection: PushConnection): Promise<void> {
    if (this.#isSamplingTcp) return
    this.#isSamplingTcp = true
    const { sentBytes } = connection.progress
    const table = await this.#options.tcpTable.read()
    this.#isSamplingTcp = false
    this.#tcpSampledAt = performance.now()
    if (this.#connection !== connection || connection.socket === null) return
    const key = tableKey(connection.socket)
    // Without the table, all bytes that the kernel has accepted count as acknowledged.
    const inKernel = key === null ? 0 : (table?.get(key) ?? 0)
    connection.progress.noteTcpSample(sentBytes, connection.bufferedBytes + inKernel, this.#tcpSampledAt)
    this.#checkLive()
  }

  #checkLive(): void {
    if (this.#state !== 'publishing' || this.#connection?.progress.hasMediaArrived !== true) return
    this.#liveAt = performance.now()
    this.#enter('live')
  }

  /** Updates the retry policy by how long the connection has been live. Some servers close soon after publish. */
  #noteLiveTime(liveMs: number): void {
    const { provenMs, steadyMs } = this.#limits
    const isNew = liveMs >= provenMs && !this.#retries.hasWorked
    if (liveMs >= provenMs) this.#retries.noteWorked()
    if (liveMs >= steadyMs && this.#state === 'live') this.#retries.noteStable()
    if (isNew) this.#options.onChange(this.status())
  }

  #onDrop(): void {
    this.#droppedAt = performance.now()
    if (this.#state === 'live') this.#enter('congested')
  }

  #sendQueue(): void {
    const connection = this.#connection
    const position = this.#position
    if (connection === null || position === null || this.#queue.length === 0) return
    connection.cork()
    while (!connection.needsDrain) {
      const message = this.#queue.shift()
      if (message === undefined) break
      connection.write(wireFor(message, position))
      this.#counters.messagesSent += 1
    }
    connection.uncork()
  }

  #onFault(fault: Fault): void {
    this.#dropConnection()
    const { cause, code, message } = fault
    const { hint, waitMs } = this.#retries.after(fault)
    this.#lastError = { code, message, ...(hint !== undefined && { hint }), at: new Date().toISOString() }
    if (cause !== undefined) this.#options.log.error({ ...this.#logFields(), error: cause }, message)
    if (waitMs === null) this.#enter('needs_attention')
    else if (this.#hasSource) this.#scheduleRetry(waitMs)
    else this.#enter('idle')
  }

  #enterRefused(message: string): void {
    this.#lastError = { code: 'codec_refused', message, at: new Date().toISOString() }
    this.#enter('needs_attention')
  }

  #scheduleRetry(ms: number): void {
    this.#nextRetryAt = new Date(new Date().getTime() + ms).toISOString()
    this.#retryTimer = setTimeout(() => {
      this.#counters.reconnects += 1
      this.#attempt()
    }, ms)
    this.#enter('backoff')
  }

  /** Forgets the connection and clears the queue. The caller closes the connection. */
  #dropConnection(): void {
    this.#updateCounters()
    this.#counters.connectionEnded()
    this.#options.source.remove(this)
    this.#connection = null
    this.#position = null
    this.#liveAt = null
    this.#queue.reset([])
  }

  #updateCounters(): void {
    const progress = this.#connection?.progress
    if (progress !== undefined) this.#counters.updateConnection(progress.sentBytes, progress.acknowledgedBytes)
  }

  #enter(state: DestinationState): void {
    if (state === this.#state) return
    this.#state = state
    this.#since = new Date().toISOString()
    const fields = state === 'backoff' || state === 'needs_attention' ? { fault: this.#lastError } : {}
    const level = ATTEMPT_STATES.has(state) ? 'debug' : 'info'
    this.#options.log[level]({ ...this.#logFields(), state, ...fields }, 'destination changed')
    this.#options.onChange(this.status())
  }

  #logFields(): { destinationId: string } {
    return { destinationId: this.#options.destination.id }
  }
}
