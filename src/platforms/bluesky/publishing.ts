import { Readable } from 'node:stream'
import { SECOND } from '../../core/clock.ts'
import type { PostMedia } from '../content.ts'
import { isPictureRefused, PlatformError } from '../error-kinds.ts'
import type {
  Insights,
  PublishContext,
  Publishing,
  PublishPart,
  PublishState,
  RemotePost,
  StepResult,
} from '../publishing.ts'
import { mentionsOf } from './facets.ts'
import { resolveHandle } from './identity.ts'
import { quotedBy, withQuote } from './quotes.ts'
import { cardLinkOf, GATE, gateOf, POST, recordOf, type Card } from './record.ts'
import { TITLE } from './servers.ts'
import { tidOf } from './tid.ts'
import { finishUpload, processed, sendPart, startUpload, type Blob, type VideoUpload } from './video.ts'
import { didOf, procedure, query, send } from './xrpc.ts'

/**
 * Uploads one file per step, or reads the card of its link, builds the record, then puts it under a key that follows from the post. A repeated put of
 * the same record changes nothing.
 */
interface State extends PublishState {
  readonly step: 'upload' | 'video' | 'card' | 'thumb' | 'compose' | 'gate' | 'publish'
  readonly rkey: string
  readonly blobs: readonly Blob[]
  readonly video?: VideoUpload
  /** Read once, so that every attempt puts the same record. */
  readonly card?: Card
  readonly record?: unknown
}

interface Put {
  readonly uri: string
  readonly cid: string
}

export interface PostView {
  readonly likeCount?: number
  readonly repostCount?: number
  readonly quoteCount?: number
  readonly replyCount?: number
  readonly bookmarkCount?: number
}

const POLL_MS = 3 * SECOND
const UPLOAD_TIMEOUT_MS = 120 * SECOND
/** The lexicon app.bsky.embed.external. */
const THUMB_BYTES = 1_000_000

/** Publishing to Bluesky (lexicons of @atproto/api 0.21.0, 2026-11). */
export const publishing: Publishing = {
  repeatable: true,
  start: (part): State => {
    const { createdAt, key, link, media, text } = part
    if (link !== undefined && media.length > 0 && !text.includes(link)) {
      throw new PlatformError('validation', TITLE, {
        code: 'link_with_media',
        detail: 'A post with media has no card for a link. Put the link into the text.',
        mayHaveHappened: false,
      })
    }
    if (media.length > 1 && media.some(({ kind }) => kind === 'video')) {
      throw new PlatformError('validation', TITLE, {
        code: 'video_with_media',
        detail: 'A post has one video, or images.',
        mayHaveHappened: false,
      })
    }
    const step = media.length > 0 ? 'upload' : cardLinkOf(part) === undefined ? 'compose' : 'card'
    return { step, rkey: tidOf(key, createdAt), blobs: [] }
  },
  // Servers keep blobs that no record names for at least an hour.
  preparation: {
    lifeMs: 50 * 60_000,
    texts: 'links',
    replies: true,
    // The record of a reply names the record that it answers.
    waits: ({ step }, { role }) => step === 'gate' || (step === 'compose' && role !== 'post'),
  },
  commits: ({ step }) => step === 'publish',
  step: (context, part, state) => STEPS[(state as State).step](context, part, state as State),
  reconcile: async (context, _part, state) => {
    const { rkey } = state as State
    const { json, status } = await send(context, 'com.atproto.repo.getRecord', {
      query: { repo: didOf(context), collection: POST, rkey },
      expect: [400, 404],
    })
    if (status === 200) return { kind: 'published', post: postOf(json as Put) }
    const { error = '' } = (json ?? {}) as { error?: string }
    return error === 'RecordNotFound' ? { kind: 'absent' } : { kind: 'unknown', reason: `the server said ${error}` }
  },
  remove: async (context, { id, ids }) => {
    const rkey = id.split('/').at(-1) ?? ''
    const remove = (collection: string) =>
      procedure(context, 'com.atproto.repo.deleteRecord', { repo: didOf(context), collection, rkey })
    await remove(POST)
    if (ids?.['gate'] !== undefined) await remove(GATE)
  },
  insights: async (context, { id }) => {
    const { posts } = await query<{ posts: readonly PostView[] }>(context, 'app.bsky.feed.getPosts', { uris: id })
    const post = posts[0]
    if (post === undefined) return {}
    return insightsOf(post)
  },
}

export function insightsOf({
  bookmarkCount,
  likeCount = 0,
  quoteCount = 0,
  replyCount = 0,
  repostCount = 0,
}: PostView): Insights {
  return {
    likes: likeCount,
    shares: repostCount + quoteCount,
    comments: replyCount,
    ...(bookmarkCount !== undefined && { saves: bookmarkCount }),
  }
}

