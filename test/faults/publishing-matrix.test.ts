import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HOUR, SECOND } from '../../src/core/clock.ts'
import { LEASE } from '../../src/domains/publishing/posts/publication/lease.ts'
import type { PostMedia } from '../../src/platforms/content.ts'
import type { PublishPart } from '../../src/platforms/publishing.ts'
import { PLATFORMS } from '../../src/platforms/registry.ts'
import { effectiveLimits, numberOf } from '../../src/platforms/rules/limits.ts'
import type { Fault } from '../../src/platforms/sandbox/faults.ts'
import { PublicationStage, type Incident, type Point } from '../support/publication.ts'
import { addFault, sandboxPosts } from '../support/sandbox-faults.ts'

/**
 * Each platform × each step of a publication × each fault: the platform has exactly one post, the state is true, and
 * nothing is silent. The list of platforms is that of the registry.
 */

let stage: PublicationStage
beforeAll(async () => {
  stage = await PublicationStage.start()
})
afterAll(() => stage.stop())

type Part = Omit<PublishPart, 'key' | 'createdAt'>

/** Options that a platform requires. */
const OPTIONS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  reddit: { subreddit: 'sandbox' },
  tiktok: { privacy_level: 'SELF_ONLY' },
}
/** The option that names a place of the account. */
const PLACES: Readonly<Record<string, string>> = { pinterest: 'board_id' }

const FILES: Readonly<Record<'image' | 'video', Omit<PostMedia, 'id'>>> = {
  image: { kind: 'image', type: 'image/jpeg', name: 'photo.jpeg', bytes: 20_000, width: 1_080, height: 1_080 },
  video: {
    kind: 'video',
    type: 'video/mp4',
    name: 'video.mp4',
    bytes: 200_000,
    width: 1_080,
    height: 1_920,
    seconds: 10,
    fps: 30,
    videoCodec: 'h264',
    audioCodec: 'aac',
  },
}

let posts = 0

/** The parts of a new post, whose texts nothing else has. */
async function partsOf(platform: string, shape: Shape): Promise<Part[]> {
  posts += 1
  const found = PLATFORMS.find(({ key }) => key === platform)
  const place = PLACES[platform]
  const options = { ...OPTIONS[platform], ...(place !== undefined && { [place]: await placeOf(platform) }) }
  const hasTitle = found !== undefined && numberOf(effectiveLimits(found), 'title.required') === 1
  const media = shape.media === undefined ? [] : [{ ...FILES[shape.media], id: stage.file(FILES[shape.media].bytes) }]
  return shape.roles.map((role, position): Part => {
    const text = `marker${posts}part${position}end`
    return {
      role,
      text,
      options,
      media: position === 0 ? media : [],
      ...(hasTitle && position === 0 && { title: text }),
    }
  })
}

async function placeOf(platform: string): Promise<string | undefined> {
  const { calls } = stage.services.socialAccounts
  return calls.run(await stage.account(platform), {}, async ({ context, platform: { places } }) => {
    return (await places?.(context))?.[0]?.id
  })
}

/** What a post consists of. */
interface Shape {
  readonly media?: 'image' | 'video'
  readonly roles: readonly PublishPart['role'][]
}

interface Shapes {
  /** The simplest post. */
  readonly one: Shape
  /** A post with a first comment, or else with a reply. */
  readonly two: Shape | undefined
  readonly media: Shape
}

const known = new Map<string, Promise<Shapes>>()

/** What a platform can publish, found out by publishing it. */
function shapesOf(platform: string): Promise<Shapes> {
  const found = known.get(platform) ?? findShapes(platform)
  known.set(platform, found)
  return found
}

async function findShapes(platform: string): Promise<Shapes> {
  const one = await firstPublished(platform, [
    { roles: ['post'] },
    { roles: ['post'], media: 'image' },
    { roles: ['post'], media: 'video' },
  ])
  if (one === undefined) throw new Error(`${platform} publishes nothing`)
  const media = one.media ?? ((await tryShape(platform, { ...one, media: 'image' })) ? 'image' : 'video')
  const two = await firstPublished(platform, [
    { ...one, roles: ['post', 'comment'] },
    { ...one, roles: ['post', 'reply'] },
  ])
  return { one, two, media: { ...one, media } }
}

