import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { ChangeTracker } from '../change-tracker.ts'
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

/** The media process does not answer, because it is restarting or hangs. */
export class MediaUnavailableError extends Error {
  override readonly name = 'MediaUnavailableError'
}

export interface MediaProcessOptions extends MediaProcessSettings {
  readonly authorizePublish: MediaNodeOptions['authorizePublish']
  readonly onEvent: MediaNodeOptions['onEvent']
  readonly log: MediaNodeOptions['log']
  /** When a process that does not answer is killed. For tests. */
  readonly watchdog?: WatchdogLimits
  /** Added to the environment of the process, which does not inherit the host's. */
  readonly env?: Readonly<Record<string, string>>
}

export interface MediaPorts {
  readonly port: number
  /** UDP. Null without WHIP. */
  readonly whipPort: number | null
}

/** A media node in a child process, which is restarted when it ends. */
export interface MediaHost {
  /** Resolves with the ports when the process listens. Rejects when the first start fails. Later starts are retried forever. */
  readonly ready: Promise<MediaPorts>
  apply(stream: DesiredStream): void
  remove(streamId: string): void
  retry(streamId: string, destinationId: string): void
  /** @throws MediaUnavailableError when there is no answer within 2 s */
  status(): Promise<MediaNodeStatus>
  /** Handles a request of a WHIP client. @throws MediaUnavailableError when there is no answer in time */
  whip(request: WhipRequest): Promise<WhipReply>
  /**
   * Calls `listener` with false when the process ends, and with true when a new one listens and has got the desired
   * states. All publishers are disconnected in between. Returns a function that removes the listener.
   */
  onAvailability(listener: (available: boolean) => void): () => void
  /**
   * Calls `listener` with the time of the last answer (ISO 8601) when the process stops answering, and with null when it
   * answers again. A process that stays unresponsive is killed and restarted ({@link onAvailability}). Returns a function
   * that removes the listener.
   */
  onUnresponsive(listener: (since: string | null) => void): () => void
  pid(): number | undefined
  /** Drains the process, then ends it. */
  close(): Promise<void>
}

type Reply = MediaNodeStatus | WhipReply

const ENTRY = fileURLToPath(new URL('main.ts', import.meta.url))
/**
 * A relay's garbage is mostly buffers outside the V8 heap. V8 sizes its initial old space by the small heap and would run
 * a full collection every second, which takes a quarter of the CPU time with 100 outputs.
 */
export const MEMORY_FLAGS = ['--initial-old-space-size=48', '--max-semi-space-size=2']
/**
 * V8 optimizes a function after some thousand calls. A live stream calls its functions about eighty times a second, so
 * without these flags it uses a fifth more CPU time in the first minutes.
 */
const TIERING_FLAGS = ['--invocation-count-for-maglev=100', '--invocation-count-for-turbofan=1000']
/** One malloc arena instead of one per thread reduces fragmentation: 132 MB resident instead of 165 MB. */
const MEMORY_ENV = { MALLOC_ARENA_MAX: '1' }
/** Reuses the code that an earlier start compiled. Takes a fifth less memory than compiling it again. */
const COMPILE_CACHE_ENV = {
  NODE_COMPILE_CACHE: fileURLToPath(new URL('../../node_modules/.cache/node-compile', import.meta.url)),
}
const STATUS_MS = 2_000
/** Longer than authorizing a publisher and creating an SDP answer may take. */
const WHIP_MS = 12_000
const CLOSE_MS = 8_000
const RESTART_BACKOFF = { baseMs: 200, maxMs: 10_000 }
/** After a process has run for this long, the back-off starts again from the beginning. */
const STABLE_MS = 30_000

/** Starts the media process and keeps it running until {@link MediaHost.close}. */
export function startMediaProcess(options: MediaProcessOptions): MediaHost {
  return new ProcessHost(options)
}

class ProcessHost implements MediaHost {
  readonly ready: Promise<MediaPorts>
  readonly #options: MediaProcessOptions
  readonly #ready = Promise.withResolvers<MediaPorts>()
  readonly #desired = new Map<string, DesiredStream>()
  readonly #changes = new ChangeTracker()
  readonly #requests = new Map<number, PromiseWithResolvers<Reply>>()
  readonly #availabilityListeners = new Set<(available: boolean) => void>()
  readonly #unresponsiveListeners = new Set<(since: string | null) => void>()
  readonly #backoff = new Backoff(RESTART_BACKOFF)
  #child: ChildProcess
  #watchdog: Watchdog | undefined
  #ports: MediaPorts | null = null
  #available = false
  #closing = false
  #nextId = 1
  #startedAt = 0
  #restartTimer: NodeJS.Timeout | undefined

  constructor(options: MediaProcessOptions) {
    this.#options = options
    this.ready = this.#ready.promise
    this.#child = this.#spawn()
  }

  apply(stream: DesiredStream): void {
    this.#changes.changed(stream.streamId)
    this.#desired.set(stream.streamId, stream)
    this.#send({ type: 'apply', stream })
  }

  remove(streamId: string): void {
    this.#changes.changed(streamId)
    this.#desired.delete(streamId)
    this.#send({ type: 'remove', streamId })
  }

  retry(streamId: string, destinationId: string): void {
    this.#send({ type: 'retry', streamId, destinationId })
  }

