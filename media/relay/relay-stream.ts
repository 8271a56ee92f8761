import type { Diagnosis, Patient } from '../doctor/stream-doctor.ts'
import type { Publisher } from '../ingest/rtmp-ingest.ts'
import type { DesiredStream, Destination, MediaEvent, MediaLog, StreamStatus } from '../types.ts'
import type { RelayLimits } from './limits.ts'
import { LiveMeter } from './live-meter.ts'
import { PushClient } from './push-client.ts'
import { Source } from './source.ts'
import type { TcpTable } from './tcp-table.ts'

export interface RelayStreamOptions {
  readonly limits: RelayLimits
  readonly allowPrivateAddresses: boolean
  readonly ca: string | undefined
  readonly tcpTable: TcpTable
  readonly log: MediaLog
  readonly onEvent: (event: MediaEvent) => void
}

interface Ingest {
  readonly publisher: Publisher
  readonly since: string
}

/** One stream on this node: at most one publisher, its source, and an output for each destination. */
export class RelayStream {
  readonly #options: RelayStreamOptions
  readonly #source: Source
  readonly #meter = new LiveMeter()
  readonly #clients = new Map<string, PushClient>()
  readonly #closing = new Set<Promise<void>>()
  #desired: DesiredStream
  #ingest: Ingest | null = null
  #holdTimer: NodeJS.Timeout | undefined

  constructor(desired: DesiredStream, options: RelayStreamOptions) {
    this.#options = options
    this.#source = new Source(options.limits.group)
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
    const { publisher } = this.#ingest ?? {}
    if (publisher !== undefined && publisher.keyHash !== desired.keyHash) publisher.drop('key changed')
    this.#meter.setLive(desired.live)
    const fresh = desired.live && !before.live
    this.#applyDestinations(desired.destinations, fresh)
  }

  /** Takes an admitted publisher; the one before, if any, has ended. */
  attach(publisher: Publisher): void {
    const { streamId } = this.#desired
    const { sessionId, remoteAddress } = publisher
    clearTimeout(this.#holdTimer)
    this.#ingest = { publisher, since: new Date().toISOString() }
    this.#meter.beginSession()
    this.#source.attach()
    publisher.onMessage = (message) => {
      const now = performance.now()
      this.#meter.media(now)
      this.#source.push(message, now)
    }
    publisher.onEnd = (reason) => this.#detach(publisher, reason)
    this.#options.onEvent({ type: 'ingest.started', streamId, sessionId, remoteAddress })
    if (this.#desired.live) for (const client of this.#clients.values()) client.start()
  }

  retry(destinationId: string): void {
    this.#clients.get(destinationId)?.retry()
  }

  tick(now: number): void {
    this.#reportUsage()
    this.#examine()
    for (const client of this.#clients.values()) client.tick(now)
  }

  status(): StreamStatus {
    const { streamId, path, live } = this.#desired
    const ingest = this.#ingest
    return {
      streamId,
      path,
      live,
      ingest:
        ingest === null
          ? null
          : {
              sessionId: ingest.publisher.sessionId,
              since: ingest.since,
              remoteAddress: ingest.publisher.remoteAddress,
              ...ingest.publisher.stats(),
            },
      destinations: [...this.#clients.values()].map((client) => client.status()),
      liveMs: this.#meter.totalMs,
    }
  }

  /** Drops the publisher and ends all outputs. Resolves when their connections are gone. */
  async close(reason: string): Promise<void> {
    this.#ingest?.publisher.drop(reason)
    clearTimeout(this.#holdTimer)
    for (const client of this.#clients.values()) this.#stop(client, 'stopped')
    await Promise.all(this.#closing)
  }

  #detach(publisher: Publisher, reason: string): void {
    if (this.#ingest?.publisher !== publisher) return
    const { streamId } = this.#desired
    this.#reportUsage()
    this.#ingest = null
    // They were about this publisher; the next one is looked at anew.
    this.#tell({ raised: [], cleared: publisher.stats().warnings })
    this.#options.onEvent({ type: 'ingest.ended', streamId, sessionId: publisher.sessionId, reason })
    for (const client of this.#clients.values()) client.hold()
    clearTimeout(this.#holdTimer)
    this.#holdTimer = setTimeout(() => {
      if (this.#desired.live) for (const client of this.#clients.values()) this.#stop(client, 'idle')
    }, this.#options.limits.holdMs)
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
      if (client !== undefined && !fresh && isSame(client.destination, destination)) continue
      const successor = this.#create(destination)
      this.#clients.set(destination.id, successor)
      if (client !== undefined) this.#stop(client, 'stopped')
      if (this.#desired.live && this.#ingest !== null) successor.start()
    }
  }

  #create(destination: Destination): PushClient {
    const { limits, allowPrivateAddresses, ca, tcpTable, log, onEvent } = this.#options
    const { streamId } = this.#desired
    const client: PushClient = new PushClient({
      destination,
      source: this.#source,
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
    const diagnosis = this.#ingest?.publisher.examine(patientsOf(this.#desired))
    if (diagnosis !== undefined) this.#tell(diagnosis)
  }

  #tell({ raised, cleared }: Diagnosis): void {
    if (raised.length + cleared.length === 0) return
    this.#options.onEvent({ type: 'warnings.changed', streamId: this.#desired.streamId, raised, cleared })
  }

  #reportUsage(): void {
    if (this.#ingest === null || !this.#desired.live) return
    const { sessionId } = this.#ingest.publisher
    const { streamId } = this.#desired
    this.#options.onEvent({ type: 'usage', streamId, sessionId, liveMs: this.#meter.sessionMs })
  }
}

function patientsOf({ destinations }: DesiredStream): Patient[] {
  return destinations.flatMap(({ id, rules }) => (rules === undefined ? [] : [{ id, rules }]))
}

function isSame(left: Destination, right: Destination): boolean {
  return left.url === right.url && left.streamKey === right.streamKey
}
