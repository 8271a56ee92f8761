import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { ChangeWatch } from '../change-watch.ts'
import { Backoff } from '../relay/backoff.ts'
import { Watchdog, type WatchdogLimits } from '../watchdog.ts'
import type {
  DesiredStream,
  MediaEvent,
  MediaNodeOptions,
  MediaNodeStatus,
  PublishDecision,
  PublishRequest,
  WhipReply,
  WhipRequest,
} from '../types.ts'
import type { HostMessage, MediaProcessSettings, ProcessMessage } from './protocol.ts'

/** The media process does not answer: it is being started again, or hangs. */
export class MediaUnavailableError extends Error {
  override readonly name = 'MediaUnavailableError'
}

export interface MediaProcessOptions extends MediaProcessSettings {
  readonly authorizePublish: MediaNodeOptions['authorizePublish']
  readonly onEvent: MediaNodeOptions['onEvent']
  readonly log: MediaNodeOptions['log']
  /** When a process that does not answer is ended; for tests. */
  readonly watchdog?: WatchdogLimits
  /** Added to the environment of the process, which has nothing of the host's. */
  readonly env?: Readonly<Record<string, string>>
}

export interface MediaPorts {
  readonly port: number
  /** UDP; null without WHIP. */
  readonly whipPort: number | null
}

/** A media node in a process of its own, kept running. */
export interface MediaHost {
  /** The ports, once it listens. Rejects when the first start fails; later ones are tried again without end. */
  readonly ready: Promise<MediaPorts>
  apply(stream: DesiredStream): void
  remove(streamId: string): void
  retry(streamId: string, destinationId: string): void
  /** @throws MediaUnavailableError within 2 s when there is no answer. */
  status(): Promise<MediaNodeStatus>
  /** Answers a client of WHIP. @throws MediaUnavailableError when there is no answer in time. */
  whip(request: WhipRequest): Promise<WhipReply>
  /**
   * Tells when the process is lost (false) and when another one listens in its place (true), after the states that the
   * host knows were applied to it. Every publisher was cut off in between. Returns what ends it.
   */
  onAvailability(listener: (available: boolean) => void): () => void
  /**
   * Tells that the process has not answered since a time (ISO 8601), and with null that it answers again. One that goes
   * on hanging is killed and started again, which {@link onAvailability} tells. Returns what ends it.
   */
  onSilence(listener: (since: string | null) => void): () => void
  pid(): number | undefined
  /** Lets the process drain, then ends it. */
  close(): Promise<void>
}

type Answer = MediaNodeStatus | WhipReply

const ENTRY = fileURLToPath(new URL('main.ts', import.meta.url))
/**
 * A relay's garbage is buffers outside the heap. V8 sizes its first old space by the small heap beside them and would
 * collect it whole once a second: with 100 outputs that is a quarter of the CPU time. One malloc arena in place of one
 * for each thread keeps that memory together: 132 MB resident instead of 165 MB.
 */
export const MEMORY_FLAGS = ['--initial-old-space-size=48', '--max-semi-space-size=2']
/**
 * V8 optimises what was called some thousand times. What a live stream runs is called eighty times a second: without
 * these it costs a fifth more CPU time for minutes.
 */
const TIERING_FLAGS = ['--invocation-count-for-maglev=100', '--invocation-count-for-turbofan=1000']
const MEMORY_ENV = { MALLOC_ARENA_MAX: '1' }
/** What was compiled by an earlier start is read back: a fifth less memory than compiling it again takes. */
const COMPILE_CACHE_ENV = {
  NODE_COMPILE_CACHE: fileURLToPath(new URL('../../node_modules/.cache/node-compile', import.meta.url)),
}
const STATUS_MS = 2_000
/** Longer than checking a publisher and making an answer may take. */
const WHIP_MS = 12_000
const CLOSE_MS = 8_000
const RESPAWN = { baseMs: 200, maxMs: 10_000 }
/** A process that ran for this long failed for a reason of its own: the next start does not wait for long. */
const STEADY_MS = 30_000

/** Starts the media process and keeps it running until {@link MediaHost.close}. */
export function startMediaProcess(options: MediaProcessOptions): MediaHost {
  return new ProcessHost(options)
}

