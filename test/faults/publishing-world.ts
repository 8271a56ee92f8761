import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Pool } from 'pg'
import sharp from 'sharp'
import { runFfmpeg } from '../../media/testing/ffmpeg.ts'
import { systemClock } from '../../src/core/clock.ts'
import { startSandbox, type Sandbox } from '../../sandbox/sandbox.ts'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { send, type Reply, type SendOptions } from '../support/send.ts'
import { waitFor } from '../support/wait.ts'

const NODE = fileURLToPath(new URL('publishing-node.ts', import.meta.url))

export interface WorldOptions {
  readonly databaseUrl: string
  readonly redisUrl?: string
  /** Where the nodes write their log; nowhere when absent. */
  readonly logFile?: string
  /** Further settings of the nodes. */
  readonly env?: Readonly<Record<string, string>>
}

/** A target at the sandbox of one platform, as the API takes it. */
export interface WantedTarget {
  readonly accountId: string
  readonly override?: object
}

/**
 * Several nodes in separate processes, on one database, with one sandbox in this process. A balancer is not needed:
 * requests go to any node that runs.
 */
export class PublishingWorld {
  readonly sandbox: Sandbox
  readonly pool: Pool
  readonly #folder: string
  readonly #options: WorldOptions
  readonly #publicPort: number
  readonly #nodes = new Set<FarNode>()
  #apiKey = ''
  workspaceId = ''
  #image = ''
  #video = ''

  private constructor(options: WorldOptions, folder: string, sandbox: Sandbox, publicPort: number) {
    this.#options = options
    this.#folder = folder
    this.sandbox = sandbox
    this.#publicPort = publicPort
    this.pool = new Pool({ connectionString: options.databaseUrl, max: 4 })
    // Connections end when PostgreSQL does.
    this.pool.on('error', () => undefined)
  }

  static async start(options: WorldOptions): Promise<PublishingWorld> {
    const folder = await mkdtemp(join(tmpdir(), 'crier-publishing-'))
    const sandbox = await startSandbox({ clock: systemClock, host: '127.0.0.1', port: 0 })
    return new PublishingWorld(options, folder, sandbox, await freeLoopbackPort())
  }

