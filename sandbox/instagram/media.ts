import type { Clock } from '../../src/core/clock.ts'
import { graphError, listPage, paramsOf, pick } from '../meta/graph.ts'
import { json, type FakeReply, type FakeRequest, type SandboxPost } from '../fake.ts'
import { breachOf, mediaFactsOfUrl, type MediaBounds } from '../media-facts.ts'
import type { TokenHolder } from '../oauth-server.ts'
import { demographicsOf } from './demographics.ts'
import type { FakeAccount, FakeComment, FakeContainer, FakeMedia, State } from './state.ts'

interface MediaApiOptions {
  readonly clock: Clock
  readonly state: State
  readonly nextId: () => string
}

type Params = Readonly<Record<string, string>>

const POSTS_PER_DAY = 50
const DAY_MS = 86_400_000
const IMAGE_BYTES = 8 * 1_024 * 1_024
const VIDEO_BYTES = 300_000_000
/** developers.facebook.com, IG User Media, 2026-11. */
const IMAGE: MediaBounds = { ratio: [0.8, 1.91] }
const REEL: MediaBounds = {
  codecs: ['h264', 'hevc'],
  seconds: [3, 900],
  fps: [23, 60],
  ratio: [0.01, 10],
}
const STORY: MediaBounds = { ...REEL, seconds: [3, 60] }
/** How often a container is still being processed. */
const IMAGE_POLLS = 1
const VIDEO_POLLS = 2
const METRICS = ['views', 'reach', 'likes', 'comments', 'shares', 'saved']
const STORY_METRICS = ['views', 'reach', 'shares']

/** Containers, media and comments of the fake. */
export class FakeMediaApi {
  readonly #clock: Clock
  readonly #state: State
  readonly #nextId: () => string

  constructor({ clock, nextId, state }: MediaApiOptions) {
    this.#clock = clock
    this.#state = state
    this.#nextId = nextId
  }

  handle(request: FakeRequest, path: string, { scopes }: TokenHolder, account: FakeAccount): FakeReply {
    const [id = '', edge = ''] = path.split('/')
    const { method } = request
    const needed =
      edge === 'comments' || method === 'DELETE'
        ? 'instagram_business_manage_comments'
        : edge === 'insights'
          ? 'instagram_business_manage_insights'
          : method === 'POST' || edge === 'content_publishing_limit'
            ? 'instagram_business_content_publish'
            : 'instagram_business_basic'
    if (!scopes.includes(needed)) {
      return graphError(10, '(#10) Application does not have permission for this action', { status: 403 })
    }
    if (id === account.id) return this.#ofAccount(request, edge, account)
    const container = this.#state.containers[id]
    if (container?.account === account.id && method === 'GET' && edge === '')
      return this.#containerView(request, container)
    const comment = this.#state.comments.find((one) => one.id === id && one.account === account.id)
    if (comment !== undefined && edge === '') return this.#ofComment(request, comment)
    const media = this.#state.media.find((one) => one.id === id && one.account === account.id)
    if (media === undefined) return missing(method, id)
    return this.#ofMedia(request, edge, media, account)
  }

  posts(): SandboxPost[] {
    const { accounts, comments, media } = this.#state
    const name = (id: string) => accounts[id]?.username ?? id
    const posts = media.map(({ account, at, caption, files, id }) => ({
      id,
      account,
      text: caption,
      media: files,
      replyTo: null,
      at,
    }))
    const answers = comments.map(({ account, at, id, media: post, text }) => ({
      id,
      account,
      text,
      media: [],
      replyTo: post,
      at,
    }))
    return [...posts, ...answers]
      .toSorted((one, other) => one.at - other.at)
      .map(({ account, at, ...post }) => ({ ...post, account: name(account), publishedAt: new Date(at).toISOString() }))
  }