  async status(): Promise<MediaNodeStatus> {
    return (await this.#request((id) => ({ type: 'status', id }), STATUS_MS)) as MediaNodeStatus
  }

  async whip(request: WhipRequest): Promise<WhipReply> {
    return (await this.#request((id) => ({ type: 'whip', id, request }), WHIP_MS)) as WhipReply
  }

  async #request(message: (id: number) => HostMessage, timeoutMs: number): Promise<Reply> {
    if (!this.#available) throw new MediaUnavailableError('The media process is starting.')
    const id = this.#nextId++
    const pending = Promise.withResolvers<Reply>()
    this.#requests.set(id, pending)
    const timer = setTimeout(() => {
      pending.reject(new MediaUnavailableError(`The media process did not answer within ${timeoutMs / 1000} s.`))
    }, timeoutMs)
    this.#send(message(id))
    try {
      return await pending.promise
    } finally {
      clearTimeout(timer)
      this.#requests.delete(id)
    }
  }

  onAvailability(listener: (available: boolean) => void): () => void {
    this.#availabilityListeners.add(listener)
    return () => this.#availabilityListeners.delete(listener)
  }

  onUnresponsive(listener: (since: string | null) => void): () => void {
    this.#unresponsiveListeners.add(listener)
    return () => this.#unresponsiveListeners.delete(listener)
  }

  pid(): number | undefined {
    return this.#available ? this.#child.pid : undefined
  }

  async close(): Promise<void> {
    this.#closing = true
    clearTimeout(this.#restartTimer)
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
    // A send or kill failed. The exit that follows starts a new process.
    child.on('error', (error) => this.#options.log.error({ error }, 'a message or signal to the media process failed'))
    child.once('exit', (code, signal) => this.#onExit(code, signal))
    const settings: MediaProcessSettings = {
      host,
      // The same port as before, also with port 0, because publishers reconnect to it.
      port: this.#ports?.port ?? port,
      allowPrivateAddresses,
      ...(limits === undefined ? {} : { limits }),
      ...(destinationCa === undefined ? {} : { destinationCa }),
      ...(rtmps === undefined ? {} : { rtmps }),
      ...(preview === undefined ? {} : { preview }),
      ...(whip === undefined ? {} : { whip: { ...whip, port: this.#ports?.whipPort ?? whip.port } }),
    }
    child.send({ type: 'start', settings } satisfies HostMessage, () => {})
    this.#watchdog = this.#startWatchdog(child)
    return child
  }

  /** Kills the process when it hangs. Its exit starts a new one. */
  #startWatchdog(child: ChildProcess): Watchdog {
    const { log, watchdog: limits } = this.#options
    return new Watchdog({
      ...(limits && { limits }),
      ping: () => {
        if (child.connected) child.send({ type: 'ping' } satisfies HostMessage, () => {})
      },
      onUnresponsive: (since) => {
        log.warn(
          { pid: child.pid, since },
          since === null ? 'the media process answers again' : 'the media process does not answer',
        )
        for (const listener of this.#unresponsiveListeners) listener(since)
      },
      onHang: () => {
        log.error({ pid: child.pid }, 'the media process hangs and is killed')
        child.kill('SIGKILL')
      },
    })
  }

  #send(message: HostMessage): void {
    if (this.#available && this.#child.connected) this.#child.send(message, () => {})
  }

  #onMessage(child: ChildProcess, message: ProcessMessage): void {
    this.#watchdog?.noteMessage()
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
        void this.#authorize(child, message.id, message.request)
        return
      case 'status':
        this.#requests.get(message.id)?.resolve(message.status)
        return
      case 'whip':
        this.#requests.get(message.id)?.resolve(message.reply)
    }
  }

  async #authorize(child: ChildProcess, id: number, request: PublishRequest): Promise<void> {
    const reply: HostMessage = { type: 'decision', id, decision: await this.#decide(request) }
    if (child.connected) child.send(reply, () => {})
  }

  /** Null when the host cannot decide. The publisher is then refused and can try again. */
  async #decide(request: PublishRequest): Promise<PublishDecision | null> {
    try {
      return await this.#changes.during(async (changed) => {
        const decision = await this.#options.authorizePublish(request)
        if (decision.allowed && !changed(decision.stream.streamId)) {
          this.#desired.set(decision.stream.streamId, decision.stream)
        }
        return decision
      })
    } catch (error) {
      this.#options.log.error({ error, path: request.path }, 'the authorization of a publisher failed')
      return null
    }
  }

  /** Stores the position of playout, so that a restarted process continues there. */
  #notePosition(event: MediaEvent): void {
    if (event.type !== 'playout.moved') return
    const stream = this.#desired.get(event.streamId)
    const playout = stream?.playout
    if (stream === undefined || playout?.id !== event.playoutId || playout.cue !== event.cue) return
    const { item, ms } = event
    this.#desired.set(event.streamId, { ...stream, playout: { ...playout, item, ms } })
  }

  /** Stores which keys have worked. After a restart a server may refuse them while it keeps the old session. */
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
    if (restarted) for (const listener of this.#availabilityListeners) listener(true)
  }

  #onExit(code: number | null, signal: NodeJS.Signals | null): void {
    this.#watchdog?.stop()
    const wasAvailable = this.#available
    this.#available = false
    for (const { reject } of this.#requests.values()) reject(new MediaUnavailableError('The media process has ended.'))
    if (this.#closing) return
    this.#options.log.error({ exitCode: code, signal }, 'the media process ended')
    if (this.#ports === null) {
      this.#ready.reject(new Error(`The media process ended during its start (${signal ?? `code ${code}`}).`))
      return
    }
    if (wasAvailable) for (const listener of this.#availabilityListeners) listener(false)
    if (performance.now() - this.#startedAt >= STABLE_MS) this.#backoff.reset()
    this.#restartTimer = setTimeout(() => this.#spawn(), this.#backoff.next())
  }
}