type Step = (context: PublishContext, part: PublishPart, state: State) => Promise<StepResult>

const STEPS: Readonly<Record<State['step'], Step>> = {
  upload: async (context, { media }, state) => {
    const file = media[state.blobs.length]
    if (file === undefined) return next({ ...state, step: 'compose' })
    if (file.kind === 'video') {
      const video = await startUpload(context, file)
      if (video !== undefined) return next({ ...state, step: 'video', video })
    }
    return next(withBlob(state, await uploadBlob(context, file)))
  },
  video: async (context, { media }, state) => {
    const file = media[state.blobs.length]
    if (file === undefined || state.video === undefined) return next({ ...state, step: 'compose' })
    const { isFinished, parts, sent } = state.video
    if (sent < parts) return next({ ...state, video: await sendPart(context, file, state.video) })
    if (!isFinished) return next({ ...state, video: await finishUpload(context, state.video) })
    const blob = await processed(context, state.video)
    return blob === undefined ? { kind: 'next', state, waitMs: POLL_MS } : next(withBlob(state, blob))
  },
  card: async ({ pages, signal }, part, state) => {
    const uri = cardLinkOf(part)
    if (uri === undefined) return next({ ...state, step: 'compose' })
    const card = { uri, ...(await pages.card(uri, signal)) }
    return next({ ...state, step: card.imageUrl === undefined ? 'compose' : 'thumb', card })
  },
  thumb: async (context, _part, { card, ...state }) => {
    const thumb = card?.imageUrl === undefined ? undefined : await thumbOf(context, card.imageUrl)
    return next({ ...state, step: 'compose', ...(card && { card: { ...card, ...(thumb && { thumb }) } }) })
  },
  compose: async (context, part, state) => {
    const handles = mentionsOf(part.text)
    const found = await Promise.all(handles.map((handle) => resolveHandle(context, handle)))
    const dids = Object.fromEntries(
      handles.flatMap((handle, index) => (found[index] === undefined ? [] : [[handle, found[index]]])),
    ) as Record<string, string>
    const bare = recordOf(part, { blobs: state.blobs, dids, card: state.card })
    const record = withQuote(bare, await quotedBy(context, part))
    const hasGate = gateOf(part, uriOf(context, state.rkey)) !== undefined
    return next({ ...state, step: hasGate ? 'gate' : 'publish', record })
  },
  // Before the post, so that nobody can reply in between.
  gate: async (context, part, state) => {
    await put(context, GATE, state.rkey, gateOf(part, uriOf(context, state.rkey)))
    return next({ ...state, step: 'publish' })
  },
  publish: async (context, part, { record, rkey }) => {
    const post = postOf(await put(context, POST, rkey, record))
    const hasGate = gateOf(part, post.id) !== undefined
    return { kind: 'published', post: hasGate ? { ...post, ids: { ...post.ids, gate: '1' } } : post }
  },
}

function next(state: State): StepResult {
  return { kind: 'next', state }
}

function withBlob({ video: _done, ...state }: State, blob: Blob): State {
  return { ...state, step: 'upload', blobs: [...state.blobs, blob] }
}

async function uploadBlob(context: PublishContext, { bytes, id, type }: PostMedia): Promise<Blob> {
  const { json } = await send(context, 'com.atproto.repo.uploadBlob', {
    method: 'POST',
    headers: { 'Content-Type': type },
    body: () => context.media.read(id, 0, bytes),
    timeoutMs: UPLOAD_TIMEOUT_MS,
  })
  return (json as { blob: Blob }).blob
}

/** The picture of a card. One that the server refuses is left out. */
async function thumbOf(context: PublishContext, url: string): Promise<Blob | undefined> {
  const picture = await context.pages.picture(url, THUMB_BYTES, context.signal)
  if (picture === undefined) return undefined
  const { bytes, type } = picture
  try {
    const { json } = await send(context, 'com.atproto.repo.uploadBlob', {
      method: 'POST',
      headers: { 'Content-Type': type },
      body: () => Promise.resolve({ stream: Readable.from([bytes]), size: bytes.length }),
      timeoutMs: UPLOAD_TIMEOUT_MS,
    })
    return (json as { blob: Blob }).blob
  } catch (error) {
    if (isPictureRefused(error)) return undefined
    throw error
  }
}

function put(context: PublishContext, collection: string, rkey: string, record: unknown): Promise<Put> {
  return procedure<Put>(context, 'com.atproto.repo.putRecord', { repo: didOf(context), collection, rkey, record })
}

function uriOf(context: PublishContext, rkey: string): string {
  return `at://${didOf(context)}/${POST}/${rkey}`
}

export function postOf({ cid, uri }: Put): RemotePost {
  const [, , did = '', , rkey = ''] = uri.split('/')
  return { id: uri, url: `https://bsky.app/profile/${did}/post/${rkey}`, ids: { cid } }
}
