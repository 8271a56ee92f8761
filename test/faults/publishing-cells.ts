import { expect } from 'vitest'
import { HOUR, SECOND } from '../../src/core/clock.ts'
import { LEASE } from '../../src/domains/publishing/publication/claims/lease.ts'
import { isFinal } from '../../src/domains/publishing/posts/state.ts'
import type { TargetRow } from '../../src/domains/publishing/posts/tables.ts'
import type { PostMedia } from '../../src/platforms/content.ts'
import type { PublishPart } from '../../src/platforms/publishing.ts'
import { PLATFORMS } from '../../src/platforms/registry.ts'
import { effectiveLimits, numberOf } from '../../src/platforms/rules/limits.ts'
import type { Fault } from '../../sandbox/faults.ts'
import type { Incident, Point, PublicationStage } from '../support/publication.ts'

/** Each step of a publication × each fault: one cell of the matrix of `publishing-matrix.test.ts`. */

const NETWORK: Readonly<Record<string, Pick<Fault, 'kind' | 'status'>>> = {
  'a connection that is cut': { kind: 'refuse' },
  'a lost reply': { kind: 'cut' },
  'a reply that is cut': { kind: 'cut_body' },
  '503 after acceptance': { kind: 'status_after', status: 503 },
  '503': { kind: 'status', status: 503 },
}

const PROCESS: readonly string[] = ['a killed worker', 'a frozen worker']
const ALL: readonly string[] = [...PROCESS, ...Object.keys(NETWORK)]

interface Step {
  readonly name: string
  readonly shape: keyof Shapes
  /** Where the worker is in its writes. */
  readonly point: Point
  readonly faults: readonly string[]
}

const STEPS: readonly Step[] = [
  { name: 'before the call', shape: 'one', point: { when: 'before', write: 'calling', count: 1 }, faults: PROCESS },
  { name: 'during the call', shape: 'one', point: { when: 'after', write: 'calling', count: 1 }, faults: ALL },
  { name: 'after acceptance', shape: 'one', point: { when: 'before', write: 'published', count: 1 }, faults: PROCESS },
  { name: 'between two parts', shape: 'two', point: { when: 'after', write: 'published', count: 1 }, faults: PROCESS },
  { name: 'in the second part', shape: 'two', point: { when: 'after', write: 'calling', count: 2 }, faults: ALL },
  {
    name: 'after acceptance of the second part',
    shape: 'two',
    point: { when: 'before', write: 'published', count: 2 },
    faults: PROCESS,
  },
  {
    name: 'in the first step of an upload',
    shape: 'media',
    point: { when: 'after', write: 'step', count: 1 },
    faults: ALL,
  },
  {
    name: 'after acceptance of the first step of an upload',
    shape: 'media',
    point: { when: 'before', write: 'step', count: 2 },
    faults: PROCESS,
  },
  {
    name: 'in the second step of an upload',
    shape: 'media',
    point: { when: 'after', write: 'step', count: 2 },
    faults: ALL,
  },
  {
    name: 'in the call after an upload',
    shape: 'media',
    point: { when: 'after', write: 'calling', count: 1 },
    faults: ALL,
  },
]

export interface Cell extends Omit<Step, 'faults'> {
  readonly fault: string
}

/** All cells of a column. */
const CELLS: readonly Cell[] = STEPS.flatMap(({ faults, ...step }) => faults.map((fault): Cell => ({ ...step, fault })))

/** `npm run faults:publishing` checks all cells. */
const IS_WHOLE = process.env['FAULT_CELLS'] === 'all'

/** Every `share`-th cell, with an offset that depends on the column. All cells if the whole matrix is wanted. */
export function cellsOf(column: number, share: number): readonly Cell[] {
  return IS_WHOLE ? CELLS : CELLS.filter((_cell, index) => (index + column) % share === 0)
}

/** The same for a column whose posts set options: the steps of one part, and those of an upload if they have a file. */
export function cellsOfVariant({ media }: Variant, column: number, share: number): readonly Cell[] {
  const shapes = media === undefined ? ['one'] : ['one', 'media']
  return cellsOf(column, share).filter(({ shape }) => shapes.includes(shape))
}

type Options = Readonly<Record<string, unknown>>

/** What the options of a variant can name. */
interface Places {
  /** The first value that the account can choose of an option. */
  readonly choice: (option: string) => Promise<string>
  /** The id of another post of the account. */
  readonly post: () => Promise<string>
}

/** A sort of posts that options make: polls, stories, drafts, quotes. */
export interface Variant {
  readonly platform: string
  readonly name: string
  readonly media?: 'image' | 'video'
  readonly options: Options | ((places: Places) => Promise<Options>)
  /** Whether the platform gets no text, so that its posts are counted instead. */
  readonly isTextless?: boolean
  /** Milliseconds between two posts, if the platform limits them by the day. */
  readonly pauseMs?: number
  /** The reason that a published post has. */
  readonly note?: string
}

