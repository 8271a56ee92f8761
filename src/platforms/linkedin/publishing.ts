import { textWithLink } from '../content.ts'
import { isPictureRefused, PlatformError } from '../error-kinds.ts'
import { isSameText } from '../fingerprint.ts'
import type { AccountContext } from '../platform.ts'
import { pollOf } from '../polls.ts'
import { firstUrl } from '../rules/spans.ts'
import type {
  Insights,
  PublishContext,
  Publishing,
  PublishPart,
  PublishState,
  Reconciled,
  RemotePost,
  StepResult,
} from '../publishing.ts'
import { call, createdId, encoded, isOrganization, TITLE } from './api.ts'
import { littleText, plainText } from './little-text.ts'
import { pollContent } from './polls.ts'
import { finalize, initialize, isAvailable, sendPart, sendPicture, type Upload } from './uploads.ts'

/**
 * Each file: `initialize`, one `part` after the other, for videos `finalize`. Then `process` and `publish`. Without
 * files, the card of a link: `card`, `thumb`, `check` until the picture is processed, and `publish`.
 */
interface State extends PublishState {
  readonly step: 'initialize' | 'part' | 'finalize' | 'process' | 'card' | 'thumb' | 'check' | 'publish'
  /** URNs of the files that were sent. */
  readonly media: readonly string[]
  /** The one that is being sent. */
  readonly upload?: Upload
  /** Read once, so that every attempt sends the same card. */
  readonly card?: Card
}

/** The card of a link. LinkedIn does not read pages itself. */
interface Card {
  readonly source: string
  readonly title: string
  readonly description: string
  readonly imageUrl?: string
  /** The URN of the picture, once it was sent. */
  readonly thumbnail?: string
  /** How often LinkedIn was asked whether it has processed the picture. */
  readonly checks?: number
}

interface Post {
  readonly id: string
  readonly commentary?: string
  readonly createdAt?: number
}

interface Comment {
  readonly id?: string
  readonly commentUrn?: string
  readonly actor?: string
  readonly message?: { readonly text?: string }
  readonly created?: { readonly time?: number }
}

const POLL_MS = 3_000
const CLOCK_SKEW_MS = 120_000
const THUMBNAIL_BYTES = 2_000_000
/** Pictures are usually there at the first look. */
const MAX_CHECKS = 5

/** Publishing to LinkedIn (learn.microsoft.com, Posts API and Comments API, 2026-11). */
export const publishing: Publishing = {
  repeatable: false,
  start: (part): State => {
    const step = part.media.length > 0 ? 'initialize' : cardLinkOf(part) === undefined ? 'publish' : 'card'
    return { step, media: [] }
  },
  // Nothing is documented.
  preparation: { lifeMs: 3_600_000, texts: 'links' },
  commits: ({ step }) => step === 'publish',
  step: (context, part, state) => {
    if (part.role === 'reply') throw refusal('thread', 'LinkedIn has no threads.')
    const known = state as State
    switch (known.step) {
      case 'publish':
        return part.role === 'comment' ? comment(context, part) : publish(context, part, known)
      case 'process':
        return awaitProcessing(context, part, known)
      case 'card':
        return readCard(context, part)
      case 'thumb':
        return sendThumbnail(context, known)
      case 'check':
        return checkThumbnail(context, known)
      default:
        return upload(context, part, known)
    }
  },
  reconcile: (context, part) => {
    if (!isOrganization(context.remoteId)) {
      return Promise.resolve({ kind: 'unknown', reason: 'LinkedIn does not list the posts of members.' })
    }
    if (part.text.trim() === '') {
      return Promise.resolve({ kind: 'unknown', reason: 'Posts without a text cannot be told apart.' })
    }
    return part.role === 'comment' ? findComment(context, part) : findPost(context, part)
  },
  remove: async (context, { id, ids }) => {
    const parent = ids?.['object']
    const path =
      parent === undefined
        ? `/rest/posts/${encoded(id)}`
        : `/rest/socialActions/${encoded(parent)}/comments/${encoded(id)}?actor=${encoded(context.remoteId)}`
    await call(context, path, { method: 'DELETE', restli: 'DELETE', expect: [404] })
  },
  edit: async (context, post, { text }) => {
    if (post.ids?.['object'] !== undefined) throw refusal('edit_comment', 'Crier does not edit comments at LinkedIn.')
    await call(context, `/rest/posts/${encoded(post.id)}`, {
      method: 'POST',
      restli: 'PARTIAL_UPDATE',
      json: { patch: { $set: { commentary: littleText(text) } } },
    })
    return post
  },
  insights: (context, { id }) => insightsOf(context, id),
}

