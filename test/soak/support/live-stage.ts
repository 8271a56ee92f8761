import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { startSink, type Sink } from '../../../media/testing/sink.ts'
import { processTree } from '../../bench/support/process.ts'
import { CrierProcess } from '../../support/crier-process.ts'
import type { SendOptions } from '../../support/send.ts'
import { waitFor } from '../../support/wait.ts'
import { EventStatuses } from './event-statuses.ts'

/** An armed stream of the soak test. */
export interface StagedStream {
  readonly name: string
  readonly id: string
  readonly streamKey: string
  readonly backupStreamKey: string
  readonly whipUrl: string
  readonly whipToken: string
  readonly sinks: Readonly<Record<string, Sink>>
}

/** The processes of a node that can be ended or stopped, and what their command lines contain. */
export const PROCESSES = {
  media: 'media/process/',
  whip: 'whip/child/',
  ffmpeg: 'ffmpeg',
} as const
export type ProcessName = keyof typeof PROCESSES

/** A Crier process with a user and their streams. */
export class LiveStage {
  readonly #folder: string
  readonly #sinks: Sink[] = []
  #crier: CrierProcess
  #token: string | undefined
  #workspaceId = ''
  #isClosed = false
  #events: EventStatuses | undefined

  private constructor(folder: string, crier: CrierProcess) {
    this.#folder = folder
    this.#crier = crier
  }

