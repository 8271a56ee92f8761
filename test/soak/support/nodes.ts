import { join } from 'node:path'
import { freeLoopbackPort } from '../../../src/setup/free-port.ts'
import { start, type Running } from '../../bench/support/process.ts'

const MAIN = new URL('../../../src/main.ts', import.meta.url).pathname

/** The nodes of one installation, as processes that are killed and restarted. */
export class Nodes {
  readonly #env: Readonly<Record<string, string>>
  readonly #folder: string
  readonly #ports: number[] = []
  readonly #running: (Running | undefined)[] = []
  #turn = 0
  kills = 0

  private constructor(folder: string, env: Readonly<Record<string, string>>) {
    this.#folder = folder
    this.#env = env
  }

  static async start(count: number, folder: string, env: Readonly<Record<string, string>>): Promise<Nodes> {
    const nodes = new Nodes(folder, env)
    for (let index = 0; index < count; index += 1) {
      nodes.#ports.push(await freeLoopbackPort())
      await nodes.startOne(index)
    }
    return nodes
  }

  get count(): number {
    return this.#ports.length
  }

  /** The URL of a running node, in rotation. */
  url(): string {
    this.#turn += 1
    const alive = this.#ports.filter((_, index) => this.#running[index] !== undefined)
    return `http://127.0.0.1:${alive[this.#turn % alive.length] ?? this.#ports[0]}`
  }

  async startOne(index: number): Promise<void> {
    this.#running[index] = await start([MAIN], /crier ready/, {
      ...this.#env,
      HOST: '127.0.0.1',
      PORT: String(this.#ports[index]),
      ADMIN_PORT: '0',
      ROLES: 'api',
      DATA_DIR: join(this.#folder, `node-${index}`),
    })
  }

  /** Ends a node with SIGKILL or SIGTERM, at random. */
  async end(index: number): Promise<'SIGKILL' | 'SIGTERM'> {
    const running = this.#running[index]
    const signal = Math.random() < 0.5 ? 'SIGKILL' : 'SIGTERM'
    if (running === undefined) return signal
    this.#running[index] = undefined
    this.kills += 1
    const gone = new Promise((resolve) => running.child.once('exit', resolve))
    running.child.kill(signal)
    await gone
    return signal
  }

  async stop(): Promise<void> {
    const stopping = this.#running.filter((running) => running !== undefined)
    await Promise.all(stopping.map((running) => running.stop()))
  }
}