class ProcessHost implements MediaHost {
  readonly ready: Promise<MediaPorts>
  readonly #options: MediaProcessOptions
  readonly #ready = Promise.withResolvers<MediaPorts>()
  readonly #desired = new Map<string, DesiredStream>()
  readonly #watch = new ChangeWatch()
  readonly #questions = new Map<number, PromiseWithResolvers<Answer>>()
  readonly #listeners = new Set<(available: boolean) => void>()
  readonly #silenceListeners = new Set<(since: string | null) => void>()
  readonly #backoff = new Backoff(RESPAWN)
  #child: ChildProcess
  #watchdog: Watchdog | undefined
  #ports: MediaPorts | null = null
  #available = false
  #closing = false
  #nextQuestion = 1
  #startedAt = 0
  #respawn: NodeJS.Timeout | undefined

  constructor(options: MediaProcessOptions) {
    this.#options = options
    this.ready = this.#ready.promise
    this.#child = this.#spawn()
  }

  apply(stream: DesiredStream): void {
    this.#watch.changed(stream.streamId)
    this.#desired.set(stream.streamId, stream)
    this.#send({ type: 'apply', stream })
  }

  remove(streamId: string): void {
    this.#watch.changed(streamId)
    this.#desired.delete(streamId)
    this.#send({ type: 'remove', streamId })
  }

  retry(streamId: string, destinationId: string): void {
    this.#send({ type: 'retry', streamId, destinationId })
  }

