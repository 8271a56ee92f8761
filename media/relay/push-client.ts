import type { Destination, DestinationFault, DestinationState, DestinationStatus, MediaLog } from '../types.ts'
import { DestinationCounters } from './counters.ts'
import { DestinationUrlError, parseDestinationUrl } from './destination-url.ts'
import { Fault } from './fault.ts'
import type { RelayLimits } from './limits.ts'
import { OutputQueue } from './output-queue.ts'
import { PushConnection } from './push-connection.ts'
import { continues, noneOfEach, wireFor, type RelayBatch, type WirePosition } from './relay-message.ts'
import { RetryPolicy } from './retry-policy.ts'
import type { Output, Source } from './source.ts'
import { tableKey, type TcpTable } from './tcp-table.ts'

export interface PushClientOptions {
  readonly destination: Destination
  readonly source: Source
  readonly limits: RelayLimits
  readonly allowPrivateAddresses: boolean
  /** Certificate authorities instead of the system's, PEM. For tests. */
  readonly ca?: string | undefined
  readonly tcpTable: TcpTable
  readonly log: MediaLog
  /** Called on every change of state. */
  readonly onChange: (status: DestinationStatus) => void
}

/** Passed through with each attempt: of an unreachable server, every few seconds. */
const STEPS: ReadonlySet<DestinationState> = new Set(['resolving', 'connecting', 'handshake', 'publishing'])

/** How often TCP is asked while an output becomes live, and while it flows without RTMP acknowledgements. */
const TCP_LOOK_MS = { starting: 100, flowing: 3_000 } as const

