import { PlatformError } from '../../src/platforms/error-kinds.ts'
import type { PublishContext, PublishPart, RemotePost } from '../../src/platforms/publishing.ts'
import { effectiveLimits, listOf, numberOf } from '../../src/platforms/rules/limits.ts'
import { generatedFile } from '../../sandbox/media-facts.ts'
import { type FakePlatform, partOf } from '../support/fake-platform.ts'

/** Options that a platform requires. */
const OPTIONS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  reddit: { subreddit: 'sandbox' },
  tiktok: { privacy_level: 'SELF_ONLY' },
}
/** The option that names a place of the account. */
const PLACES: Readonly<Record<string, string>> = { pinterest: 'board_id' }

/**
 * Makes every kind of call that a client has: it reads the account, publishes, finds, edits and deletes posts, and renews
 * and revokes the access.
 * @param client the platform behind prism
 * @param fake the same without prism, where the account signs in: the pages for that are not in descriptions
 * @returns the calls that failed
 */
export async function callEverything(client: FakePlatform, fake: FakePlatform): Promise<string[]> {
  const { platform } = client
  const failures: string[] = []
  const call = async <T>(
    name: string,
    work: () => Promise<T> | undefined,
    isRepeated = false,
  ): Promise<T | undefined> => {
    try {
      return await work()
    } catch (error) {
      // What a platform does not have is no failure.
      if (error instanceof PlatformError && error.kind === 'unsupported') return undefined
      if (error instanceof PlatformError && error.kind === 'rate_limited' && !isRepeated) {
        client.clock.advance((error.retryAfter ?? 60) * 1_000)
        return call(name, work, true)
      }
      const detail = error instanceof PlatformError ? `${error.kind} ${error.code}: ${error.detail}` : String(error)
      failures.push(`${name}: ${detail}`)
      return undefined
    }
  }
  const login = await accountOf(client, fake)
  await call('profile', () => platform.profile(login))
  const children = (await call('children', () => platform.children?.(login))) ?? []
  // Where a login only manages pages, a page publishes.
  const page = children.find(({ blocked, credential }) => blocked === null && credential !== null)
  const context = page?.credential ? client.as(page.credential, page.profile.remoteId) : login
  await call('capabilities', () => platform.capabilities?.(context))
  const places = (await call('places', () => platform.places?.(context))) ?? []
  const named = PLACES[platform.key]
  const options = { ...OPTIONS[platform.key], ...(named !== undefined && { [named]: places[0]?.id }) }
  await call('createPlace', () => platform.createPlace?.(context, { name: 'A new board' }))

  let count = 0
  const part = (text: string, more: Partial<PublishPart> = {}) => {
    count += 1
    const key = `019a0000-0000-7000-8000-${String(count).padStart(12, '0')}`
    return partOf(text, { key, createdAt: client.clock.now(), options, title: `Title ${count}`, ...more })
  }
  const drafts = draftsOf(client).map((draft) => part(draft.text ?? `Text ${count}`, draft))
  for (const draft of drafts) {
    const name = `${draft.role} with ${draft.media.map(({ kind }) => kind).join(', ') || 'text'}`
    const state = await call(`prepare a ${name}`, () => client.prepare(context, draft))
    if (state === undefined) continue
    const post = await call(`publish a ${name}`, () => client.publish(context, draft, state))
    if (post === undefined) continue
    await call(`find a ${name}`, () => client.publishing.reconcile?.(context, draft, state))
    await repliesTo(post)
    await call(`insights of a ${name}`, () => client.publishing.insights?.(context, post))
    await call(`edit a ${name}`, () => client.publishing.edit?.(context, post, { ...draft, text: 'Edited' }))
    await call(`remove a ${name}`, () => client.publishing.remove?.(context, post))
  }

  async function repliesTo(root: RemotePost): Promise<void> {
    for (const role of ['reply', 'comment'] as const) {
      await call(`publish a ${role}`, async () => {
        // Platforms without replies refuse them before any call.
        const reply = part(`A ${role} ${count}`, { role, root, parent: root })
        await client.publish(context, reply)
      })
    }
  }
  const { analytics, oauth } = platform
  await call('figures of the account', () => analytics.readAccount?.(context))
  client.clock.advance(25 * 3_600_000)
  const renewed = await call('refresh', () => oauth?.refresh?.(login))
  await call('revoke', () => platform.revoke?.({ ...login, credential: { ...login.credential, ...renewed } }))
  return failures
}

async function accountOf(client: FakePlatform, fake: FakePlatform): Promise<PublishContext> {
  if (client.platform.oauth === undefined) {
    const { credential, remoteId } = await fake.connect()
    return client.as({ ...credential, server: client.running.url }, remoteId)
  }
  const { credential, profile } = await fake.signIn()
  return client.as(credential, profile.remoteId)
}

/** Posts of every kind that the platform has. */
function draftsOf(client: FakePlatform): readonly Partial<PublishPart>[] {
  const limits = effectiveLimits(client.platform)
  const has = (kind: 'image' | 'video') => (numberOf(limits, `${kind}.max`) ?? 0) > 0
  const file = (kind: 'image' | 'video', fallback: string, facts: object) => {
    const type = listOf(limits, `${kind}.types`)?.[0] ?? fallback
    return client.file({ kind, type, ...facts, altText: 'An alt text' }, generatedFile({ type, ...facts }, 100_000))
  }
  const image = () => file('image', 'image/jpeg', { width: 1_080, height: 1_080 })
  const video = () => {
    const facts = { width: 1_080, height: 1_920, seconds: 10, fps: 30 }
    return file('video', 'video/mp4', { ...facts, codec: 'h264', videoCodec: 'h264', audioCodec: 'aac' })
  }
  const needsVideo = numberOf(limits, 'video.required') === 1
  const needsMedia = needsVideo || numberOf(limits, 'media.required') === 1
  const options = client.platform.options?.properties ?? {}
  const required = OPTIONS[client.platform.key]
  const withOptions = (more: object) => ({ options: { ...required, ...more } })
  const polls = options['poll'] as { properties: Readonly<Record<string, unknown>> } | undefined
  const question = polls?.properties['question'] === undefined ? {} : { question: 'Which one?' }
  const poll = { ...question, options: ['Cats', 'Dogs'], durationMinutes: 1_440 }
  const choices = (name: string) =>
    (options as Readonly<Record<string, { enum?: readonly string[] }>>)[name]?.enum ?? []
  const sorts = [
    ...(choices('placement').includes('story') ? [withOptions({ placement: 'story' })] : []),
    ...(choices('mode').includes('draft') ? [withOptions({ mode: 'draft' })] : []),
  ]
  return [
    ...(polls === undefined ? [] : [{ text: 'With a poll', ...withOptions({ poll }) }]),
    ...sorts.flatMap((sort) => [
      { text: 'Of an image', media: [image()], ...sort },
      { text: 'Of a video', media: [video()], ...sort },
    ]),
    ...(needsMedia ? [] : [{ text: 'Only a text' }]),
    ...(has('image') && !needsVideo ? [{ text: 'An image', media: [image()] }] : []),
    ...(has('image') && !needsVideo ? [{ text: 'Two images', media: [image(), image()] }] : []),
    ...(has('video') ? [{ text: 'A video', media: [video()] }] : []),
  ]
}
