import { io } from 'socket.io-client'
import { CrierError } from '../../../src/sdk/client.ts'
import { stateHash } from '../../../src/domains/talk/chat/state.ts'
import { SocketClient } from '../../../src/sdk/socket-client.ts'
import type { Person } from './people.ts'

/** The measurements and faults of all members. */
export interface Findings {
  readonly acksMs: number[]
  /** Actions of clients that were disconnected meanwhile, until the acknowledgement after their return. */
  readonly awayMs: number[]
  readonly resumesMs: number[]
  /** The last acknowledged text of each message; undefined once it was deleted. */
  readonly acknowledged: Map<string, string | undefined>
  gaps: number
  doubled: number
  refused: Map<string, number>
}

interface EngineSocket {
  readonly io: { uri: string; engine?: { close(): void } }
  connect(): unknown
}

/** A client of the soak test: follows its channel with the SDK, sends messages, and checks what it receives. */
export class SoakMember {
  readonly person: Person
  readonly #client: SocketClient
  readonly #findings: Findings
  readonly #channel
  readonly #own: string[] = []
  #socket: EngineSocket | undefined
  #held: (() => void) | undefined
  #isHeld = false
  #wasHeld = false
  #connectedAt = 0
  #seq = 0
  busy = false

  constructor(person: Person, node: () => string, findings: Findings) {
    this.person = person
    this.#findings = findings
    this.#client = new SocketClient({
      url: node(),
      token: person.apiKey,
      retryDelayMs: 200,
      quietMs: 5_000,
      timeoutMs: 15_000,
      io: (url: string, options: never) => this.#open(url, options, node),
    })
    this.#client.onConnected(() => (this.#connectedAt = performance.now()))
    this.#channel = this.#client.channel(person)
    let isLive = false
    this.#channel.subscribe((view, changes) => {
      for (const { seq } of changes) this.#follow(seq)
      this.#seq = view.state.seq
      if (view.isLive && !isLive && this.#connectedAt > 0)
        findings.resumesMs.push(performance.now() - this.#connectedAt)
      isLive = view.isLive
    })
  }

  get isLive(): boolean {
    return this.#channel.view.isLive
  }

  get hash(): string {
    return stateHash(this.#channel.view.state)
  }

  get seq(): number {
    return this.#channel.view.state.seq
  }

  /** Disconnects, and does not return until it is released. */
  drop(): void {
    this.#isHeld = true
    this.#wasHeld = true
    this.#socket?.io.engine?.close()
  }

  release(): void {
    this.#isHeld = false
    this.#held?.()
    this.#held = undefined
  }

  /** Sends a message, or edits or deletes one of its own. */
  async act(): Promise<void> {
    this.busy = true
    this.#wasHeld = this.#isHeld
    const luck = Math.random()
    const messageId = this.#own.at(-1)
    const startedAt = performance.now()
    try {
      if (messageId === undefined || luck < 0.6) await this.#say()
      else if (luck < 0.85) await this.#edit(messageId)
      else await this.#delete(messageId)
      const { acksMs, awayMs } = this.#findings
      const list = this.#wasHeld ? awayMs : acksMs
      list.push(performance.now() - startedAt)
    } catch (error) {
      const code = error instanceof CrierError ? error.code : String(error)
      this.#findings.refused.set(code, (this.#findings.refused.get(code) ?? 0) + 1)
    } finally {
      this.busy = false
    }
  }

  close(): void {
    this.#client.close()
  }

  async #say(): Promise<void> {
    const { _id, body } = await this.#channel.send({ body: `said ${crypto.randomUUID()}` })
    this.#own.push(_id)
    this.#findings.acknowledged.set(_id, body)
  }

  async #edit(messageId: string): Promise<void> {
    const body = `edited ${crypto.randomUUID()}`
    // Before the acknowledgement both texts are correct, because the reply can be lost with the node.
    await this.#client.call('editMessage', { path: { ...this.#place(), messageId }, body: { body } }, { resend: true })
    this.#findings.acknowledged.set(messageId, body)
  }

  async #delete(messageId: string): Promise<void> {
    this.#own.pop()
    try {
      await this.#client.call('deleteMessage', { path: { ...this.#place(), messageId } }, { resend: true })
    } catch (error) {
      // Already deleted by the attempt whose reply was lost.
      if (!(error instanceof CrierError) || ![404, 409, 410].includes(error.status)) throw error
    }
    this.#findings.acknowledged.set(messageId, undefined)
  }

  #place(): { workspaceId: string; channelId: string } {
    const { channelId, workspaceId } = this.person
    return { workspaceId, channelId }
  }

  #follow(seq: number): void {
    // After a snapshot the numbers continue from it.
    if (seq <= this.#seq) this.#findings.doubled += 1
    else if (seq !== this.#seq + 1) this.#findings.gaps += 1
    this.#seq = seq
  }

  /** A socket that chooses a running node whenever it connects. */
  #open(url: string, options: never, node: () => string): unknown {
    const socket = io(url, options) as unknown as EngineSocket
    const connect = socket.connect.bind(socket)
    socket.connect = () => {
      if (this.#isHeld) {
        this.#held = () => void socket.connect()
        return socket
      }
      socket.io.uri = node()
      return connect()
    }
    this.#socket = socket
    return socket
  }
}
