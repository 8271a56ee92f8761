import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'pg'
import type { Reply, SendOptions } from '../support/send.ts'
import { waitFor } from '../support/wait.ts'
import { FarNode } from './publishing-world.ts'

/** Whether the same request may have another reply later. */
function isTemporary({ body, status }: Reply): boolean {
  return status >= 500 || status === 429 || body.code === 'idempotency_key_in_use'
}

/** A node that starts again whenever it is killed, and whose callers wait for it. */
export class AiNode {
  readonly pool: Pool
  readonly #env: Readonly<Record<string, string>>
  readonly #folder: string
  #node: FarNode | undefined
  #isStopped = false
  #starting: Promise<void>
  kills = 0

  private constructor(env: Readonly<Record<string, string>>, folder: string) {
    this.#env = { ...env, DATA_DIR: folder }
    this.#folder = folder
    this.pool = new Pool({ connectionString: env['DATABASE_URL'], max: 4 })
    this.pool.on('error', () => undefined)
    this.#starting = this.#start()
  }

  /** @param modelUrl of an OpenAI-compatible API */
  static async start(databaseUrl: string, modelUrl: string): Promise<AiNode> {
    const folder = await mkdtemp(join(tmpdir(), 'crier-ai-'))
    const times = { pollMs: 300, sweepMs: 1_000, graceMs: 2_000, schedulesAfterMs: 0, lockMs: 5_000, stalledMs: 1_000 }
    const node = new AiNode(
      {
        DATABASE_URL: databaseUrl,
        AI_BASE_URL: `${modelUrl}/v1`,
        AI_MODELS: 'small',
        AI_TRANSCRIPTION_MODEL: 'ear',
        SANDBOX: '1',
        SANDBOX_PORT: '0',
        JOB_TIMES: JSON.stringify(times),
      },
      folder,
    )
    await node.#starting
    return node
  }

  /** Calls the API, and again after a connection was lost or the node has a fault. */
  async call(route: string, options: SendOptions = {}): Promise<Reply> {
    return waitFor(
      async () => {
        const reply = await this.#node?.send(route, options)
        return reply === undefined || isTemporary(reply) ? undefined : reply
      },
      { what: `a reply to ${route}`, timeoutMs: 120_000, intervalMs: 100 },
    )
  }

  /** Ends the node (SIGKILL). Another one starts in its place. */
  kill(): void {
    if (this.#node === undefined || this.#isStopped) return
    const node = this.#node
    this.#node = undefined
    this.kills += 1
    this.#starting = node.kill().then(() => this.#start())
  }

  async stop(): Promise<void> {
    await this.#starting
    this.#isStopped = true
    await this.#node?.kill()
    await this.pool.end()
    await rm(this.#folder, { recursive: true, force: true })
  }

  async #start(): Promise<void> {
    this.#node = await FarNode.start(this.#env)
  }
}