  #ofAccount(request: FakeRequest, edge: string, account: FakeAccount): FakeReply {
    const params = paramsOf(request)
    if (request.method === 'POST') {
      if (account.type === 'PERSONAL') {
        return graphError(10, '(#10) The account is not a professional account', { status: 403 })
      }
      if (edge === 'media') return this.#create(params, account)
      if (edge === 'media_publish') return this.#publish(params['creation_id'] ?? '', account)
    } else if (edge === 'media' || edge === 'stories') {
      const own = this.#state.media.filter(
        (one) => one.account === account.id && (one.kind === 'STORIES') === (edge === 'stories'),
      )
      return listPage(
        own.toReversed().map((one) => mediaView(request.base, one, account)),
        params,
      )
    } else if (edge === 'insights') {
      return demographicsOf(params, account)
    } else if (edge === 'content_publishing_limit') {
      const config = { quota_total: POSTS_PER_DAY, quota_duration: DAY_MS / 1_000 }
      const { id: _id, ...view } = pick(
        { quota_usage: this.#postsToday(account), config },
        params['fields'] ?? 'quota_usage',
      )
      return json(200, { data: [view] })
    }
    return missing(request.method, account.id)
  }

  #create(params: Params, account: FakeAccount): FakeReply {
    const { caption = '', image_url: image, media_type: type, video_url: video } = params
    const isItem = params['is_carousel_item'] === 'true'
    const kind = type ?? 'IMAGE'
    if (kind !== 'IMAGE' && kind !== 'VIDEO' && kind !== 'REELS' && kind !== 'STORIES' && kind !== 'CAROUSEL') {
      return graphError(100, 'Invalid parameter', { subcode: 2_207_023, user: `The media type ${kind} is unknown.` })
    }
    if (kind === 'VIDEO' && !isItem) {
      return graphError(
        100,
        'The VIDEO value for media_type is no longer supported. Use the REELS media type to publish a video to your Instagram feed.',
        { subcode: 2_207_067 },
      )
    }
    if (kind === 'CAROUSEL') return this.#carousel(params, account)
    const isVideo = kind === 'VIDEO' || kind === 'REELS' || (kind === 'STORIES' && video !== undefined)
    const url = isVideo ? video : image
    const problem =
      captionProblem(caption) ?? fileProblem(url, isVideo) ?? shapeProblem(url, isVideo || kind === 'STORIES')
    if (problem !== undefined) return problem
    const altText = params['alt_text'] ?? null
    if (altText !== null && (isVideo || kind === 'STORIES' || Array.from(altText).length > 1_000)) {
      return graphError(100, '(#100) Param alt_text is not supported for this media or too long')
    }
    return this.#add(account, {
      kind,
      isItem,
      url: url ?? null,
      caption,
      altText,
      children: [],
      pending: isVideo ? VIDEO_POLLS : IMAGE_POLLS,
      failure: isVideo ? videoFailure(url, kind === 'STORIES' ? STORY : REEL) : null,
    })
  }

  #carousel({ caption = '', children = '' }: Params, account: FakeAccount): FakeReply {
    const ids = children.startsWith('[') ? (JSON.parse(children) as string[]) : children.split(',').filter(Boolean)
    if (ids.length < 2 || ids.length > 10) {
      return graphError(100, 'Invalid parameter', {
        subcode: 2_207_028,
        user: "Your post won't work as a carousel. Carousels need at least 2 photos/videos and no more than 10 photos/videos.",
      })
    }
    const items = ids.map((id) => this.#state.containers[id])
    if (
      items.some((item) => item === undefined || item.account !== account.id || !item.isItem || item.usedBy !== null)
    ) {
      return graphError(24, 'The requested resource does not exist', { subcode: 2_207_006, title: 'Media Not Found' })
    }
    if (items.some((item) => item !== undefined && this.#statusOf(item) !== 'FINISHED')) return notReady()
    const problem = captionProblem(caption)
    if (problem !== undefined) return problem
    const reply = this.#add(account, {
      kind: 'CAROUSEL',
      isItem: false,
      url: null,
      caption,
      altText: null,
      children: ids,
      pending: IMAGE_POLLS,
      failure: null,
    })
    for (const item of items) item!.usedBy = (reply.body as { id: string }).id
    return reply
  }

  #add(account: FakeAccount, fields: Omit<FakeContainer, 'id' | 'account' | 'createdAt' | 'usedBy'>): FakeReply {
    const id = this.#nextId()
    this.#state.containers[id] = {
      id,
      account: account.id,
      createdAt: this.#clock.now(),
      usedBy: null,
      ...fields,
    }
    return json(200, { id })
  }

  #publish(id: string, account: FakeAccount): FakeReply {
    const container = this.#state.containers[id]
    const status = container?.account === account.id ? this.#statusOf(container) : 'EXPIRED'
    if (container === undefined || container.isItem || status === 'EXPIRED' || status === 'PUBLISHED') {
      return graphError(24, 'The requested resource does not exist', {
        subcode: 2_207_008,
        user: `The media builder with creation id = ${id} does not exist or has been expired.`,
      })
    }
    if (status !== 'FINISHED') return notReady()
    if (this.#postsToday(account) >= POSTS_PER_DAY) {
      return graphError(9, 'Application request limit reached', {
        subcode: 2_207_042,
        status: 403,
        user: 'You reached maximum number of posts that is allowed to be published by Content Publishing API.',
      })
    }
    const files = container.children.length > 0 ? container.children : [id]
    const media: FakeMedia = {
      id: this.#nextId(),
      account: account.id,
      kind: container.kind,
      caption: container.caption,
      files: files.map((file) => this.#state.containers[file]?.url ?? file),
      at: this.#clock.now(),
    }
    this.#state.media.push(media)
    container.usedBy = media.id
    return json(200, { id: media.id })
  }

  #statusOf(container: FakeContainer) {
    if (container.usedBy !== null) return 'PUBLISHED'
    if (this.#clock.now() - container.createdAt > DAY_MS) return 'EXPIRED'
    if (container.pending > 0) return 'IN_PROGRESS'
    return container.failure === null ? 'FINISHED' : 'ERROR'
  }

  #containerView(request: FakeRequest, container: FakeContainer): FakeReply {
    const code = this.#statusOf(container)
    if (container.pending > 0) container.pending -= 1
    const status =
      code === 'ERROR'
        ? `Error: Media upload has failed with error code ${container.failure}`
        : `${code}: Media is in this state.`
    return json(200, pick({ id: container.id, status_code: code, status }, paramsOf(request)['fields']))
  }

  #ofMedia(request: FakeRequest, edge: string, media: FakeMedia, account: FakeAccount): FakeReply {
    const params = paramsOf(request)
    const { comments } = this.#state
    if (edge === '' && request.method === 'GET')
      return json(200, pick(mediaView(request.base, media, account), params['fields']))
    if (edge === 'insights' && request.method === 'GET') {
      const known = media.kind === 'STORIES' ? STORY_METRICS : METRICS
      const names = (params['metric'] ?? '').split(',').filter(Boolean)
      const wrong = names.find((name) => !known.includes(name))
      if (names.length === 0 || wrong !== undefined)
        return graphError(100, `(#100) metric ${wrong ?? ''} is not available`)
      const count = comments.filter((comment) => comment.media === media.id).length
      const data = names.map((name) => ({
        name,
        period: 'lifetime',
        values: [{ value: name === 'comments' ? count : 0 }],
        id: `${media.id}/insights/${name}/lifetime`,
      }))
      return json(200, { data })
    }
    if (edge !== 'comments' || media.kind === 'STORIES') return missing(request.method, media.id)
    if (request.method === 'GET') {
      const own = comments.filter((comment) => comment.media === media.id).toReversed()
      return listPage(
        own.map(({ at, id, text }) => ({ id, text, timestamp: graphTime(at), username: account.username })),
        params,
      )
    }
    const text = (params['message'] ?? '').trim()
    if (text === '' || Array.from(text).length > 300)
      return graphError(100, '(#100) The comment is empty or longer than 300 characters')
    const comment: FakeComment = {
      id: this.#nextId(),
      account: account.id,
      media: media.id,
      text,
      at: this.#clock.now(),
    }
    comments.push(comment)
    return json(200, { id: comment.id })
  }

  #ofComment(request: FakeRequest, comment: FakeComment): FakeReply {
    if (request.method === 'DELETE') {
      this.#state.comments.splice(this.#state.comments.indexOf(comment), 1)
      return json(200, { success: true })
    }
    const { at, id, text } = comment
    return json(200, pick({ id, text, timestamp: graphTime(at) }, paramsOf(request)['fields']))
  }

  #postsToday({ id }: FakeAccount): number {
    return this.#state.media.filter(({ account, at }) => account === id && this.#clock.now() - at < DAY_MS).length
  }
}

