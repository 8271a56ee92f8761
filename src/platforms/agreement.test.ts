import * as fc from 'fast-check'
import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { DAY } from '../core/clock.ts'
import { FakePlatform, partOf } from '../../test/support/fake-platform.ts'
import { drafts, mediaOf, type Draft } from '../../test/support/drafts.ts'
import { pollDrafts } from '../../test/support/poll-drafts.ts'
import { optionDrafts } from '../../test/support/option-drafts.ts'
import type { PostContent } from './content.ts'
import { PlatformError } from './error-kinds.ts'
import type { PublishContext, PublishPart, RemotePost } from './publishing.ts'
import { PLATFORMS } from './registry.ts'
import { check } from './rules/engine.ts'
import { effectiveLimits, numberOf, type Limits } from './rules/limits.ts'

/**
 * The rule engine and the fakes were written from the same documentation, but share no code. These tests publish
 * generated posts: a fake must take what the engine accepts, and refuse what the engine refuses.
 */

/** Enough to break every rule. */
const USUAL_RUNS = 2_000
/** A run ends here if it has broken every rule. */
const MIN_RUNS = 400
/** Another number for a longer or shorter run. */
const RUNS = Number(process.env['AGREEMENT_RUNS'] ?? USUAL_RUNS)
const RUNS_OF_A_FAKE = 200
const OPTION_RUNS = 400
const POLL_RUNS = 400
/** Rules about polls, each of which some generated posts break. */
const POLL_RULES = /^poll\./
const NO_OPTIONS = Type.Object({})
/** Another seed gives other posts. */
const SEED = 20_261_122

/** Rules about what a file is, which some of the generated files break. */
const MEASURED = /\.(?:types|codecs|(?:min|max)(?:Seconds|Fps|Width|Height|Ratio|Pixels|Sides|Pages))$/

/** Kinds of errors that say something about the content. */
const REFUSALS = ['validation', 'unsupported', 'media_processing', 'policy_rejected']
/** Kinds of errors that end with time. */
const PAUSES = ['rate_limited', 'quota_exhausted']

/** Options that a platform requires. */
const OPTIONS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  pinterest: { board_id: '1' },
  reddit: { subreddit: 'sandbox' },
  tiktok: { privacy_level: 'SELF_ONLY' },
}

/**
 * Rules that a fake cannot enforce, because the platform never gets the fact, or that are rules of Crier's own, by
 * platform.
 */
const UNSEEN: Readonly<Record<string, readonly string[]>> = {
  // The lexicon takes every type of image, alt texts of any length, and posts without content.
  bluesky: ['image.types', 'alt.max', 'content.empty'],
  // The upload takes more types than the best practices of X name.
  x: ['image.types'],
  // A Pin has one alt text, that of its first file.
  pinterest: ['alt.max'],
}

/** The option that names a place of the account. */
const PLACES: Readonly<Record<string, string>> = { pinterest: 'board_id' }

const publishers = PLATFORMS.filter(({ publishing }) => publishing !== undefined)

