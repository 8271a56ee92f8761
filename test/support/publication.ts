import { Readable } from 'node:stream'
import { uuidv7 } from '../../src/tools/id.ts'
import { createLog } from '../../src/core/log.ts'
import type { Sql, SqlValue } from '../../src/core/sql.ts'
import type { TurnRunner } from '../../src/core/system-turn.ts'
import { ManualClock, SECOND } from '../../src/core/clock.ts'
import { LEASE } from '../../src/domains/publishing/publication/claims/lease.ts'
import type { MediaSources } from '../../src/domains/publishing/publication/attempts/media-source.ts'
import type { ProgressWrite } from '../../src/domains/publishing/publication/attempts/progress-ledger.ts'
import { Publisher } from '../../src/domains/publishing/publication/attempts/publisher.ts'
import { isFinal } from '../../src/domains/publishing/posts/state.ts'
import { postTargets, type TargetRow } from '../../src/domains/publishing/posts/tables.ts'
import type { LinkPages } from '../../src/platforms/link-card.ts'
import type { PublishPart } from '../../src/platforms/publishing.ts'
import type { Services } from '../../src/core/services.ts'
import { jobs } from '../../src/registry/jobs.ts'
import { startApp, type App } from './app.ts'
import { QUICK } from './jobs.ts'
import { PLAIN_PAGES } from './link-pages.ts'
import { seedUser, seedWorkspace, type SeededUser } from './seed.ts'

/** What a publisher is about to store, or has just stored. */
export type Write = 'step' | 'calling' | 'published' | 'other'

/** Where a worker is stopped: before or after its write number `count` of a sort. */
export interface Point {
  readonly when: 'before' | 'after'
  readonly write: Write
  /** Starts at 1. */
  readonly count: number
}

export interface Incident {
  readonly point: Point
  /** What happens there. Nothing that follows takes effect when it is `killed`. */
  readonly happens: () => Promise<'goes on' | 'killed'>
  /** The writes so far, if several attempts count together. */
  readonly counts?: Map<Write, number>
}

interface StageOptions {
  /** Further settings of the node. */
  readonly env?: Readonly<Record<string, string>>
  /** The time at which the clock stands at first. */
  readonly now?: number
  /** The clock of the platforms, if it is not that of the node. */
  readonly platformTime?: () => number
}

interface FinishOptions {
  /** Happens on the way. */
  readonly incident?: Incident
  /** When to stop before the end. */
  readonly until?: () => boolean
}

/** A node that publishes nothing by itself, with publishers that a test runs, stops and kills step by step. The clock stands still. */
export class PublicationStage {
  readonly app: App
  readonly clock: ManualClock
  readonly owner: SeededUser
  readonly workspaceId: string
  /** What publishers read of links. */
  pages: LinkPages = PLAIN_PAGES
  readonly #platformTime: () => number
  readonly #accounts = new Map<string, string>()
  /** The files that parts name. */
  readonly #files = new Map<string, Buffer>()

  private constructor(
    app: App,
    clock: ManualClock,
    owner: SeededUser,
    workspaceId: string,
    platformTime: () => number,
  ) {
    this.app = app
    this.clock = clock
    this.owner = owner
    this.workspaceId = workspaceId
    this.#platformTime = platformTime
  }

  static async start({ env, now = Date.parse('2026-11-30T08:00:00Z'), platformTime }: StageOptions = {}) {
    const clock = new ManualClock(now)
    // Tests do by themselves what these jobs do. A refresh in the background would take the faults of a publication.
    const isIdle = ({ name }: { readonly name: string }) => /^(posts|socialAccounts)\./.test(name)
    const idle = jobs.map((job) => (isIdle(job) ? { ...job, run: () => Promise.resolve() } : job))
    const app = await startApp({ clock, jobs: idle, jobTimes: QUICK, ...(env && { env }) })
    const owner = await seedUser(app, 'owner', { plan: 'business' })
    const workspaceId = await seedWorkspace(app, 'Publication', owner)
    return new PublicationStage(app, clock, owner, workspaceId, platformTime ?? (() => clock.now()))
  }

  get services(): Services {
    return this.app.composition.services
  }

  /** The account at a platform: that of `connect`, or else a new one at the sandbox. */
  async account(platform: string): Promise<string> {
    return this.#accounts.get(platform) ?? this.#connect({ platform, sandbox: true })
  }

  /** Connects a real account, which the targets of its platform then use. */
  connect(platform: string, credentials: Readonly<Record<string, string>>): Promise<string> {
    return this.#connect({ platform, credentials })
  }