function captionProblem(caption: string): FakeReply | undefined {
  const hashtags = caption.match(/#[\p{L}\p{N}_]+/gu)?.length ?? 0
  const mentions = caption.match(/(?<![\w.])@[\w.]+/g)?.length ?? 0
  if (Array.from(caption).length <= 2_200 && hashtags <= 30 && mentions <= 20) return undefined
  return graphError(36_004, 'The caption was too long.', {
    subcode: 2_207_010,
    user: 'Captions have at most 2,200 characters, 30 hashtags and 20 mentions.',
  })
}

/** Fakes fetch nothing. The URL states the size of the file, and its extension states the type. */
function fileProblem(address: string | undefined, isVideo: boolean): FakeReply | undefined {
  const url = URL.parse(address ?? '')
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return graphError(9_004, 'Only photo or video can be accepted as media type.', {
      subcode: 2_207_052,
      user: 'The media could not be fetched from this URI.',
    })
  }
  const bytes = Number(url.searchParams.get('bytes') ?? 0)
  if (isVideo) {
    const isWrong = bytes > VIDEO_BYTES || !/^[^.]*$|\.(?:mp4|mov|quicktime)$/i.test(url.pathname)
    return isWrong
      ? graphError(352, 'The video file you selected is in a format that we don’t support.', { subcode: 2_207_026 })
      : undefined
  }
  if (bytes > IMAGE_BYTES) {
    return graphError(36_000, 'The image size is too large.', {
      subcode: 2_207_004,
      title: 'Image size too large',
      user: 'The image is too large to download. It should be less than 8 MiB.',
    })
  }
  if (/^[^.]*$|\.jpe?g$/i.test(url.pathname)) return undefined
  return graphError(36_001, 'The image format is not supported.', { subcode: 2_207_005 })
}

