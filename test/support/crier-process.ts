import { spawn, type ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { Outbox } from './outbox.ts'
import { send, type Reply, type SendOptions } from './send.ts'
import { waitFor } from './wait.ts'

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/** The first start makes a database, which takes over a minute when many other processes want the processors. */
export const START_MS = 200_000

/** The user that a process runs as. */
export interface PlainUser {
  readonly uid: number
  readonly gid: number
}

/** Crier as an operator starts it, in a separate process and folder. */
export class CrierProcess {
  readonly url: string
  readonly rtmpPort: number
  readonly outbox: Outbox
  readonly #child: ChildProcess
  readonly #ended: Promise<void>
  /** Its standard output, such as the banner. */
  stdout = ''
  stderr = ''

  private constructor(
    folder: string,
    ports: { http: number; rtmp: number },
    env: Readonly<Record<string, string>>,
    main: string,
    user: PlainUser | undefined,
  ) {
    this.url = `http://localhost:${ports.http}`
    this.rtmpPort = ports.rtmp
    this.outbox = new Outbox(join(folder, 'data', 'outbox'))
    this.#child = spawn(process.execPath, [main], {
      cwd: folder,
      ...user,
      env: {
        PATH: process.env['PATH'] ?? '',
        PORT: String(ports.http),
        RTMP_PORT: String(ports.rtmp),
        ADMIN_PORT: '0',
        DRAIN_SECONDS: '0',
        ALLOW_PRIVATE_ADDRESSES: '1',
        CHECK_REPLIES: '1',
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child.stdout?.on('data', (bytes: Buffer) => (this.stdout += bytes.toString()))
    this.#child.stderr?.on('data', (bytes: Buffer) => (this.stderr += bytes.toString()))
    this.#ended = new Promise((resolve) => this.#child.once('exit', () => resolve()))
  }

  /**
   * Starts it and waits until it reports that it is ready.
   * @param main the main file of another build
   * @param user another user to run as, when this one is root
   * @throws Error with its output, when it exits instead
   */
  static async start(
    folder: string,
    ports?: { http: number; rtmp: number },
    env = {},
    main = MAIN,
    user?: PlainUser,
  ): Promise<CrierProcess> {
    const crier = new CrierProcess(
      folder,
      ports ?? { http: await freeLoopbackPort(), rtmp: await freeLoopbackPort() },
      env,
      main,
      user,
    )
    const hasEnded = () => crier.#child.exitCode !== null
    await waitFor(() => hasEnded() || crier.stdout.includes('crier ready'), {
      timeoutMs: START_MS,
      what: 'crier to be ready',
    })
    if (hasEnded()) throw new Error(`crier ended: ${crier.stderr}`)
    return crier
  }

  get ports(): { http: number; rtmp: number } {
    return { http: Number(new URL(this.url).port), rtmp: this.rtmpPort }
  }

  send(route: string, options: SendOptions = {}): Promise<Reply> {
    return send(this.url, route, options)
  }

  /** The id of its main process. */
  get pid(): number {
    return this.#child.pid as number
  }

  /** The id of the media process, found in /proc. */
  mediaPid(): number | undefined {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .find((pid) => parentOf(pid) === this.#child.pid && commandOf(pid).includes('media/process'))
  }

  /** Kills it with SIGKILL, without draining. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended
  }

  /** Sends SIGTERM and waits for the exit. @returns the exit code */
  async stop(): Promise<number | null> {
    this.#child.kill('SIGTERM')
    await this.#ended
    return this.#child.exitCode
  }
}

function parentOf(pid: number): number | undefined {
  try {
    return Number(/\) \S (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1])
  } catch {
    return undefined
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}
