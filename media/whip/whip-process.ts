import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Watchdog } from '../watchdog.ts'
import type { MediaLog, ReceptionStatus } from '../types.ts'
import type { ChildMessage, CodedMedia, ParentMessage, ViewerFrame } from './child/protocol.ts'
import type { WhepOffer, WhipChildSettings, WhipOffer } from './child/protocol.ts'

/** Callbacks for the events of a session. */
export interface SessionListener {
  readonly streamId: string
  readonly onAnswer: (sdp: string) => void
  readonly onConnected: () => void
  /** Called once, as the last callback. */
  readonly onEnd: (reason: string) => void
}

/** Callbacks for the events of a publisher's session. */
export interface PublisherListener extends SessionListener {
  readonly onMedia: (media: CodedMedia) => void
  /** About once a second. */
  readonly onReception: (tracks: readonly ReceptionStatus[]) => void
}

/** How many sessions of a stream ended because the process ended. */
export interface LostSessions {
  readonly streamId: string
  readonly publishers: number
  readonly viewers: number
}

const ENTRY = fileURLToPath(new URL('child/main.ts', import.meta.url))
const ENV = {
  MALLOC_ARENA_MAX: '1',
  NODE_COMPILE_CACHE: fileURLToPath(new URL('../../node_modules/.cache/node-compile', import.meta.url)),
}
const CLOSE_TIMEOUT_MS = 2_000

/**
 * The child process that runs WebRTC. It is started with the first session. If it ends, its sessions end, and the next
 * session starts a new process.
 */
export class WhipProcess {
  readonly #settings: WhipChildSettings
  readonly #log: MediaLog
  readonly #onLost: (lost: LostSessions) => void
  readonly #sessions = new Map<string, SessionListener | PublisherListener>()
  #child: ChildProcess | null = null
  #watchdog: Watchdog | undefined

  /** @param onLost called for each stream that loses sessions when the process ends unexpectedly */
  constructor(settings: WhipChildSettings, log: MediaLog, onLost: (lost: LostSessions) => void) {
    this.#settings = settings
    this.#log = log
    this.#onLost = onLost
  }

  /** Undefined while the process is not running. */
  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Opens a publisher's session. */
  publish(session: string, offer: WhipOffer, listener: PublisherListener): void {
    this.#open(session, listener, { type: 'publish', session, offer })
  }

  /** Opens a viewer's session. */
  watch(session: string, offer: WhepOffer, listener: SessionListener): void {
    this.#open(session, listener, { type: 'watch', session, offer })
  }

  /** Sends a frame to a viewer. @param sent called when the frame is written to the IPC channel, or dropped */
  sendFrame(session: string, frame: ViewerFrame, sent: () => void = () => {}): void {
    if (this.#child?.connected && this.#sessions.has(session)) {
      this.#child.send({ type: 'frame', session, frame } satisfies ParentMessage, sent)
    } else sent()
  }

  #open(session: string, listener: SessionListener | PublisherListener, message: ParentMessage): void {
    this.#child ??= this.#spawn()
    this.#sessions.set(session, listener)
    this.#send(this.#child, message)
  }

  /** Ends a session without calling its listener again. */
  close(session: string): void {
    if (!this.#sessions.delete(session) || this.#child === null) return
    this.#send(this.#child, { type: 'close', session })
  }

  async stop(): Promise<void> {
    const child = this.#child
    this.#watchdog?.stop()
    this.#sessions.clear()
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => child.kill('SIGKILL'), CLOSE_TIMEOUT_MS)
      child.once('exit', () => {
        clearTimeout(timer)
        resolve()
      })
      if (child.connected) child.disconnect()
      else child.kill('SIGKILL')
    })
  }

  #spawn(): ChildProcess {
    const child = fork(ENTRY, [], {
      env: ENV,
      execArgv: ['--max-semi-space-size=2'],
      serialization: 'advanced',
      stdio: ['ignore', 2, 2, 'ipc'],
    })
    child.on('message', (message) => this.#onMessage(message as ChildMessage))
    child.on('error', (error) => this.#log.error({ error: error.message }, 'the WHIP process cannot be reached'))
    child.once('exit', (code, signal) => this.#onExit(child, code, signal))
    this.#send(child, { type: 'start', settings: this.#settings })
    this.#watchdog = new Watchdog({
      ping: () => this.#send(child, { type: 'ping' }),
      onHang: () => {
        this.#log.error({ pid: child.pid }, 'the WHIP process hangs and is killed')
        child.kill('SIGKILL')
      },
    })
    return child
  }

  #send(child: ChildProcess, message: ParentMessage): void {
    if (child.connected) child.send(message, () => {})
  }

  #onMessage(message: ChildMessage): void {
    this.#watchdog?.noteMessage()
    switch (message.type) {
      case 'pong':
        return
      case 'ready':
        this.#log.info(this.#settings, 'whip is listening')
        return
      case 'failed':
        this.#log.error({ ...this.#settings, reason: message.message }, 'the WHIP process could not start')
        return
      case 'log':
        this.#log[message.level](message.fields, message.message)
        return
      default:
        this.#onSessionMessage(message)
    }
  }

  #onSessionMessage(message: Extract<ChildMessage, { session: string }>): void {
    const listener = this.#sessions.get(message.session)
    if (listener === undefined) return
    if (message.type === 'media') {
      if ('onMedia' in listener) listener.onMedia(message.media)
    } else if (message.type === 'reception') {
      if ('onReception' in listener) listener.onReception(message.tracks)
    } else if (message.type === 'answer') listener.onAnswer(message.sdp)
    else if (message.type === 'connected') listener.onConnected()
    else {
      this.#sessions.delete(message.session)
      listener.onEnd(message.reason)
    }
  }

  #onExit(child: ChildProcess, code: number | null, signal: NodeJS.Signals | null): void {
    if (this.#child === child) {
      this.#child = null
      this.#watchdog?.stop()
    }
    const lost = [...this.#sessions.values()]
    this.#sessions.clear()
    if (lost.length > 0) this.#log.error({ exitCode: code, signal, sessions: lost.length }, 'the WHIP process ended')
    for (const [streamId, listeners] of Map.groupBy(lost, (listener) => listener.streamId)) {
      const publishers = listeners.filter((listener) => 'onMedia' in listener).length
      this.#onLost({ streamId, publishers, viewers: listeners.length - publishers })
    }
    for (const listener of lost) listener.onEnd('whip process lost')
  }
}