describe.each(publishers.map((platform) => [platform.title, platform] as const))('%s', (_title, platform) => {
  it('takes what the engine accepts, and refuses what it refuses', { timeout: 120_000 }, async () => {
    let peer = await FakePlatform.direct(platform)
    const limits = await limitsOf(peer)
    const unseen = UNSEEN[platform.key] ?? []
    const disagreements = new Map<string, string>()
    const broken = new Set<string>()
    // The test says nothing if posts of one sort are missing.
    const measured = [...limits.byId.values()].filter(({ effect, id }) => MEASURED.test(id) && effect === undefined)
    const isWhole = () => measured.every(({ id }) => broken.has(id))
    let [accepted, runs] = [0, 0]
    for (const [index, draft] of fc.sample(drafts(limits), { numRuns: RUNS, seed: SEED }).entries()) {
      if (RUNS === USUAL_RUNS && index >= MIN_RUNS && isWhole()) break
      runs += 1
      // Fakes search their state, so a fresh one is faster.
      if (index % RUNS_OF_A_FAKE === 0) {
        await peer.stop()
        peer = await FakePlatform.direct(platform)
      }
      const content = contentOf(peer, draft)
      const errors = check(platform, limits, content).filter(({ severity }) => severity === 'error')
      for (const { rule } of errors) broken.add(rule)
      if (errors.length > 0 && errors.every(({ rule }) => unseen.includes(rule))) continue
      const refusal = await outcome(peer, content)
      if (refusal === undefined) accepted += 1
      if ((refusal !== undefined) === errors.length > 0) continue
      const engine = errors.map(({ message, pointer }) => `${message} (${pointer})`).join(' ') || 'accepts'
      const what = `engine: ${engine}; fake: ${refusal?.detail ?? 'accepts'}`
      if (!disagreements.has(what)) disagreements.set(what, summaryOf(draft))
    }
    expect([...disagreements].slice(0, 10)).toEqual([])
    if (RUNS >= USUAL_RUNS) expect(measured.map(({ id }) => id).filter((id) => !broken.has(id))).toEqual([])
    expect(accepted).toBeGreaterThan(runs / 10)
    expect(accepted).toBeLessThan(runs * 0.95)
    await peer.stop()
  })

  it('takes the options that the engine accepts', { timeout: 120_000 }, async () => {
    let peer = await FakePlatform.direct(platform)
    const limits = await limitsOf(peer)
    const disagreements = new Map<string, string>()
    const posts = fc.record({ draft: drafts(limits), options: optionDrafts(platform.options ?? NO_OPTIONS) })
    let accepted = 0
    for (const [index, { draft, options }] of fc.sample(posts, { numRuns: OPTION_RUNS, seed: SEED }).entries()) {
      if (index % RUNS_OF_A_FAKE === 0) {
        await peer.stop()
        peer = await FakePlatform.direct(platform)
      }
      const plain = contentOf(peer, draft)
      const content = { ...plain, options: { ...plain.options, ...options } }
      if (check(platform, limits, content).some(({ severity }) => severity === 'error')) continue
      const refusal = await outcome(peer, content)
      if (refusal === undefined) accepted += 1
      else if (!disagreements.has(refusal.detail ?? refusal.message)) {
        disagreements.set(refusal.detail ?? refusal.message, JSON.stringify([options, summaryOf(draft)]).slice(0, 600))
      }
    }
    expect([...disagreements].slice(0, 10)).toEqual([])
    expect(accepted).toBeGreaterThan(OPTION_RUNS / 20)
    await peer.stop()
  })

  it.runIf(platform.options?.properties['poll'] !== undefined)(
    'takes the polls that the engine accepts, and refuses what it refuses',
    { timeout: 120_000 },
    async () => {
      let peer = await FakePlatform.direct(platform)
      const limits = await limitsOf(peer)
      const polls = pollDrafts(platform, limits)
      if (polls === undefined) throw new Error('a platform with polls has no limits of polls')
      const posts = fc.record({ draft: drafts(limits), poll: polls })
      const disagreements = new Map<string, string>()
      const broken = new Set<string>()
      let accepted = 0
      for (const [index, { draft, poll }] of fc.sample(posts, { numRuns: POLL_RUNS, seed: SEED }).entries()) {
        if (index % RUNS_OF_A_FAKE === 0) {
          await peer.stop()
          peer = await FakePlatform.direct(platform)
        }
        // Most posts have only a short text, so that the poll decides.
        const post = index % 8 === 0 ? draft : { text: `Question ${index}?`, media: [] }
        const plain = contentOf(peer, post)
        const content = { ...plain, options: { ...plain.options, poll } }
        const errors = check(platform, limits, content).filter(({ severity }) => severity === 'error')
        for (const { rule } of errors) broken.add(rule)
        const refusal = await outcome(peer, content)
        if (refusal === undefined) accepted += 1
        if ((refusal !== undefined) === errors.length > 0) continue
        const engine = errors.map(({ message, pointer }) => `${message} (${pointer})`).join(' ') || 'accepts'
        const what = `engine: ${engine}; fake: ${refusal?.detail ?? 'accepts'}`
        if (!disagreements.has(what)) disagreements.set(what, JSON.stringify([poll, summaryOf(post)]).slice(0, 600))
      }
      expect([...disagreements].slice(0, 10)).toEqual([])
      const unbroken = [...limits.byId.keys()].filter((id) => POLL_RULES.test(id) && !broken.has(id))
      expect(unbroken).toEqual([])
      expect(accepted).toBeGreaterThan(POLL_RUNS / 20)
      await peer.stop()
    },
  )

  it('takes files up to the exact limit', { timeout: 120_000 }, async () => {
    const peer = await FakePlatform.direct(platform)
    const limits = await limitsOf(peer)
    for (const { accepted, media, text } of sizedFiles(limits)) {
      const content = contentOf(peer, { text, media: [media], ...(needsTitle(limits) && { title: 'A title' }) })
      expect(check(platform, limits, content).filter(({ severity }) => severity === 'error').length === 0).toBe(
        accepted,
      )
      const refusal = await outcome(peer, content)
      expect(refusal?.kind, `${media.type} of ${media.bytes} bytes: ${refusal?.detail}`)[
        accepted ? 'toBe' : 'toBeOneOf'
      ]((accepted ? undefined : REFUSALS) as never)
    }
    await peer.stop()
  })
})