  async #connect(account: { readonly platform: string; readonly [field: string]: unknown }): Promise<string> {
    const { apiKey } = this.owner
    const body = { workspaceId: this.workspaceId, ...account }
    const reply = await this.app.send('POST /api/social-accounts', { apiKey, body })
    if (reply.status !== 201) throw new Error(`no account at ${account.platform}: ${reply.text}`)
    const id: string = reply.body.data._id
    this.#accounts.set(account.platform, id)
    return id
  }

  /** A file for a part. @param content or its size */
  file(content: Buffer | number): string {
    const id = `file-${this.#files.size + 1}`
    this.#files.set(id, typeof content === 'number' ? Buffer.alloc(content, 7) : content)
    return id
  }

  /** A target that is due now, with these parts. */
  async target(platform: string, parts: readonly Omit<PublishPart, 'key' | 'createdAt'>[]): Promise<string> {
    const accountId = await this.account(platform)
    const reply = await this.app.send('POST /api/posts', {
      apiKey: this.owner.apiKey,
      body: { workspaceId: this.workspaceId, content: 'a post', targets: [{ accountId }], draft: true },
    })
    if (reply.status !== 201) throw new Error(`no post: ${reply.text}`)
    const id: string = reply.body.data.targets[0]._id
    const now = new Date(this.clock.now()).toISOString()
    const due = this.#platformTime()
    const { database } = this.app
    for (const [position, part] of parts.entries()) {
      const key = uuidv7(this.clock.now())
      await database.run(
        `insert into post_segments (id, workspace_id, target_id, position, status, part, updated_at)
         values ($1, $2, $3, $4, 'pending', $5, $6)`,
        [key, this.workspaceId, id, position, { ...part, key, createdAt: due }, now],
      )
    }
    const startBy = new Date(this.clock.now() + 86_000 * SECOND).toISOString()
    // Parts that were made for another time would be made again.
    const scheduledAt = new Date(due).toISOString()
    await postTargets.update(database, { id }, { status: 'scheduled', scheduledAt, startBy, plan: 1 })
    return id
  }

  async read(targetId: string): Promise<TargetRow> {
    const row = await postTargets.first(this.app.database, { id: targetId })
    if (row === undefined) throw new Error('the target is gone')
    return row
  }

  /**
   * Runs one attempt, with an optional incident. The attempt of a killed worker never ends, but this method returns.
   */
  async attempt(targetId: string, incident?: Incident): Promise<void> {
    const { database } = this.app
    const { socialAccounts, switches, turns } = this.services
    const killed = Promise.withResolvers<void>()
    const life = new Life(incident, () => killed.resolve())
    const publisher = new Publisher({
      sql: life.sql(database),
      clock: this.clock,
      switches,
      turns: life.turns(turns),
      calls: socialAccounts.calls,
      media: this.#media(),
      pages: this.pages,
      times: LEASE,
      random: () => 0.5,
      wait: (ms) => Promise.resolve(this.clock.advance(ms)),
    })
    const running = publisher.run({
      targetId,
      workspaceId: this.workspaceId,
      signal: new AbortController().signal,
      log: createLog({ level: 'silent' }),
    })
    await Promise.race([running, killed.promise])
  }

  /** Goes on with a target as the jobs and the watchdog do, until it has ended or waits for a user. */
  async finish(targetId: string, { incident, until }: FinishOptions = {}): Promise<TargetRow> {
    for (let attempts = 0; attempts < 100; attempts += 1) {
      const target = await this.read(targetId)
      if (isFinal(target.status) || until?.() === true) return target
      if (target.status === 'unconfirmed' && target.nextAttemptAt === null && target.attemptId === null) return target
      const due = Date.parse(target.leaseUntil ?? target.nextAttemptAt ?? target.scheduledAt ?? '')
      this.clock.advance(Math.max(0, due - this.clock.now()) + 1)
      await this.attempt(targetId, incident)
    }
    throw new Error(`the target does not end: ${JSON.stringify(await this.read(targetId))}`)
  }

  stop(): Promise<void> {
    return this.app.stop()
  }

  #media(): MediaSources {
    const read = (id: string, start: number, end: number) => {
      const content = this.#files.get(id)?.subarray(start, end) ?? Buffer.alloc(0)
      return Promise.resolve({ stream: Readable.from([content]), size: content.length })
    }
    // Fakes do not fetch: an address of this form tells them the type and the size of the file.
    const publicUrl = (id: string) =>
      Promise.resolve(`https://media.example/${id}?bytes=${this.#files.get(id)?.length}`)
    return { of: () => ({ read, publicUrl }) } as unknown as MediaSources
  }
}

/** The life of a worker: what it does after it was killed has no effect. */
class Life {
  readonly #incident: Incident | undefined
  readonly #onKilled: () => void
  readonly #counts: Map<Write, number>
  #isDead = false

  constructor(incident: Incident | undefined, onKilled: () => void) {
    this.#incident = incident
    this.#counts = incident?.counts ?? new Map<Write, number>()
    this.#onKilled = onKilled
  }

  sql(real: Sql): Sql {
    return {
      row: (text, values) => this.#alive(() => real.row(text, values)),
      run: (text, values) => this.#alive(() => real.run(text, values)),
      rows: <R extends object>(text: string, values?: readonly SqlValue[]) =>
        this.#alive(async () => {
          const write = writeOf(text, values)
          if (write === undefined) return real.rows<R>(text, values)
          const count = (this.#counts.get(write) ?? 0) + 1
          this.#counts.set(write, count)
          await this.#pass({ when: 'before', write, count })
          const written = await this.#alive(() => real.rows<R>(text, values))
          await this.#pass({ when: 'after', write, count })
          return written
        }),
    }
  }

  turns(real: TurnRunner): TurnRunner {
    return { system: (workspaceId, turn, input) => this.#alive(() => real.system(workspaceId, turn, input)) }
  }

  async #pass(here: Point): Promise<void> {
    const point = this.#incident?.point
    if (point?.when !== here.when || point.write !== here.write || point.count !== here.count) return
    if ((await this.#incident?.happens()) !== 'killed') return
    this.#isDead = true
    this.#onKilled()
    await new Promise(() => undefined)
  }

  #alive<T>(work: () => Promise<T>): Promise<T> {
    return this.#isDead ? new Promise(() => undefined) : work()
  }
}

/** What a statement of the ledger of progress writes. A stage makes one attempt at a time. */
function writeOf(text: string, values: readonly SqlValue[] = []): Write | undefined {
  if (!text.includes('update post_segments')) return undefined
  const [write] = JSON.parse(values[0] as string) as ProgressWrite[]
  const { state, status } = write?.change ?? {}
  if (status === 'calling' || status === 'published') return status
  return state !== undefined && status === undefined ? 'step' : 'other'
}