async function upload(context: PublishContext, part: PublishPart, state: State): Promise<StepResult> {
  const { media, upload: running } = state
  const file = part.media[media.length]
  if (file === undefined) return { kind: 'next', state: { step: 'process', media } }
  if (state.step === 'initialize' || running === undefined) {
    return { kind: 'next', state: { step: 'part', media, upload: await initialize(context, file) } }
  }
  const next = { step: 'initialize', media: [...media, running.urn] } as const
  if (state.step === 'finalize') {
    await finalize(context, running)
    return { kind: 'next', state: next }
  }
  const sent = await sendPart(context, file, running)
  if (sent.etags.length < sent.parts.length) return { kind: 'next', state: { step: 'part', media, upload: sent } }
  return { kind: 'next', state: file.kind === 'video' ? { step: 'finalize', media, upload: sent } : next }
}

async function awaitProcessing(context: PublishContext, part: PublishPart, state: State): Promise<StepResult> {
  for (const [index, file] of part.media.entries()) {
    if (!(await isAvailable(context, file, state.media[index] ?? ''))) {
      return { kind: 'next', state, waitMs: POLL_MS }
    }
  }
  return { kind: 'next', state: { step: 'publish', media: state.media } }
}

/** The link that gets a card: that of the post, or else the first one in its text. Comments and polls have none. */
function cardLinkOf({ link, media, options, role, text }: PublishPart): string | undefined {
  if (media.length > 0 || role === 'comment') return undefined
  if (link !== undefined && link !== '') return link
  return pollOf(options) === undefined ? firstUrl(text) : undefined
}

async function readCard({ pages, signal }: PublishContext, part: PublishPart): Promise<StepResult> {
  const source = cardLinkOf(part)
  if (source === undefined) return cardDone(undefined)
  const card = { source, ...(await pages.card(source, signal)) }
  return card.imageUrl === undefined
    ? cardDone(card)
    : { kind: 'next', state: { step: 'thumb', media: [], card } satisfies State }
}

/** Sends the picture of a card. A repetition sends it again under another URN, and the first one stays unused. */
async function sendThumbnail(context: PublishContext, { card }: State): Promise<StepResult> {
  if (card?.imageUrl === undefined) return cardDone(card)
  const picture = await context.pages.picture(card.imageUrl, THUMBNAIL_BYTES, context.signal)
  if (picture === undefined) return cardDone(card)
  try {
    const thumbnail = await sendPicture(context, picture)
    const state: State = { step: 'check', media: [], card: { ...card, thumbnail, checks: 0 } }
    return { kind: 'next', state, waitMs: POLL_MS }
  } catch (error) {
    if (isPictureRefused(error)) return cardDone(card)
    throw error
  }
}

/** A picture that LinkedIn cannot process, or not in time, is left out. */
async function checkThumbnail(context: PublishContext, { card }: State): Promise<StepResult> {
  if (card?.thumbnail === undefined) return cardDone(card)
  const { checks = 0, thumbnail, ...plain } = card
  try {
    if (await isAvailable(context, { kind: 'image' }, thumbnail)) return cardDone({ ...plain, thumbnail })
  } catch (error) {
    if (!isPictureRefused(error)) throw error
    return cardDone(plain)
  }
  if (checks >= MAX_CHECKS) return cardDone(plain)
  const state: State = { step: 'check', media: [], card: { ...card, checks: checks + 1 } }
  return { kind: 'next', state, waitMs: POLL_MS }
}

function cardDone(card: Card | undefined): StepResult {
  const state: State = { step: 'publish', media: [], ...(card && { card }) }
  return { kind: 'next', state }
}

async function publish(context: PublishContext, part: PublishPart, { card, media }: State): Promise<StepResult> {
  const { visibility = 'PUBLIC', isReshareDisabledByAuthor = false } = part.options
  const poll = pollOf(part.options)
  const others = contentOf(part, media, card)
  // LinkedIn refuses a poll beside another content.
  const content = poll === undefined ? others : { ...others, poll: pollContent(poll) }
  // A post has either files or the card of a link.
  const text = media.length > 0 ? textWithLink(part) : part.text
  const reply = await call(context, '/rest/posts', {
    method: 'POST',
    json: {
      author: context.remoteId,
      commentary: littleText(text),
      visibility,
      distribution: { feedDistribution: 'MAIN_FEED', targetEntities: [], thirdPartyDistributionChannels: [] },
      ...(content && { content }),
      lifecycleState: 'PUBLISHED',
      isReshareDisabledByAuthor,
    },
  })
  return { kind: 'published', post: postOf(createdId(reply)) }
}