  async status(): Promise<MediaNodeStatus> {
    return (await this.#ask((id) => ({ type: 'status', id }), STATUS_MS)) as MediaNodeStatus
  }

  async whip(request: WhipRequest): Promise<WhipReply> {
    return (await this.#ask((id) => ({ type: 'whip', id, request }), WHIP_MS)) as WhipReply
  }

  async #ask(message: (id: number) => HostMessage, withinMs: number): Promise<Answer> {
    if (!this.#available) throw new MediaUnavailableError('The media process is being started.')
    const id = this.#nextQuestion++
    const question = Promise.withResolvers<Answer>()
    this.#questions.set(id, question)
    const timer = setTimeout(() => {
      question.reject(new MediaUnavailableError(`The media process did not answer in ${withinMs / 1000} s.`))
    }, withinMs)
    this.#send(message(id))
    try {
      return await question.promise
    } finally {
      clearTimeout(timer)
      this.#questions.delete(id)
    }
  }

  onAvailability(listener: (available: boolean) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  onSilence(listener: (since: string | null) => void): () => void {
    this.#silenceListeners.add(listener)
    return () => this.#silenceListeners.delete(listener)
  }

  pid(): number | undefined {
    return this.#available ? this.#child.pid : undefined
  }

  async close(): Promise<void> {
    this.#closing = true
    clearTimeout(this.#respawn)
    this.#watchdog?.stop()
    const child = this.#child
    if (child.exitCode !== null || child.signalCode !== null) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => child.kill('SIGKILL'), CLOSE_MS)
      child.once('exit', () => {
        clearTimeout(timer)
        resolve()
      })
      if (this.#available) child.send({ type: 'close' } satisfies HostMessage, () => {})
      else child.kill('SIGKILL')
    })
  }

  #spawn(): ChildProcess {
    const { host, port, allowPrivateAddresses, limits, destinationCa, preview, rtmps, whip, env = {} } = this.#options
    const child = fork(ENTRY, [], {
      env: { ...MEMORY_ENV, ...COMPILE_CACHE_ENV, ...env },
      execArgv: [...MEMORY_FLAGS, ...TIERING_FLAGS],
      serialization: 'advanced',
      stdio: ['ignore', 2, 2, 'ipc'],
    })
    this.#child = child
    this.#startedAt = performance.now()
    child.on('message', (message) => this.#onMessage(child, message as ProcessMessage))
    // A failed send or kill: the exit that follows is what counts.
    child.on('error', (error) => this.#options.log.error({ error }, 'the media process cannot be reached'))
    child.once('exit', (code, signal) => this.#onExit(code, signal))
    const settings: MediaProcessSettings = {
      host,
      // Publishers come back to the port they know, also where a free one was asked for.
      port: this.#ports?.port ?? port,
      allowPrivateAddresses,
      ...(limits === undefined ? {} : { limits }),
      ...(destinationCa === undefined ? {} : { destinationCa }),
      ...(rtmps === undefined ? {} : { rtmps }),
      ...(preview === undefined ? {} : { preview }),
      ...(whip === undefined ? {} : { whip: { ...whip, port: this.#ports?.whipPort ?? whip.port } }),
    }
    child.send({ type: 'start', settings } satisfies HostMessage, () => {})
    this.#watchdog = this.#guard(child)
    return child
  }

  /** Ends a process that hangs: its exit is followed by the start of another one. */
  #guard(child: ChildProcess): Watchdog {
    const { log, watchdog: limits } = this.#options
    return new Watchdog({
      ...(limits && { limits }),
      ask: () => {
        if (child.connected) child.send({ type: 'ping' } satisfies HostMessage, () => {})
      },
      onSilence: (since) => {
        log.warn(
          { pid: child.pid, since },
          since === null ? 'the media process answers again' : 'the media process is silent',
        )
        for (const listener of this.#silenceListeners) listener(since)
      },
      onHang: () => {
        log.error({ pid: child.pid }, 'the media process hangs: it is killed and started again')
        child.kill('SIGKILL')
      },
    })
  }

  #send(message: HostMessage): void {
    if (this.#available && this.#child.connected) this.#child.send(message, () => {})
  }

  #onMessage(child: ChildProcess, message: ProcessMessage): void {
    this.#watchdog?.heard()
    switch (message.type) {
      case 'pong':
        return
      case 'ready':
        this.#onReady({ port: message.port, whipPort: message.whipPort })
        return
      case 'failed':
        this.#options.log.error({ reason: message.message }, 'the media process could not start')
        this.#ready.reject(new Error(`The media process could not start: ${message.message}`))
        return
      case 'event':
        this.#notePosition(message.event)
        this.#noteWorked(message.event)
        this.#options.onEvent(message.event)
        return
      case 'log':
        this.#options.log[message.level](message.fields, message.message)
        return
      case 'authorize':
        void this.#answer(child, message.id, message.request)
        return
      case 'status':
        this.#questions.get(message.id)?.resolve(message.status)
        return
      case 'whip':
        this.#questions.get(message.id)?.resolve(message.reply)
    }
  }

  async #answer(child: ChildProcess, id: number, request: PublishRequest): Promise<void> {
    const answer: HostMessage = { type: 'decision', id, decision: await this.#decide(request) }
    if (child.connected) child.send(answer, () => {})
  }

  /** Null when the host cannot decide: the publisher is refused, and comes again. */
  async #decide(request: PublishRequest): Promise<PublishDecision | null> {
    try {
      return await this.#watch.during(async (changed) => {
        const decision = await this.#options.authorizePublish(request)
        if (decision.allowed && !changed(decision.stream.streamId)) {
          this.#desired.set(decision.stream.streamId, decision.stream)
        }
        return decision
      })
    } catch (error) {
      this.#options.log.error({ error, path: request.path }, 'whether a publisher may send could not be decided')
      return null
    }
  }

  /** A process that is started again goes on with files where the one before was. */
  #notePosition(event: MediaEvent): void {
    if (event.type !== 'playout.moved') return
    const stream = this.#desired.get(event.streamId)
    const playout = stream?.playout
    if (stream === undefined || playout?.id !== event.playoutId || playout.cue !== event.cue) return
    const { item, ms } = event
    this.#desired.set(event.streamId, { ...stream, playout: { ...playout, item, ms } })
  }

  /** A process that is started again knows which keys have worked: their old sessions may still be held. */
  #noteWorked(event: MediaEvent): void {
    if (event.type !== 'destination.changed' || !event.destination.hasWorked) return
    const stream = this.#desired.get(event.streamId)
    const destination = stream?.destinations.find(({ id }) => id === event.destination.id)
    if (stream === undefined || destination === undefined || destination.hasWorked) return
    const destinations = stream.destinations.map((one) => (one === destination ? { ...one, hasWorked: true } : one))
    this.#desired.set(event.streamId, { ...stream, destinations })
  }

  #onReady(ports: MediaPorts): void {
    const restarted = this.#ports !== null
    this.#ports = ports
    this.#available = true
    for (const stream of this.#desired.values()) this.#send({ type: 'apply', stream })
    this.#ready.resolve(ports)
    if (restarted) for (const listener of this.#listeners) listener(true)
  }

  #onExit(code: number | null, signal: NodeJS.Signals | null): void {
    this.#watchdog?.stop()
    const wasAvailable = this.#available
    this.#available = false
    for (const { reject } of this.#questions.values()) reject(new MediaUnavailableError('The media process has ended.'))
    if (this.#closing) return
    this.#options.log.error({ exitCode: code, signal }, 'the media process ended')
    if (this.#ports === null) {
      this.#ready.reject(new Error(`The media process ended while it started (${signal ?? `code ${code}`}).`))
      return
    }
    if (wasAvailable) for (const listener of this.#listeners) listener(false)
    if (performance.now() - this.#startedAt >= STEADY_MS) this.#backoff.reset()
    this.#respawn = setTimeout(() => this.#spawn(), this.#backoff.next())
  }
}
