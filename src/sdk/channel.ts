import type { ChangeData, MessageData, SyncData } from '../domains/talk/chat/schemas.ts'
import type { ChannelState } from '../domains/talk/chat/state.ts'
import { CrierError } from './client.ts'
import type { Caller } from './caller.ts'
import { ChannelReplica } from './channel-replica.ts'
import { randomId } from './random-id.ts'

/** The message to `send`. */
export interface Draft {
  readonly body?: string
  readonly attachments?: readonly string[]
  readonly replyTo?: string
  /** Created when absent. The same id never creates a second message. */
  readonly clientId?: string
}

export interface PendingMessage extends Draft {
  readonly clientId: string
}

/** The view for a subscriber: the channel's state on the server, and the messages that are not part of it yet. */
export interface ChannelView {
  readonly state: ChannelState
  /** Messages of this client that are not in `state` yet, in the order of sending. */
  readonly pending: readonly PendingMessage[]
  /** Whether the state was synchronized since the connection was established. */
  readonly isLive: boolean
  /** Why the channel cannot be read: not found, or not allowed (any more). */
  readonly error: CrierError | undefined
}

/** @param changes the changes that led to the view; empty after a snapshot, or if only `pending` changed */
export type ChannelListener = (view: ChannelView, changes: readonly ChangeData[]) => void

interface Outgoing {
  readonly draft: PendingMessage
  readonly resolve: (message: MessageData) => void
  readonly reject: (error: unknown) => void
  /** The sequence number from the server; undefined until it has replied. */
  seq?: number
}

/** An acknowledged message that has not arrived after this time is requested. */
const OVERDUE_MS = 1_000

/**
 * A subscribed channel. Its state is always one that the server had. It never goes back unless the server did, and it
 * reaches the server's state even if changes are lost, duplicated or reordered.
 */
export class FollowedChannel {
  readonly workspaceId: string
  readonly channelId: string
  readonly #caller: Caller
  readonly #replica: ChannelReplica
  readonly #listeners = new Set<ChannelListener>()
  readonly #outgoing: Outgoing[] = []
  #isSending = false
  #isSyncing = false
  #again = false
  #isLive = false
  #error: CrierError | undefined
  /** Nothing was received for the channel since the last check. */
  #isQuiet = false

  constructor(caller: Caller, place: { workspaceId: string; channelId: string }, state?: ChannelState) {
    this.workspaceId = place.workspaceId
    this.channelId = place.channelId
    this.#caller = caller
    this.#replica = new ChannelReplica(state)
  }

  get view(): ChannelView {
    return {
      state: this.#replica.state,
      pending: this.#outgoing.map(({ draft }) => draft),
      isLive: this.#isLive,
      error: this.#error,
    }
  }

  /**
   * Calls the listener with the current view at once and with every later view.
   * @returns a function that unsubscribes
   */
  subscribe(listener: ChannelListener): () => void {
    this.#listeners.add(listener)
    listener(this.view, [])
    return () => this.#listeners.delete(listener)
  }

  /**
   * Sends a message after earlier ones, and retries until the server has it.
   * @throws CrierError when the server refuses it
   */
  send(draft: Draft): Promise<MessageData> {
    return new Promise((resolve, reject) => {
      this.#outgoing.push({ draft: { ...draft, clientId: draft.clientId ?? randomId() }, resolve, reject })
      this.#tell([])
      void this.#sendAll()
    })
  }

  /** Receives a live change. */
  receive(change: ChangeData): void {
    this.#isQuiet = false
    const moved = this.#replica.receive(change)
    this.#settle(moved)
    if (moved.length > 0) this.#tell(moved)
    if (this.#replica.hasGap) void this.sync()
  }

  /** The connection was lost, so changes may be missing before the next one. */
  lost(): void {
    this.#isLive = false
    this.#tell([])
  }

  /** Synchronizes if nothing was received since the last check, because a change may have been lost. */
  look(): void {
    if (this.#isQuiet) void this.sync()
    this.#isQuiet = true
  }

  /** Requests the changes after the state until there are no more. */
  async sync(): Promise<void> {
    this.#again = true
    if (this.#isSyncing) return
    this.#isSyncing = true
    try {
      while (this.#again) {
        this.#again = false
        await this.#catchUp()
      }
      this.#isLive = true
      this.#error = undefined
    } catch (error) {
      if (!(error instanceof CrierError)) throw error
      this.#isLive = false
      this.#error = error
    } finally {
      this.#isSyncing = false
      this.#tell([])
    }
  }

  async #catchUp(): Promise<void> {
    const { channelId, workspaceId } = this
    for (let more = true; more;) {
      const { generation, seq: after } = this.#replica.state
      const position = { after, ...(generation !== undefined && { generation }) }
      const page = (await this.#caller.ask('sync', { workspaceId, channelId, ...position })) as SyncData
      const moved = this.#replica.take(page, after)
      const isOther = generation !== undefined && page.generation !== generation
      if (isOther) this.#sendAgain()
      this.#settle(moved)
      if (moved.length > 0 || page.snapshot !== null) this.#tell(moved)
      more = page.hasMore || isOther
    }
  }

  /** The server may have lost what it has acknowledged. It knows from `clientId` what it still has. */
  #sendAgain(): void {
    for (const one of this.#outgoing) delete one.seq
    void this.#sendAll()
  }

  /** A message in the log was sent, even if its reply has not arrived. */
  #settle(changes: readonly ChangeData[]): void {
    for (const change of changes) {
      if (change.type !== 'message') continue
      const { message } = change.data
      const sent = this.#outgoing.find(({ draft }) => draft.clientId === message.clientId)
      if (sent !== undefined) this.#done(sent, message)
    }
    this.#dropArrived()
  }

  /** It stays pending until the state contains it, so that it is always visible. */
  #done(outgoing: Outgoing, message: MessageData): void {
    outgoing.seq = message.seq
    outgoing.resolve(message)
    this.#dropArrived()
  }

  #dropArrived(): void {
    const { seq: reached } = this.#replica.state
    const arrived = this.#outgoing.filter(({ seq }) => seq !== undefined && seq <= reached)
    for (const one of arrived) this.#drop(one)
  }

  #drop(outgoing: Outgoing): void {
    const index = this.#outgoing.indexOf(outgoing)
    if (index >= 0) this.#outgoing.splice(index, 1)
  }

  /** Sends one message at a time, so that messages of a client never overtake each other. */
  async #sendAll(): Promise<void> {
    if (this.#isSending) return
    this.#isSending = true
    const { channelId, workspaceId } = this
    const unsent = () => this.#outgoing.find(({ seq }) => seq === undefined)
    for (let next = unsent(); next !== undefined; next = unsent()) {
      try {
        const call = { operation: 'sendMessage', path: { workspaceId, channelId }, body: next.draft }
        this.#done(next, (await this.#caller.ask('call', call)) as MessageData)
      } catch (error) {
        this.#drop(next)
        next.reject(error)
      }
      this.#tell([])
    }
    this.#isSending = false
    if (this.#outgoing.length > 0) setTimeout(() => this.#seekOverdue(), OVERDUE_MS)
  }

  #seekOverdue(): void {
    if (this.#outgoing.some(({ seq }) => seq !== undefined)) void this.sync()
  }

  #tell(changes: readonly ChangeData[]): void {
    const { view } = this
    for (const listener of this.#listeners) listener(view, changes)
  }
}