  static async start(): Promise<LiveStage> {
    const folder = await mkdtemp(join(tmpdir(), 'crier-soak-live-'))
    await mkdir(join(folder, 'crier'))
    const stage = new LiveStage(folder, await CrierProcess.start(join(folder, 'crier'), undefined, ENV))
    // Stopped processes would outlive a failed soak test.
    process.once('exit', () => stage.#killAll())
    await stage.#signUp()
    return stage
  }

  get rtmpPort(): number {
    return this.#crier.rtmpPort
  }

  get mainPid(): number {
    return this.#crier.pid
  }

  /** The path of a file in the soak test's folder. */
  path(name: string): string {
    return join(this.#folder, name)
  }

  /** The output of Crier since its last start. */
  get output(): string {
    return this.#crier.stdout + this.#crier.stderr
  }

  /** The ids of the running processes of a kind. */
  pids(name: ProcessName): number[] {
    return processTree(this.#crier.pid).filter((pid) => commandOf(pid).includes(PROCESSES[name]))
  }

  /** Calls an operation. @returns the data @throws Error when it is rejected */
  // oxlint-disable-next-line typescript/no-explicit-any -- replies have different shapes
  async call(route: string, options: SendOptions = {}): Promise<any> {
    const reply = await this.#crier.send(route, { token: this.#token, ...options })
    if (reply.status >= 300) throw new Error(`${route} returned ${reply.status}: ${reply.text}`)
    return reply.body.data
  }

  /** Creates a stream with this many destinations, recording and a slate, which goes live when media arrives. */
  async stream(name: string, destinations: number): Promise<StagedStream> {
    const sinks: Record<string, Sink> = {}
    const platforms: { platform: string; accountId: string }[] = []
    for (let index = 1; index <= destinations; index += 1) {
      const sink = await startSink()
      this.#sinks.push(sink)
      sinks[`${name} ${index}`] = sink
      const to = {
        name: `${name} ${index}`,
        url: `rtmp://127.0.0.1:${sink.port}/live`,
        streamKey: `key-${name}-${index}`,
      }
      const body = { workspaceId: this.#workspaceId, ...to }
      const { _id } = await this.call('POST /api/streams/rtmp-destinations', { body })
      platforms.push({ platform: 'custom', accountId: _id })
    }
    const settings = { record: true, slate: { mode: 'card' }, holdSeconds: 120 }
    const { _id: id } = await this.call('POST /api/streams', {
      body: { workspaceId: this.#workspaceId, title: name, platforms, ...settings },
    })
    const armed = await this.call('POST /api/streams/{id}/arm', { path: { id } })
    await this.call('POST /api/streams/{id}/go-live', { path: { id }, body: { waitForIngest: true } })
    return { ...armed, name, id, sinks }
  }

  /** Uploads a file to the media library and waits until it is inspected. @returns the id of its asset */
  async upload(path: string): Promise<string> {
    const file = { name: basename(path), content: new Uint8Array(await readFile(path)) }
    const { _id: id } = await this.call('POST /api/assets/upload', { body: { workspaceId: this.#workspaceId }, file })
    const isLookedAt = async () =>
      (await this.call('GET /api/assets/{id}', { path: { id } })).thumbnail.status !== 'pending'
    await waitFor(isLookedAt, { timeoutMs: 300_000, what: 'the file to be inspected' })
    return id
  }

  /** Requests the rendition that the playout of a file needs, and waits for it. */
  async prepare(assetId: string): Promise<void> {
    const at = { path: { id: assetId } }
    const { _id: id } = await this.call('POST /api/assets/{id}/renditions', { ...at, body: { preset: 'live' } })
    const isMade = async () => {
      const { renditions } = await this.call('GET /api/assets/{id}', at)
      const { error, status } = renditions.find((one: { _id: string }) => one._id === id)
      if (status === 'failed') throw new Error(`the file cannot be prepared: ${error}`)
      return status === 'ready'
    }
    await waitFor(isMade, { timeoutMs: 600_000, what: 'the file to be prepared' })
  }

  /** Follows the events of streams. */
  async listen(streams: readonly StagedStream[]): Promise<EventStatuses> {
    const events = new EventStatuses(this.#crier.url, this.#token!, this.#workspaceId)
    this.#events = events
    for (const { id } of streams) events.begin(id, await this.relay(id))
    return events
  }

  /** The relay status of a stream. */
  // oxlint-disable-next-line typescript/no-explicit-any -- replies have different shapes
  relay(id: string, signal?: AbortSignal): Promise<any> {
    return this.call('GET /api/streams/{id}/relay', { path: { id }, ...(signal && { signal }) })
  }

  /** Waits until a stream and all its destinations are live. */
  async untilLive({ id, name }: StagedStream, timeoutMs = 60_000): Promise<void> {
    const areLive = async () => {
      const { destinations, status } = await this.relay(id)
      return status === 'live' && destinations.every((one: { status: string }) => one.status === 'live')
    }
    await waitFor(areLive, { timeoutMs, what: `all destinations of ${name} to be live` })
  }

  /** Waits until the slate of the stream can be shown. */
  async untilSlate({ id, name }: StagedStream): Promise<void> {
    const isReady = async () => (await this.relay(id)).slate?.status === 'ready'
    await waitFor(isReady, { timeoutMs: 300_000, what: `the slate of ${name}` })
  }

  /** Kills all of Crier with SIGKILL and starts it on the same ports. */
  async restart(): Promise<void> {
    await this.#crier.kill()
    this.#crier = await CrierProcess.start(join(this.#folder, 'crier'), this.#crier.ports, ENV)
  }

  async close(): Promise<void> {
    this.#events?.close()
    await this.#crier.stop()
    this.#isClosed = true
    for (const sink of this.#sinks) await sink.close()
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 200 })
  }

  #killAll(): void {
    if (this.#isClosed) return
    for (const pid of processTree(this.#crier.pid)) process.kill(pid, 'SIGKILL')
  }

  async #signUp(): Promise<void> {
    const person = { email: 'ada@example.com', password: 'a long enough password' }
    await this.call('POST /api/auth/signup', { body: { ...person, name: 'Ada' } })
    const otp = await this.#crier.outbox.code(person.email)
    await this.call('POST /api/auth/verify-otp', { body: { email: person.email, otp } })
    this.#token = (await this.call('POST /api/auth/login', { body: person })).accessToken
    const workspace = await this.call('POST /api/workspaces', { body: { name: 'Acme', timezone: 'UTC' } })
    this.#workspaceId = workspace._id
  }
}

/** Replies are not checked, to save CPU time. */
const ENV = { CHECK_REPLIES: '0', RATE_LIMITS: '0', MALLOC_ARENA_MAX: '2' }

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ')
  } catch {
    // The process has exited in the meantime.
    return ''
  }
}