/** What a post consists of. */
interface Shape {
  readonly media?: 'image' | 'video'
  readonly roles: readonly PublishPart['role'][]
}

interface Shapes {
  /** The simplest post. */
  readonly one: Shape
  /** A post with a first comment, or else with a reply. Some platforms have neither. */
  readonly two: Shape | undefined
  readonly media: Shape
}

type Part = Omit<PublishPart, 'key' | 'createdAt'>
type File = Omit<PostMedia, 'id' | 'bytes'> & { readonly content: Buffer | number }

/** Options that a platform requires. */
const OPTIONS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  reddit: { subreddit: 'sandbox' },
  tiktok: { privacy_level: 'SELF_ONLY' },
}
/** The option that names a place of the account. */
const PLACES: Readonly<Record<string, string>> = { pinterest: 'board_id' }

const FILES: Readonly<Record<'image' | 'video', File>> = {
  image: { kind: 'image', type: 'image/jpeg', name: 'photo.jpeg', content: 20_000, width: 1_080, height: 1_080 },
  video: {
    kind: 'video',
    type: 'video/mp4',
    name: 'video.mp4',
    content: 200_000,
    width: 1_080,
    height: 1_920,
    seconds: 10,
    fps: 30,
    videoCodec: 'h264',
    audioCodec: 'aac',
  },
}

/** A platform, or its stand-in. */
export interface ColumnPeer {
  readonly stage: PublicationStage
  readonly addFault: (fault: Fault) => Promise<void>
  /** The texts of all that it has published. */
  readonly texts: () => Promise<readonly string[]>
  /** A picture that it takes; bytes without a meaning when absent. */
  readonly image?: File
}

/** The cells of one platform. */
export class Column {
  readonly #platform: string
  readonly #peer: () => ColumnPeer
  readonly #label: string
  readonly #variant: Variant | undefined
  #options: Options | undefined
  #posts = 0
  #shapes: Promise<Shapes> | undefined

  /** @param label tells its texts from those of another column of the platform */
  constructor(platform: string, peer: () => ColumnPeer, label = '', variant?: Variant) {
    this.#platform = platform
    this.#peer = peer
    this.#label = label
    this.#variant = variant
  }