/** The limits of an account of the fake. */
async function limitsOf(peer: FakePlatform): Promise<Limits> {
  return effectiveLimits(peer.platform, undefined, await peer.platform.capabilities?.(await peer.connect()))
}

function contentOf(peer: FakePlatform, draft: Draft): PostContent {
  const { firstComment, media, tags, text, thread, title } = draft
  return {
    text,
    media: media.map((file) => mediaOf(peer, file)),
    options: OPTIONS[peer.platform.key] ?? {},
    ...(title !== undefined && { title }),
    ...(tags !== undefined && { tags }),
    ...(firstComment !== undefined && { firstComment }),
    ...(thread && {
      thread: thread.map((part) => ({ text: part.text, media: part.media.map((file) => mediaOf(peer, file)) })),
    }),
  }
}

/** Publishes a post from a new account. @returns the refusal */
async function outcome(peer: FakePlatform, content: PostContent, repeats = 3): Promise<PlatformError | undefined> {
  try {
    await publish(peer, await peer.connect(), content)
    return undefined
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    if (REFUSALS.includes(error.kind)) return error
    if (!PAUSES.includes(error.kind) || repeats === 0) throw error
    peer.clock.advance(DAY)
    return outcome(peer, content, repeats - 1)
  }
}

/** A post in a line, without most of its text. */
function summaryOf({ firstComment, media, thread, text, title }: Draft): string {
  const files = media.map(({ facts, type }) => `${type} ${JSON.stringify(facts ?? {})}`).join(', ')
  const summary = { text, files, title, firstComment, parts: thread?.length }
  return JSON.stringify(summary).replaceAll(/a{5,}/g, 'a…')
}

let count = 0

async function publish(peer: FakePlatform, context: PublishContext, content: PostContent): Promise<void> {
  const { firstComment = '', link, media, tags, text, thread = [], title } = content
  const name = PLACES[peer.platform.key]
  const [place] = name === undefined ? [] : ((await peer.platform.places?.(context)) ?? [])
  const options = { ...content.options, ...(name !== undefined && { [name]: place?.id }) }
  const part = (more: Partial<PublishPart>) => {
    count += 1
    const key = `019a0000-0000-7000-8000-${String(count).padStart(12, '0')}`
    return partOf('', { key, createdAt: peer.clock.now(), options, ...more })
  }
  const given = { ...(title !== undefined && { title }), ...(link !== undefined && { link }), ...(tags && { tags }) }
  const root = await peer.publish(context, part({ text, media, ...given }))
  let parent: RemotePost = root
  for (const reply of thread) {
    parent = await peer.publish(context, part({ ...reply, role: 'reply', root, parent }))
  }
  if (firstComment !== '') {
    await peer.publish(context, part({ text: firstComment, role: 'comment', root, parent: root }))
  }
}

const MAX_BYTES = 20_000_000

function needsTitle(limits: Limits): boolean {
  return numberOf(limits, 'title.required') === 1
}

/** Files of the limit of their kind and one byte more, where the limit is small enough to try. */
function sizedFiles({ byId }: Limits) {
  const sorts = [
    ['image', 'image/jpeg'],
    ['video', 'video/mp4'],
    ['document', 'application/pdf'],
  ] as const
  return sorts.flatMap(([kind, type]) => {
    const most = byId.get(`${kind}.maxBytes`)?.value
    const types = byId.get(`${kind}.types`)?.value
    const takes = byId.get(`${kind}.max`)?.value !== 0 && (types === undefined || (types as string[]).includes(type))
    // Where a post needs a video, no other file can be published alone.
    const isAlone = kind === 'video' || byId.get('video.required')?.value !== 1
    if (typeof most !== 'number' || most > MAX_BYTES || !takes || !isAlone) return []
    return [most, most + 1].map((bytes) => ({ accepted: bytes === most, text: 'A file', media: { kind, type, bytes } }))
  })
}