function contentOf({ media: files, options }: PublishPart, media: readonly string[], card: Card | undefined) {
  const { linkDescription, title: given } = options
  const title = typeof given === 'string' && given.trim() !== '' ? given : undefined
  const [file] = files
  if (file === undefined) {
    if (card === undefined) return undefined
    const { source, thumbnail } = card
    const description = typeof linkDescription === 'string' ? linkDescription : card.description
    return { article: { source, title: title ?? card.title, description, ...(thumbnail && { thumbnail }) } }
  }
  const one = (index: number) => {
    const altText = files[index]?.altText
    return { id: media[index], ...(altText !== undefined && { altText }) }
  }
  if (files.length > 1) return { multiImage: { images: files.map((_, index) => one(index)) } }
  return {
    media: { ...one(0), ...(file.kind === 'image' || file.kind === 'gif' ? {} : { title: title ?? file.name }) },
  }
}

async function comment(context: PublishContext, { parent, text }: PublishPart): Promise<StepResult> {
  const object = parent?.id ?? ''
  const reply = await call(context, `/rest/socialActions/${encoded(object)}/comments`, {
    method: 'POST',
    json: { actor: context.remoteId, object, message: { text } },
  })
  return { kind: 'published', post: commentOf(createdId(reply), object) }
}

async function findPost(context: AccountContext, { createdAt, text }: PublishPart): Promise<Reconciled> {
  const path = `/rest/posts?author=${encoded(context.remoteId)}&q=author&count=50&sortBy=CREATED`
  const { json } = await call(context, path, { restli: 'FINDER' })
  const found = (json as { elements?: readonly Post[] }).elements?.find(
    ({ commentary = '', createdAt: at = 0 }) =>
      at >= createdAt - CLOCK_SKEW_MS && isSameText(text, plainText(commentary)),
  )
  return found === undefined ? { kind: 'absent' } : { kind: 'published', post: postOf(found.id) }
}

async function findComment(context: AccountContext, { createdAt, parent, text }: PublishPart): Promise<Reconciled> {
  const object = parent?.id ?? ''
  const { json } = await call(context, `/rest/socialActions/${encoded(object)}/comments?count=100`)
  const found = (json as { elements?: readonly Comment[] }).elements?.find(
    ({ actor, created, message }) =>
      actor === context.remoteId &&
      (created?.time ?? 0) >= createdAt - CLOCK_SKEW_MS &&
      isSameText(text, message?.text ?? ''),
  )
  return found?.id === undefined ? { kind: 'absent' } : { kind: 'published', post: commentOf(found.id, object) }
}

async function insightsOf(context: AccountContext, id: string): Promise<Insights> {
  if (!isOrganization(context.remoteId)) throw refusal('insights', 'LinkedIn reports figures for organizations only.')
  const list = id.startsWith('urn:li:share:') ? 'shares' : 'ugcPosts'
  const entity = encoded(context.remoteId)
  const { json } = await call(
    context,
    `/rest/organizationalEntityShareStatistics?q=organizationalEntity&organizationalEntity=${entity}&${list}=List(${encoded(id)})`,
    { restli: 'FINDER' },
  )
  const { elements = [] } = json as { elements?: readonly { totalShareStatistics?: Record<string, number> }[] }
  // A post that nobody has seen has no element.
  const figures = elements[0]?.totalShareStatistics ?? {}
  return {
    views: figures['impressionCount'] ?? 0,
    reach: figures['uniqueImpressionsCount'] ?? 0,
    clicks: figures['clickCount'] ?? 0,
    likes: figures['likeCount'] ?? 0,
    comments: figures['commentCount'] ?? 0,
    shares: figures['shareCount'] ?? 0,
  }
}

function postOf(id: string): RemotePost {
  return { id, url: `https://www.linkedin.com/feed/update/${id}/` }
}

function commentOf(id: string, object: string): RemotePost {
  return { id, url: `https://www.linkedin.com/feed/update/${object}/`, ids: { object } }
}

function refusal(code: string, detail: string): PlatformError {
  return new PlatformError('unsupported', TITLE, { code, detail, mayHaveHappened: false })
}