  /**
   * Causes a fault at a step of a publication, continues as the jobs do, and checks the platform: it has exactly one
   * post, the state is correct, and no failure is silent.
   */
  async check({ fault, point, shape: name }: Cell): Promise<void> {
    const { stage, texts } = this.#peer()
    this.#shapes ??= this.#findShapes()
    const shape = (await this.#shapes)[name]
    if (shape === undefined) return
    const parts = await this.#partsOf(shape)
    const isTextless = this.#variant?.isTextless === true
    const earlier = isTextless ? (await texts()).length : 0
    const targetId = await stage.target(this.#platform, parts)
    const incident = this.#incidentOf(fault, targetId)
    // A platform that processes files for long publishes in a later attempt.
    const writes: Incident['counts'] = new Map()
    const until = () => incident.happened()
    expectShown(await stage.finish(targetId, { incident: { point, counts: writes, ...incident }, until }))
    const target = await stage.finish(targetId)
    stage.clock.advance(this.#variant?.pauseMs ?? 3 * HOUR)
    // Every post has these steps. An upload can have fewer than two.
    if (name !== 'media') expect(incident.happened()).toBe(true)
    if (!incident.happened()) return
    const published = await texts()
    const counts = isTextless
      ? [published.length - earlier]
      : parts.map(({ text }) => published.filter((one) => one.includes(text)).length)
    if (target.status === 'published') {
      expect(counts).toEqual(parts.map(() => 1))
      expect(target.problem?.code).toBe(this.#variant?.note)
    } else {
      // The user decides, if the platform lets nobody look up posts.
      expect({ status: target.status, problem: target.problem }).toMatchObject({
        status: 'unconfirmed',
        problem: { code: 'outcome_unknown', whoActs: 'user' },
      })
      expect(target.problem?.message).not.toContain('has not answered')
      for (const count of counts) expect(count).toBeLessThanOrEqual(1)
    }
  }

  /** Ends the access token between two parts. */
  async checkExpiry(): Promise<void> {
    const { addFault, stage, texts } = this.#peer()
    this.#shapes ??= this.#findShapes()
    const { two } = await this.#shapes
    if (two === undefined) return
    const parts = await this.#partsOf(two)
    const targetId = await stage.target(this.#platform, parts)
    await stage.attempt(targetId, {
      point: { when: 'after', write: 'calling', count: 2 },
      happens: async () => {
        await addFault({ path: '', times: 1, kind: 'status', status: 401 })
        return 'goes on'
      },
    })
    expect(await stage.finish(targetId)).toMatchObject({ status: 'published' })
    stage.clock.advance(3 * HOUR)
    const published = await texts()
    expect(parts.map(({ text }) => published.filter((one) => one.includes(text)).length)).toEqual(parts.map(() => 1))
  }

  #incidentOf(fault: string, targetId: string) {
    const { addFault, stage } = this.#peer()
    let happened = false
    const happens: Incident['happens'] = async () => {
      happened = true
      const network = NETWORK[fault]
      if (network !== undefined) await addFault({ path: '', times: 1, ...network })
      if (fault === 'a frozen worker') {
        // The lease ends meanwhile, and another worker takes over and ends before this one goes on.
        stage.clock.advance(LEASE.leaseMs + SECOND)
        await stage.finish(targetId)
      }
      return fault === 'a killed worker' ? 'killed' : 'goes on'
    }
    return { happens, happened: () => happened }
  }

  /** What the platform can publish, found out by publishing it. */
  async #findShapes(): Promise<Shapes> {
    if (this.#variant !== undefined) {
      const { media } = this.#variant
      const one: Shape = { roles: ['post'], ...(media !== undefined && { media }) }
      if (!(await this.#isPublished(one))) throw new Error(`${this.#variant.name} is not published`)
      return { one, two: undefined, media: one }
    }
    const one = await this.#firstPublished([
      { roles: ['post'] },
      { roles: ['post'], media: 'image' },
      { roles: ['post'], media: 'video' },
    ])
    if (one === undefined) throw new Error(`${this.#platform} publishes nothing`)
    const media = one.media ?? ((await this.#isPublished({ ...one, media: 'image' })) ? 'image' : 'video')
    const two = await this.#firstPublished([
      { ...one, roles: ['post', 'comment'] },
      { ...one, roles: ['post', 'reply'] },
    ])
    return { one, two, media: { ...one, media } }
  }

  async #firstPublished(shapes: readonly Shape[]): Promise<Shape | undefined> {
    for (const shape of shapes) if (await this.#isPublished(shape)) return shape
    return undefined
  }

  async #isPublished(shape: Shape): Promise<boolean> {
    const { stage } = this.#peer()
    const target = await stage.finish(await stage.target(this.#platform, await this.#partsOf(shape)))
    stage.clock.advance(this.#variant?.pauseMs ?? 3 * HOUR)
    return target.status === 'published'
  }

  /** The parts of a new post, whose texts nothing else has. */
  async #partsOf(shape: Shape): Promise<Part[]> {
    this.#posts += 1
    const platform = PLATFORMS.find(({ key }) => key === this.#platform)
    const place = PLACES[this.#platform]
    const options = {
      ...OPTIONS[this.#platform],
      ...(place !== undefined && { [place]: await this.#place() }),
      ...(await this.#optionsOfVariant()),
    }
    const hasTitle = platform !== undefined && numberOf(effectiveLimits(platform), 'title.required') === 1
    const media = shape.media === undefined ? [] : [this.#file(shape.media)]
    return shape.roles.map((role, position): Part => {
      const text = `marker${this.#label}${this.#posts}part${position}end`
      return {
        role,
        text,
        options,
        media: position === 0 ? media : [],
        ...(hasTitle && position === 0 && { title: text }),
      }
    })
  }

  #file(kind: 'image' | 'video'): PostMedia {
    const { image, stage } = this.#peer()
    const { content, ...file } = (kind === 'image' ? image : undefined) ?? FILES[kind]
    return { ...file, id: stage.file(content), bytes: typeof content === 'number' ? content : content.length }
  }

  async #optionsOfVariant(): Promise<Options> {
    const { options = {} } = this.#variant ?? {}
    this.#options ??= typeof options === 'function' ? await options(this.#places()) : options
    return this.#options
  }

  #places(): Places {
    const { stage } = this.#peer()
    return {
      choice: async (option) => {
        const account = await stage.account(this.#platform)
        return stage.services.socialAccounts.calls.run(account, {}, async ({ context, platform }) => {
          const [first] = (await platform.capabilities?.(context))?.choices?.[option] ?? []
          if (first === undefined) throw new Error(`${platform.title} has no ${option} to choose`)
          return first.value
        })
      },
      post: async () => {
        const text = `another${this.#label}`
        const part: Part = { role: 'post', text, media: [], options: OPTIONS[this.#platform] ?? {} }
        const { remoteId } = await stage.finish(await stage.target(this.#platform, [part]))
        stage.clock.advance(3 * HOUR)
        return remoteId ?? ''
      },
    }
  }

  async #place(): Promise<string | undefined> {
    const { stage } = this.#peer()
    const account = await stage.account(this.#platform)
    return stage.services.socialAccounts.calls.run(account, {}, async ({ context, platform: { places } }) => {
      return (await places?.(context))?.[0]?.id
    })
  }
}

/** A target that is not published states its problem or, if it has not ended, has an attempt with a lease. */
function expectShown({ attemptId, leaseUntil, problem, status }: TargetRow): void {
  if (status === 'published') return
  if (isFinal(status)) expect(problem).not.toBeNull()
  else expect([problem, attemptId && leaseUntil]).not.toEqual([null, null])
}
