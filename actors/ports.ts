/**
 * The interfaces that the runtime needs. Their implementations are in clock.ts, redis-lease-store.ts and links/tcp.ts. The
 * simulator replaces them and runs the same runtime.
 */

/** Time and the event loop. */
export interface RuntimeClock {
  /** Milliseconds on a clock that never goes back. */
  monotonic(): number
  /** Calls `action` once, after `ms` milliseconds. @returns cancels it */
  after(ms: number, action: () => void): () => void
  /** Calls `action` after the current task of the event loop. */
  soon(action: () => void): void
}

export interface RandomSource {
  /** Unpredictable bytes: nonces and names of incarnations. */
  bytes(count: number): Uint8Array
  /** From 0 to 1: jitter. */
  fraction(): number
}

/** `impaired`: alive, but cannot commit. `leaving`: handing its actors over. Neither gets new actors. */
export type NodeState = 'active' | 'impaired' | 'leaving'

/** A living incarnation of a node, as the directory lists it. */
export interface NodeEntry {
  /** The incarnation: new after every start and every lost lease. */
  readonly inc: string
  /** The address of its links. It is the same for all incarnations, and placement depends on it. */
  readonly address: string
  readonly state: NodeState
}

export interface BeatResult {
  /** False if the session had ended. It is not created again. */
  readonly live: boolean
  /** All nodes with a living session, including the calling one. */
  readonly nodes: readonly NodeEntry[]
}

/**
 * Decides which node should own an actor. It may lose all data at any time, and may run a timed-out command later: the
 * epochs in the database make that harmless.
 */
export interface LeaseStore {
  /**
   * Extends a session by `ttlMs`. With `first` it is created, and replaces `previous`, an earlier incarnation of the same
   * node that may still have a session.
   */
  beat(
    self: NodeEntry,
    ttlMs: number,
    options: { readonly first: boolean; readonly previous?: string },
  ): Promise<BeatResult>
  /** The living owner of an actor. If there is none, the first living node of `candidates` becomes the owner. */
  locate(actor: string, candidates: readonly string[]): Promise<NodeEntry | undefined>
  /** Releases an actor, to `heir` if that node is alive. Does nothing if `inc` is not the owner. */
  release(actor: string, inc: string, heir: string | undefined): Promise<void>
  /** Ends a session. */
  leave(inc: string): Promise<void>
  close(): Promise<void>
}

/** The events of a connection. None is called after `closed`. */
export interface ConnectionHandlers {
  frame(frame: Buffer): void
  /** All data has left this process, so more can be sent. */
  drained(): void
  closed(): void
}

/** Delivers whole frames in order, until the connection breaks. */
export interface Connection {
  send(frame: Buffer): void
  /** Bytes that wait to be sent. */
  readonly buffered: number
  pauseReading(): void
  resumeReading(): void
  /** Calls `closed` unless it was called before. */
  close(): void
}

export interface Listener {
  /** The host:port under which other nodes reach it. */
  readonly address: string
  close(): void
}

export interface Transport {
  connect(address: string, handlers: ConnectionHandlers): Connection
  listen(accept: (connection: Connection) => ConnectionHandlers): Promise<Listener>
}

/** Serializes payloads, values and errors for other nodes. Errors must keep their class. */
export interface Codec {
  encode(kind: 'payload' | 'value' | 'error', data: unknown): string
  decode(kind: 'payload' | 'value' | 'error', text: string): unknown
}

/** A codec for plain JSON data. Errors keep name and message. */
export const jsonCodec: Codec = {
  encode(kind, data) {
    if (kind !== 'error') return JSON.stringify(data) ?? ''
    const { name, message } = data instanceof Error ? data : new Error(String(data))
    return JSON.stringify({ name, message })
  },
  decode(kind, text) {
    if (text === '') return undefined
    const data: unknown = JSON.parse(text)
    if (kind !== 'error') return data
    const { name, message } = data as { name: string; message: string }
    return Object.assign(new Error(message), { name })
  },
}
