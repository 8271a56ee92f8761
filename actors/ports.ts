/**
 * What the runtime stands on. Real drivers are in clock.ts, redis-lease-store.ts and links/tcp.ts; the simulator puts
 * its own in their place and drives the same runtime.
 */

/** Time and the event loop. */
export interface RuntimeClock {
  /** Milliseconds on a clock that never steps back. */
  monotonic(): number
  /** Calls `action` once, after `ms` milliseconds. @returns cancels it */
  after(ms: number, action: () => void): () => void
  /** Calls `action` when what is under way in the event loop has ended. */
  soon(action: () => void): void
}

export interface RandomSource {
  /** Unpredictable bytes: nonces and names of incarnations. */
  bytes(count: number): Uint8Array
  /** From 0 to 1: jitter. */
  fraction(): number
}

/** `impaired`: it lives but cannot commit; `leaving`: it hands its actors over. Neither is given new actors. */
export type NodeState = 'active' | 'impaired' | 'leaving'

/** One living incarnation of a node, as the directory has it. */
export interface NodeEntry {
  /** Incarnation: new after every start and every lost lease. */
  readonly inc: string
  /** Where its links listen. Stable over incarnations: placement goes by it. */
  readonly address: string
  readonly state: NodeState
}

export interface BeatAnswer {
  /** false: the session was gone, and was not made anew. */
  readonly live: boolean
  /** Every node whose session lives, the asking one included. */
  readonly nodes: readonly NodeEntry[]
}

/**
 * Decides who should act. It is allowed to forget everything at any instant and to run a command that was given up on
 * later: the epochs in the database keep that harmless.
 */
export interface LeaseStore {
  /**
   * Prolongs a session by `ttlMs`. With `first` it is made, in the place of `previous`, an earlier incarnation of the
   * same node that may still be there.
   */
  beat(
    self: NodeEntry,
    ttlMs: number,
    options: { readonly first: boolean; readonly previous?: string },
  ): Promise<BeatAnswer>
  /** The living owner of an actor; if there is none, the first of `candidates` that lives becomes it. */
  locate(actor: string, candidates: readonly string[]): Promise<NodeEntry | undefined>
  /** Gives an actor up, to `heir` if that lives. Does nothing when `inc` is not its owner. */
  release(actor: string, inc: string, heir: string | undefined): Promise<void>
  /** Ends a session. */
  leave(inc: string): Promise<void>
  close(): Promise<void>
}

/** What happens on a connection. Nothing is called after `closed`. */
export interface ConnectionHandlers {
  frame(frame: Buffer): void
  /** What was sent has left this process; there is room again. */
  drained(): void
  closed(): void
}

/** Carries whole frames, in order, until it breaks. */
export interface Connection {
  send(frame: Buffer): void
  /** Bytes that wait to leave this process. */
  readonly buffered: number
  pauseReading(): void
  resumeReading(): void
  /** Calls `closed`, if that has not been called yet. */
  close(): void
}

export interface Listener {
  /** host:port under which other nodes reach it. */
  readonly address: string
  close(): void
}

export interface Transport {
  connect(address: string, handlers: ConnectionHandlers): Connection
  listen(accept: (connection: Connection) => ConnectionHandlers): Promise<Listener>
}

/** How commands' payloads, values and errors cross to another node. Errors must come out as what they were. */
export interface Codec {
  encode(kind: 'payload' | 'value' | 'error', data: unknown): string
  decode(kind: 'payload' | 'value' | 'error', text: string): unknown
}

/** For plain JSON data; errors keep name and message. */
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