/** Images of posts have limits of shape. Those of stories have none. */
function shapeProblem(address: string | undefined, isFree: boolean): FakeReply | undefined {
  if (isFree || breachOf(mediaFactsOfUrl(address ?? ''), IMAGE) === undefined) return undefined
  return graphError(36_003, 'The aspect ratio is not supported.', {
    subcode: 2_207_009,
    user: 'The submitted image with aspect ratio cannot be published. Please submit an image with a valid aspect ratio.',
  })
}

/** The code with which the processing of a video fails; null when it works. */
function videoFailure(address: string | undefined, bounds: MediaBounds): string | null {
  return breachOf(mediaFactsOfUrl(address ?? ''), bounds) === undefined ? null : '2207026'
}

function notReady(): FakeReply {
  return graphError(9_007, 'Media ID is not available', {
    subcode: 2_207_027,
    user: 'The media is not ready for publishing, please wait for a moment',
  })
}

function mediaView(base: string, { at, caption, files, id, kind }: FakeMedia, { username }: FakeAccount) {
  const isVideo = kind === 'REELS' || kind === 'VIDEO'
  return {
    id,
    caption: caption === '' ? undefined : caption,
    media_type: kind === 'CAROUSEL' ? 'CAROUSEL_ALBUM' : isVideo ? 'VIDEO' : kind === 'STORIES' ? undefined : 'IMAGE',
    media_product_type: kind === 'REELS' ? 'REELS' : kind === 'STORIES' ? 'STORY' : 'FEED',
    media_url: files[0],
    permalink: `${base}/p/${Number(id).toString(36)}/`,
    timestamp: graphTime(at),
    username,
    like_count: 0,
    comments_count: 0,
  }
}

/** `2026-11-22T12:00:00+0000`. */
function graphTime(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, '+0000')
}

function missing(method: string, id: string): FakeReply {
  const message = `Unsupported ${method.toLowerCase()} request. Object with ID '${id}' does not exist, cannot be loaded due to missing permissions, or does not support this operation.`
  return graphError(100, message, { subcode: 33, type: 'GraphMethodException' })
}