/**
 * Sends one source to one destination and keeps at it: connects, replays, follows, sheds load, notices a stall, comes
 * back. It disturbs nobody else: whatever its server does, a write into it returns at once.
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
  /** Why the destination must not get what comes in; null when it may. */
  #barred: string | null = null
  #trustsSilence = true
  /** Monotonic: since when the present connection is live; null while it is not. */
  #liveAt: number | null = null
  #droppedAt = 0
  #lookedAt = 0
  #looking = false

  constructor(options: PushClientOptions) {
    this.#options = options
    this.#limits = options.limits
    this.#retries = new RetryPolicy(options.limits, options.destination.hasWorked === true)
    this.#queue = new OutputQueue(options.limits.queue)
  }

  get destination(): Destination {
    return this.#options.destination
  }

  /** Media comes in, or comes in again: connects unless it is connected, waits for its turn or needs attention. */
  start(): void {
    this.#hasSource = true
    if (this.#state === 'idle' || this.#state === 'stopped') this.#attempt()
  }

  /** No media comes in for the moment. The connection is kept, but none is opened. */
  hold(): void {
    this.#hasSource = false
    if (this.#state !== 'backoff') return
    clearTimeout(this.#retryTimer)
    this.#nextRetryAt = null
    this.#enter('idle')
  }

  /** Ends the stream at the destination in good order and rests. Resolves when the connection is gone. */
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
    this.#release()
    // A rejected key stays rejected until somebody does something about it.
    if (state === 'stopped' || this.#state !== 'needs_attention') this.#enter(state)
    await connection?.close()
  }

  /** Connects now, whatever was decided before. */
  retry(): void {
    if (this.#state !== 'backoff' && this.#state !== 'needs_attention') return
    clearTimeout(this.#retryTimer)
    this.#nextRetryAt = null
    this.#retries.reset()
    if (this.#hasSource) this.#attempt()
    else this.#enter('idle')
  }

  /**
   * Keeps the destination off media that it does not take, for a reason in words, or with null lets it on again. What is
   * connected is ended in good order first.
   */
  bar(reason: string | null): void {
    if (reason === this.#barred) return
    const wasBarred = this.#barred !== null
    this.#barred = reason
    if (reason === null) {
      this.retry()
      return
    }
    if (!this.#hasSource || (wasBarred && this.#connection === null)) return
    clearTimeout(this.#retryTimer)
    this.#nextRetryAt = null
    const connection = this.#connection
    this.#release()
    void connection?.close()
    this.#refuse(reason)
  }

  write(batch: RelayBatch): void {
    const connection = this.#connection
    const position = this.#position
    if (connection === null || position === null) return
    if (this.#takesWhole(batch) && !connection.blocked && continues(batch, position)) {
      connection.write(batch.wire)
      const { last } = position
      const { leaves } = batch
      if (leaves.video !== undefined) last.video = leaves.video
      if (leaves.audio !== undefined) last.audio = leaves.audio
      if (leaves.data !== undefined) last.data = leaves.data
      this.#counters.messagesSent += batch.messages.length
      return
    }
    let leftOut = false
    for (const message of batch.messages) leftOut = this.#queue.push(message, connection.heldBytes) || leftOut
    if (leftOut) this.#congested()
    this.#pump()
  }

  /** Called regularly, at monotonic milliseconds: health, figures, recovery. */
  tick(now: number): void {
    const connection = this.#connection
    this.#count()
    this.#counters.tick(now, this.#state === 'live' || this.#state === 'congested')
    if (connection === null || this.#position === null) return
    const held = connection.heldBytes + this.#queue.bytes
    const { progress } = connection
    const { stallMs } = this.#limits
    const suspicious = held > 0 || progress.stillFor(held, now) >= stallMs / 2
    const due = suspicious || (progress.needsTcp(now) && now - this.#lookedAt >= TCP_LOOK_MS.flowing)
    if (due) void this.#lookAtTcp(connection)
    if (progress.isStalled(held, now, stallMs)) {
      // Should this server just have stopped acknowledging, that must not cost its viewers a second interruption.
      if (progress.tcpMovedInSilence) this.#trustsSilence = false
      const seconds = Math.round(stallMs / 1000)
      connection.destroy()
      this.#onFault(new Fault('stalled', `The server took no data for ${seconds} seconds.`))
      return
    }
    if (this.#liveAt !== null) this.#noteLasting(now - this.#liveAt)
    const calm =
      now - this.#droppedAt >= this.#limits.recoverMs && this.#queue.durationMs < this.#limits.queue.maxMs / 2
    if (this.#state === 'congested' && calm) this.#enter('live')
  }

  status(): DestinationStatus {
    this.#count()
    return {
      id: this.#options.destination.id,
      state: this.#state,
      since: this.#since,
      bytesSent: this.#counters.bytesSent,
      bytesAcknowledged: this.#counters.bytesAcknowledged,
      bitrate: this.#counters.bitrate,
      queuedBytes: this.#queue.bytes + (this.#connection?.heldBytes ?? 0),
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

  /** Takes note that the server has taken media with this key, as the host knows. */
  noteWorked(): void {
    if (!this.#retries.hasWorked) this.#retries.worked()
  }

  #takesWhole(batch: RelayBatch): boolean {
    return this.#queue.length === 0 && (!this.#queue.awaitsKeyframe || batch.expects.video === undefined)
  }

  #attempt(): void {
    this.#nextRetryAt = null
    if (this.#barred !== null) {
      this.#refuse(this.#barred)
      return
    }
    try {
      const { destination, allowPrivateAddresses, ca } = this.#options
      const target = parseDestinationUrl(destination.url)
      const { streamKey } = destination
      const { provenMs, timeouts } = this.#limits
      const connection = new PushConnection(
        { target, streamKey, allowPrivateAddresses, timeouts, ca, provenMs, trustsSilence: this.#trustsSilence },
        {
          onStep: (step) => this.#enter(step),
          onReady: (messageStreamId) => this.#onReady(connection, messageStreamId),
          onAcknowledgement: () => this.#checkLive(),
          onDrain: () => this.#pump(),
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
    this.#position = { base, messageStreamId, last: noneOfEach() }
    this.#queue.reset(messages)
    connection.progress.beginMedia(performance.now())
    this.#options.source.add(this)
    this.#pump()
    void this.#becomeLive(connection)
  }

  /** Looks at short intervals until media has arrived: servers acknowledge by RTMP only after a whole window. */
  async #becomeLive(connection: PushConnection): Promise<void> {
    while (this.#connection === connection && this.#state === 'publishing') {
      if (connection.progress.needsTcp(performance.now())) await this.#lookAtTcp(connection)
      await new Promise((resolve) => {
        setTimeout(resolve, TCP_LOOK_MS.starting)
      })
    }
  }

  async #lookAtTcp(connection: PushConnection): Promise<void> {
    if (this.#looking) return
    this.#looking = true
    const { sentBytes } = connection.progress
    const table = await this.#options.tcpTable.read()
    this.#looking = false
    this.#lookedAt = performance.now()
    if (this.#connection !== connection || connection.socket === null) return
    const key = tableKey(connection.socket)
    // Without a table, what the kernel has taken from the process must do.
    const inKernel = key === null ? 0 : (table?.get(key) ?? 0)
    connection.progress.tcp(sentBytes, connection.heldBytes + inKernel, this.#lookedAt)
    this.#checkLive()
  }

  #checkLive(): void {
    if (this.#state !== 'publishing' || this.#connection?.progress.mediaArrived !== true) return
    this.#liveAt = performance.now()
    this.#enter('live')
  }

  /** Draws conclusions from how long the connection has been live: a server may also close soon after publish. */
  #noteLasting(liveMs: number): void {
    const { provenMs, steadyMs } = this.#limits
    const isNews = liveMs >= provenMs && !this.#retries.hasWorked
    if (liveMs >= provenMs) this.#retries.worked()
    if (liveMs >= steadyMs && this.#state === 'live') this.#retries.steady()
    if (isNews) this.#options.onChange(this.status())
  }

  #congested(): void {
    this.#droppedAt = performance.now()
    if (this.#state === 'live') this.#enter('congested')
  }

  #pump(): void {
    const connection = this.#connection
    const position = this.#position
    if (connection === null || position === null || this.#queue.length === 0) return
    connection.cork()
    while (!connection.blocked) {
      const message = this.#queue.shift()
      if (message === undefined) break
      connection.write(wireFor(message, position))
      this.#counters.messagesSent += 1
    }
    connection.uncork()
  }

  #onFault(fault: Fault): void {
    this.#release()
    const { cause, code, message } = fault
    const { hint, waitMs } = this.#retries.after(fault)
    this.#lastError = { code, message, ...(hint !== undefined && { hint }), at: new Date().toISOString() }
    if (cause !== undefined) this.#options.log.error({ ...this.#name(), error: cause }, message)
    if (waitMs === null) this.#enter('needs_attention')
    else if (this.#hasSource) this.#wait(waitMs)
    else this.#enter('idle')
  }

  #refuse(message: string): void {
    this.#lastError = { code: 'codec_refused', message, at: new Date().toISOString() }
    this.#enter('needs_attention')
  }

  #wait(ms: number): void {
    this.#nextRetryAt = new Date(new Date().getTime() + ms).toISOString()
    this.#retryTimer = setTimeout(() => {
      this.#counters.reconnects += 1
      this.#attempt()
    }, ms)
    this.#enter('backoff')
  }

  /** Lets go of the connection and of what waits for it. */
  #release(): void {
    this.#count()
    this.#counters.connectionEnded()
    this.#options.source.remove(this)
    this.#connection = null
    this.#position = null
    this.#liveAt = null
    this.#queue.reset([])
  }

  #count(): void {
    const progress = this.#connection?.progress
    if (progress !== undefined) this.#counters.connection(progress.sentBytes, progress.acknowledgedBytes)
  }

  #enter(state: DestinationState): void {
    if (state === this.#state) return
    this.#state = state
    this.#since = new Date().toISOString()
    const fields = state === 'backoff' || state === 'needs_attention' ? { fault: this.#lastError } : {}
    const level = STEPS.has(state) ? 'debug' : 'info'
    this.#options.log[level]({ ...this.#name(), state, ...fields }, 'destination changed')
    this.#options.onChange(this.status())
  }

  #name(): { destinationId: string } {
    return { destinationId: this.#options.destination.id }
  }
}
