import { ManualClock } from '../../src/core/clock.ts'
import type { PostData } from '../../src/domains/publishing/posts/schemas.ts'
import { startApp, type App } from './app.ts'
import { QUICK } from './jobs.ts'
import { PIXEL } from './pixel.ts'
import { sandboxPosts, type SandboxPost } from './sandbox-faults.ts'
import { seedUser, seedWorkspace, type SeededUser } from './seed.ts'
import type { Reply, SendOptions } from './send.ts'
import { waitFor } from './wait.ts'

/** A server with a workspace, sandbox accounts and posts. */
export class PostWorld {
  readonly app: App
  readonly clock: ManualClock
  readonly owner: SeededUser
  readonly workspaceId: string
  readonly #accounts = new Map<string, string>()

  constructor(parts: { app: App; clock: ManualClock; owner: SeededUser; workspaceId: string }) {
    this.app = parts.app
    this.clock = parts.clock
    this.owner = parts.owner
    this.workspaceId = parts.workspaceId
  }

  static async start(name: string, now = '2026-11-30T08:00:00Z', env: Record<string, string> = {}): Promise<PostWorld> {
    const clock = new ManualClock(Date.parse(now))
    const app = await startApp({ clock, jobTimes: QUICK, env })
    const owner = await seedUser(app, `${name}-owner`, { plan: 'business' })
    const workspaceId = await seedWorkspace(app, name, owner)
    return new PostWorld({ app, clock, owner, workspaceId })
  }

  stop(): Promise<void> {
    return this.app.stop()
  }

  /** Calls the API as the owner of the workspace. */
  send(route: string, options: SendOptions = {}): Promise<Reply> {
    return this.app.send(route, { apiKey: this.owner.apiKey, ...options })
  }

  /** Calls an operation on a post. @param verb the end of its path, such as `cancel` or `GET comments`; POST by default */
  on(id: string, verb: string, options: SendOptions = {}): Promise<Reply> {
    const [method, rest = ''] = verb.includes(' ') ? verb.split(' ') : ['POST', verb]
    const route = `${method} /api/posts/{id}${rest === '' ? '' : `/${rest}`}`
    return this.send(route, { ...options, path: { id, ...options.path } })
  }

  /** An account at the sandbox of a platform. The same key returns the same account. */
  async account(platform = 'mastodon', key = platform): Promise<string> {
    const known = this.#accounts.get(key)
    if (known !== undefined) return known
    const body = { workspaceId: this.workspaceId, platform, sandbox: true }
    const { data } = expectStatus(await this.send('POST /api/social-accounts', { body }), 201)
    this.#accounts.set(key, data._id)
    return data._id
  }

  /** A picture in the media library. */
  async picture(): Promise<string> {
    const file = { name: 'stage.png', content: PIXEL, type: 'image/png' }
    const reply = await this.send('POST /api/assets/upload', { body: { workspaceId: this.workspaceId }, file })
    return expectStatus(reply, 201).data._id
  }

  async create(body: object): Promise<PostData> {
    const reply = await this.send('POST /api/posts', { body: { workspaceId: this.workspaceId, ...body } })
    return expectStatus(reply, 201).data
  }

  async get(id: string): Promise<PostData> {
    return (await this.on(id, 'GET ')).body.data
  }

  /** A time after now, as the API takes it. */
  later(ms: number): string {
    return new Date(this.clock.now() + ms).toISOString()
  }

  /** Waits until a post has a status. */
  ended(id: string, status: string): Promise<PostData> {
    return this.until(id, (post) => post.status === status)
  }

  async until(id: string, isReached: (post: PostData) => boolean): Promise<PostData> {
    return waitFor(async () => {
      const post = await this.get(id)
      if (isReached(post)) return post
      throw new Error(`the post is ${JSON.stringify(post)}`)
    })
  }

  /** Lets time pass until a post has reached something. */
  passing(id: string, isReached: (post: PostData) => boolean): Promise<PostData> {
    return this.until(id, (post) => {
      if (isReached(post)) return true
      this.clock.advance(10_000)
      return false
    })
  }

  /**
   * Lets time pass until a post does not exist any more. It passes slowly during an attempt, which would otherwise outlive
   * its lease on a busy machine, like every attempt after it.
   */
  async gone(id: string): Promise<void> {
    const running = 'select target_id from post_remote_changes where post_id = $1 and attempt_id is not null'
    await waitFor(async () => {
      const { body, status } = await this.on(id, 'GET ')
      if (status === 404) return true
      this.clock.advance((await this.app.database.row(running, [id])) === undefined ? 10_000 : 100)
      throw new Error(`the post is ${JSON.stringify(body)}`)
    })
  }

  /** What was published at a sandbox with a text. */
  async published(text: string, platform = 'mastodon'): Promise<SandboxPost[]> {
    return (await sandboxPosts(this.app, platform)).filter((post) => post.text.includes(text))
  }
}

/** The body of a reply with this status. @throws Error with the reply otherwise */
export function expectStatus({ body, status, text }: Reply, expected: number): Reply['body'] {
  if (status !== expected) throw new Error(`${status} instead of ${expected}: ${text}`)
  return body
}