async function firstPublished(platform: string, shapes: readonly Shape[]): Promise<Shape | undefined> {
  for (const shape of shapes) if (await tryShape(platform, shape)) return shape
  return undefined
}

async function tryShape(platform: string, shape: Shape): Promise<boolean> {
  const target = await stage.finish(await stage.target(platform, await partsOf(platform, shape)))
  stage.clock.advance(3 * HOUR)
  return target.status === 'published'
}

const NETWORK: Readonly<Record<string, Pick<Fault, 'kind' | 'status'>>> = {
  'a connection that is cut': { kind: 'refuse' },
  'a lost reply': { kind: 'cut' },
  'a reply that is cut': { kind: 'cut_body' },
  '503 after acceptance': { kind: 'status_after', status: 503 },
  '503': { kind: 'status', status: 503 },
}

const PROCESS: readonly string[] = ['a killed worker', 'a frozen worker']
const ALL: readonly string[] = [...PROCESS, ...Object.keys(NETWORK)]

/** The steps of a publication, by where the worker is in its writes. */
const STEPS: readonly { name: string; shape: keyof Shapes; point: Point; faults: readonly string[] }[] = [
  {
    name: 'before and during the call',
    shape: 'one',
    point: { when: 'after', write: 'calling', count: 1 },
    faults: ALL,
  },
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

const cells = STEPS.flatMap(({ faults, ...step }) => faults.map((fault) => ({ ...step, fault })))
const publishers = PLATFORMS.filter(({ publishing }) => publishing !== undefined)

describe.each(publishers)('$title', ({ key: platform }) => {
  test.each(cells)('$fault $name', async ({ fault, point, shape: name }) => {
    const shape = (await shapesOf(platform))[name]
    if (shape === undefined) return
    const parts = await partsOf(platform, shape)
    const targetId = await stage.target(platform, parts)
    const incident = incidentOf(platform, fault, targetId)
    await stage.attempt(targetId, { point, ...incident })
    const target = await stage.finish(targetId)
    stage.clock.advance(3 * HOUR)
    if (!incident.happened()) return
    const texts = (await sandboxPosts(stage.app, platform)).map(({ text }) => text)
    const counts = parts.map(({ text }) => texts.filter((one) => one.includes(text)).length)
    if (target.status === 'published') expect(counts).toEqual(parts.map(() => 1))
    else {
      // The user decides, if the platform lets nobody look up posts.
      expect({ status: target.status, problem: target.problem }).toMatchObject({
        status: 'unconfirmed',
        problem: { code: 'outcome_unknown', whoActs: 'user' },
      })
      expect(target.problem?.message).not.toContain('has not answered')
      for (const count of counts) expect(count).toBeLessThanOrEqual(1)
    }
  })
})

const renewing = publishers.filter(({ oauth }) => oauth?.refresh !== undefined && oauth.refreshStyle !== 'exchange')

test.each(renewing)(
  '$title publishes no part again when its token ends between two parts',
  async ({ key: platform }) => {
    const { two } = await shapesOf(platform)
    if (two === undefined) return
    const parts = await partsOf(platform, two)
    const targetId = await stage.target(platform, parts)
    await stage.attempt(targetId, {
      point: { when: 'after', write: 'calling', count: 2 },
      happens: async () => {
        await addFault(stage.app, platform, { path: '', times: 1, kind: 'status', status: 401 })
        return 'goes on'
      },
    })
    expect(await stage.finish(targetId)).toMatchObject({ status: 'published' })
    stage.clock.advance(3 * HOUR)
    const texts = (await sandboxPosts(stage.app, platform)).map(({ text }) => text)
    expect(parts.map(({ text }) => texts.filter((one) => one.includes(text)).length)).toEqual(parts.map(() => 1))
  },
)

function incidentOf(platform: string, fault: string, targetId: string) {
  let happened = false
  const happens: Incident['happens'] = async () => {
    happened = true
    const network = NETWORK[fault]
    if (network !== undefined) await addFault(stage.app, platform, { path: '', times: 1, ...network })
    if (fault === 'a frozen worker') {
      // The lease ends meanwhile, and another worker takes over and ends before this one goes on.
      stage.clock.advance(LEASE.leaseMs + SECOND)
      await stage.finish(targetId)
    }
    return fault === 'a killed worker' ? 'killed' : 'goes on'
  }
  return { happens, happened: () => happened }
}
