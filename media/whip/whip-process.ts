import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Watchdog } from '../watchdog.ts'
import type { MediaLog, ReceptionStatus } from '../types.ts'
import type { ChildMessage, CodedMedia, ParentMessage, SessionOffer, Shown } from './child/protocol.ts'
import type { WatchOffer, WhipChildSettings } from './child/protocol.ts'

/** What its owner hears of a session. */
export interface SessionListener {
  readonly streamId: string
  readonly onAnswer: (sdp: string) => void
  readonly onConnected: () => void
  /** Called once, last. */
  readonly onEnd: (reason: string) => void
}

/** And of one that publishes. */
export interface PublisherListener extends SessionListener {
  readonly onMedia: (media: CodedMedia) => void
  /** About once a second. */
  readonly onReception: (tracks: readonly ReceptionStatus[]) => void
}

/** Clients of a stream whose sessions ended with the process. */
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
const CLOSE_MS = 2_000

/**
 * The process that WebRTC runs in, started with the first session that needs it. When it dies, its sessions end; the next one
 * starts another.
 */
export class WhipProcess {
  readonly #settings: WhipChildSettings
  readonly #log: MediaLog
  readonly #onLost: (lost: LostSessions) => void
  readonly #sessions = new Map<string, SessionListener | PublisherListener>()
  #child: ChildProcess | null = null
  #watchdog: Watchdog | undefined

  /** @param onLost called for each stream that loses sessions when the process ends by itself */
  constructor(settings: WhipChildSettings, log: MediaLog, onLost: (lost: LostSessions) => void) {
    this.#settings = settings
    this.#log = log
    this.#onLost = onLost
  }

  /** Undefined while none is needed. */
  get pid(): number | undefined {
    return this.#child?.pid
  }

  open(session: string, offer: SessionOffer, listener: PublisherListener): void {
    this.#begin(session, listener, { type: 'offer', session, offer })
  }

  /** Opens a session of somebody who watches. */
  watch(session: string, offer: WatchOffer, listener: SessionListener): void {
    this.#begin(session, listener, { type: 'watch', session, offer })
  }

  /** @param sent called when it is on its way, or never will be */
  show(session: string, shown: Shown, sent: () => void = () => {}): void {
    if (this.#child?.connected && this.#sessions.has(session)) {
      this.#child.send({ type: 'show', session, shown } satisfies ParentMessage, sent)
    } else sent()
  }

  #begin(session: string, listener: SessionListener | PublisherListener, message: ParentMessage): void {
    this.#child ??= this.#spawn()
    this.#sessions.set(session, listener)
    this.#send(this.#child, message)
  }

  /** Ends a session; its owner hears no more of it. */
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
      const timer = setTimeout(() => child.kill('SIGKILL'), CLOSE_MS)
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
        this.#log.error({ pid: child.pid }, 'the WHIP process hangs: it is killed')
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
        this.#ofSession(message)
    }
  }

  #ofSession(message: Extract<ChildMessage, { session: string }>): void {
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
    for (const [streamId, ofStream] of Map.groupBy(lost, (listener) => listener.streamId)) {
      const publishers = ofStream.filter((listener) => 'onMedia' in listener).length
      this.#onLost({ streamId, publishers, viewers: ofStream.length - publishers })
    }
    for (const listener of lost) listener.onEnd('whip process lost')
  }
}