  get nodes(): readonly FarNode[] {
    return [...this.#nodes]
  }

  async node(): Promise<FarNode> {
    const { databaseUrl, env, logFile, redisUrl } = this.#options
    const data = await mkdtemp(join(this.#folder, 'node-'))
    // The files of all nodes, in place of a bucket.
    const files = join(this.#folder, 'storage')
    await mkdir(files, { recursive: true })
    await symlink(files, join(data, 'storage'))
    const node = await FarNode.start({
      DATA_DIR: data,
      DATABASE_URL: databaseUrl,
      PUBLIC_URL: `http://127.0.0.1:${this.#publicPort}`,
      PLATFORM_SETTINGS: JSON.stringify(this.sandbox.settings),
      ...(redisUrl && { REDIS_URL: redisUrl }),
      ...(logFile && { LOG_FILE: logFile }),
      ...env,
    })
    this.#nodes.add(node)
    void node.ended.then(() => this.#nodes.delete(node))
    return node
  }

  /** Calls the API of any node, again while none answers. @throws Error unless the reply is a success */
  async call(route: string, options: SendOptions = {}): Promise<Reply['body']> {
    const reply = await waitFor(
      async () => {
        const [node] = this.nodes.toSorted(() => Math.random() - 0.5)
        const sent = await node?.send(route, { apiKey: this.#apiKey, ...options })
        return sent !== undefined && sent.status < 500 && sent.status !== 429 ? sent : undefined
      },
      { what: `a reply to ${route}` },
    )
    if (reply.status >= 300) throw new Error(`${route}: ${reply.text}`)
    return reply.body
  }

  /** A user on the largest plan with a workspace. */
  async seed(): Promise<void> {
    const body = { email: 'owner@example.com', password: 'correct horse battery staple', name: 'Owner' }
    const { user } = await this.call('POST /api/auth/signup', { body })
    this.#apiKey = user.apiKey
    await this.pool.query('update users set email_verified = true where id = $1', [user._id])
    await this.pool.query(`update subscriptions set plan = 'business' where user_id = $1`, [user._id])
    const made = await this.call('POST /api/workspaces', { body: { name: 'Publishing', timezone: 'UTC' } })
    this.workspaceId = made.data._id
  }

  /** A picture and a video for the platforms that require one. */
  async seedMedia(): Promise<void> {
    const photo = await sharp({ create: { width: 1_080, height: 1_080, channels: 3, background: '#336699' } })
      .jpeg()
      .toBuffer()
    const film = join(this.#folder, 'film.mp4')
    const source = 'color=c=blue:size=540x960:rate=30:duration=4'
    const sound = ['-f', 'lavfi', '-i', 'anullsrc=r=44100:cl=stereo', '-shortest', '-c:a', 'aac']
    await runFfmpeg('-f', 'lavfi', '-i', source, ...sound, '-c:v', 'libx264', '-pix_fmt', 'yuv420p', film)
    this.#image = await this.#upload('photo.jpeg', 'image/jpeg', new Uint8Array(photo))
    this.#video = await this.#upload('film.mp4', 'video/mp4', new Uint8Array(await readFile(film)))
  }

  async #upload(name: string, type: string, content: Uint8Array<ArrayBuffer>): Promise<string> {
    const { workspaceId } = this
    const file = { name, type, content }
    const { data } = await this.call('POST /api/assets/upload', { body: { workspaceId }, file })
    const id: string = data._id
    const isExamined = async () => {
      return (await this.call('GET /api/assets/{id}', { path: { id } })).data.thumbnail.status !== 'pending'
    }
    await waitFor(isExamined, { what: `${name} to be examined` })
    return id
  }

  async account(platform: string): Promise<string> {
    const body = { workspaceId: this.workspaceId, platform, sandbox: true }
    return (await this.call('POST /api/social-accounts', { body })).data._id
  }

  /** A new account with what a post at it needs. */
  async target(platform: string): Promise<WantedTarget> {
    const accountId = await this.account(platform)
    const override = await this.#overrideOf(platform, accountId)
    return { accountId, ...(override && { override }) }
  }

  async #overrideOf(platform: string, id: string): Promise<object | undefined> {
    const image = { media: [{ assetId: this.#image }] }
    const video = { media: [{ assetId: this.#video }] }
    if (platform === 'instagram') return image
    if (platform === 'tiktok') return { ...video, options: { privacy_level: 'SELF_ONLY' } }
    if (platform === 'youtube') return video
    if (platform === 'reddit') return { options: { subreddit: 'sandbox' } }
    if (platform !== 'pinterest') return undefined
    const { data } = await this.call('GET /api/social-accounts/pinterest/{id}/boards', { path: { id } })
    return { ...image, options: { board_id: data[0]?.remoteId } }
  }

  /** Schedules a post. @returns the ids of its targets */
  async post(body: object): Promise<{ _id: string; accountId: string; platform: string }[]> {
    const { data } = await this.call('POST /api/posts', { body: { workspaceId: this.workspaceId, ...body } })
    return data.targets
  }

  /** When the posts of a platform that contain a text were published, in milliseconds since the epoch. */
  publishedAt(platform: string, text: string): number[] {
    const posts = this.sandbox.fakes.get(platform)?.fake.posts() ?? []
    return posts.filter((post) => post.text.includes(text)).map(({ publishedAt }) => Date.parse(publishedAt))
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.kill()))
    await this.pool.end()
    await this.sandbox.close()
    await rm(this.#folder, { recursive: true, force: true })
  }
}

/** A node in a separate process. */
export class FarNode {
  readonly url: string
  readonly ended: Promise<unknown>
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, url: string) {
    this.#child = child
    this.url = url
    this.ended = once(child, 'exit')
  }

  static async start(env: Readonly<Record<string, string>>): Promise<FarNode> {
    const port = await freeLoopbackPort()
    const child = fork(NODE, {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      execArgv: [],
      env: {
        PATH: process.env['PATH'],
        NODE_COMPILE_CACHE: join(tmpdir(), 'crier-compile-cache'),
        HOST: '127.0.0.1',
        PORT: String(port),
        WHIP_PORT: '0',
        ADMIN_PORT: '0',
        ROLES: 'api,jobs',
        RATE_LIMITS: '0',
        DRAIN_SECONDS: '0',
        REDIS_PRIVATE: '0',
        SANDBOX: '0',
        ALLOW_PRIVATE_ADDRESSES: '1',
        MEDIA_NICENESS: '0',
        JWT_SECRET: 'what all nodes of a test have in common',
        ...env,
      },
    })
    const node = new FarNode(child, `http://127.0.0.1:${port}`)
    const isReady = await Promise.race([once(child, 'message').then(() => true), node.ended.then(() => false)])
    if (!isReady) throw new Error('a node ended while it started')
    return node
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  send(route: string, options: SendOptions = {}): Promise<Reply> {
    return send(this.url, route, options)
  }

  /** Freezes the process, or lets it go on. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    if (this.isRunning) this.#child.kill(name)
  }

  async kill(): Promise<void> {
    if (this.isRunning) this.#child.kill('SIGKILL')
    await this.ended
  }
}
