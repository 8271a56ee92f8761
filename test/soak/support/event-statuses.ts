import { io } from 'socket.io-client'
import { SocketClient } from '../../../src/sdk/socket-client.ts'
import type { NumberedEvent } from '../../../src/sdk/events.ts'
import type { StatusSource, ReportedStatus } from './claims.ts'

/** The time to fetch missed events after a lost connection, in milliseconds. Until then the known status is outdated. */
const CATCH_UP_MS = 3_000

interface Known {
  status: string
  readonly destinations: Map<string, string>
}

/** The status of a workspace's streams according to its events. */
export class EventStatuses implements StatusSource {
  readonly name = 'events'
  readonly #client: SocketClient
  readonly #known = new Map<string, Known>()
  #connectedAt = 0

  constructor(url: string, token: string, workspaceId: string) {
    this.#client = new SocketClient({ url, token, io, retryDelayMs: 200, timeoutMs: 15_000 })
    this.#client.onConnected(() => (this.#connectedAt = performance.now()))
    this.#client.events(workspaceId, { onEvent: (event) => this.#take(event) })
  }

  /** Sets the initial status of a stream. */
  begin(streamId: string, { destinations, status }: ReportedStatus): void {
    this.#known.set(streamId, { status, destinations: new Map(destinations.map((one) => [one.name, one.status])) })
  }

  readonly ask: StatusSource['ask'] = async ({ id }) => {
    const known = this.#known.get(id)
    const isCurrent = this.#client.isConnected && performance.now() - this.#connectedAt > CATCH_UP_MS
    if (known === undefined || !isCurrent) return undefined
    const destinations = [...known.destinations].map(([name, status]) => ({ name, status }))
    // No event has the time of the last observation. An unknown destination means that the status is unknown.
    const isUnknown = destinations.some(({ status }) => status === 'unknown')
    return { status: known.status, at: isUnknown ? null : '', destinations }
  }

  close(): void {
    this.#client.close()
  }

  #take({ data, type }: NumberedEvent): void {
    const { name, status, streamId } = data as { streamId: string; name?: string; status: string }
    const known = this.#known.get(streamId)
    if (known === undefined) return
    if (type === 'stream.updated') known.status = status
    else if (type === 'destination.updated' && name !== undefined) known.destinations.set(name, status)
  }
}
