import type { Clock } from '../../src/core/clock.ts'
import { graphError, listPage, paramsOf, pick } from '../meta/graph.ts'
import { json, type FakeReply, type FakeRequest, type SandboxPost } from '../fake.ts'
import { breachOf, mediaFacts, type MediaBounds } from '../media-facts.ts'
import { partsOf } from '../multipart.ts'
import type { TokenHolder } from '../oauth-server.ts'
import type { FakeComment, FakePage, FakePost, FakeStory, FakeVideo, State } from './state.ts'

interface ContentOptions {
  readonly clock: Clock
  readonly state: State
  readonly nextId: () => string
}

type Params = Readonly<Record<string, string>>

const MAX_CHARACTERS = 63_206
const MAX_COMMENT_CHARACTERS = 8_000
const MAX_PHOTOS = 10
const PHOTO_BYTES = 10_000_000
const PHOTO_TYPES = /^image\/(?:jpeg|png|gif|bmp|tiff)$/
const REELS_PER_DAY = 30
/** developers.facebook.com, Reels Publishing, 2026-11. 9:16 has some tolerance. */
const REEL: MediaBounds = {
  types: ['video/mp4', 'video/quicktime'],
  codecs: ['h264', 'hevc', 'vp9', 'av1'],
  seconds: [3, 90],
  fps: [24, 60],
  width: [540, Infinity],
  height: [960, Infinity],
  ratio: [0.56, 0.57],
}
/** Page Stories, 2026-11: a shorter reel. */
const STORY: MediaBounds = { ...REEL, seconds: [3, 60] }
const DAY_MS = 86_400_000
/** How often a reel is still being processed. */
const REEL_POLLS = 2

/** The posts, photos, reels and comments of the pages of the fake. */
export class FakeContent {
  readonly #clock: Clock
  readonly #state: State
  readonly #nextId: () => string

  constructor({ clock, nextId, state }: ContentOptions) {
    this.#clock = clock
    this.#state = state
    this.#nextId = nextId
  }

  /** A call with the token of a page; without a page the token is a user's, which cannot publish. */
  handle(request: FakeRequest, path: string, { scopes }: TokenHolder, page: FakePage | undefined): FakeReply {
    const [id = '', edge, ...rest] = path.split('/')
    if (page === undefined || rest.length > 0) return missing(request.method, id)
    const isWrite = request.method !== 'GET'
    const needed =
      edge === 'comments' && isWrite
        ? 'pages_manage_engagement'
        : isWrite
          ? 'pages_manage_posts'
          : 'pages_read_engagement'
    if (!scopes.includes(needed)) {
      return graphError(200, `(#200) Requires ${needed} permission to manage the object`, { status: 403 })
    }
    if (isWrite && !page.tasks.includes('CREATE_CONTENT')) {
      return graphError(200, '(#200) The user must be an administrator, editor, or moderator of the page', {
        status: 403,
      })
    }
    if (id === page.id) return this.#ofPage(request, edge ?? '', page)
    return edge === undefined ? this.#ofObject(request, id, page) : this.#ofEdge(request, id, edge, page)
  }

  /** The upload server: the rest of a file, from the offset in the header. */
  receive({ bytes, headers, path }: FakeRequest): FakeReply {
    const video = this.#state.videos[path.split('/').at(-1) ?? '']
    if (video === undefined) return uploadError('NotFoundError', 'The upload session does not exist.')
    const offset = Number(headers['offset'])
    const size = Number(headers['file_size'])
    if (!Number.isInteger(size) || size <= 0 || (video.size !== null && video.size !== size)) {
      return uploadError('InvalidRequestError', 'The header file_size is missing or has changed.')
    }
    if (offset !== video.received) return uploadError('OffsetInvalidError', `Expected offset ${video.received}`)
    if (offset === 0) {
      const fault = breachOf(mediaFacts(bytes), video.isStory === true ? STORY : REEL)
      if (fault !== undefined)
        video.failure = `The video is not a ${video.isStory === true ? 'story' : 'reel'}: ${fault}`
    }
    video.size = size
    video.received += bytes.length
    if (video.received > size) return uploadError('ProcessingFailedError', 'Request processing failed')
    return video.received === size
      ? json(200, { success: true })
      : uploadError('PartialRequestError', 'The upload is incomplete', true)
  }

  posts(): SandboxPost[] {
    const { comments, pages, photos, posts, stories, videos } = this.#state
    const name = (page: string) => pages[page]?.name ?? page
    const reels = Object.values(videos).flatMap(({ description, id, isStory = false, page, publishedAt }) =>
      publishedAt === null || isStory
        ? []
        : [{ id, page, text: description, media: ['video/mp4'], replyTo: null, at: publishedAt }],
    )
    const shown = posts.map(({ at, id, message, page, photos: ids }) => ({
      id,
      page,
      text: message,
      media: ids.map((photo) => photos[photo]?.type ?? photo),
      replyTo: null,
      at,
    }))
    const answers = comments.map(({ at, id, message, object, page }) => ({
      id,
      page,
      text: message,
      media: [],
      replyTo: object,
      at,
    }))
    const shortLived = stories.map(({ at, id, page, type }) => ({
      id,
      page,
      text: '',
      media: [type],
      replyTo: null,
      at,
    }))
    return [...shown, ...reels, ...answers, ...shortLived]
      .toSorted((one, other) => one.at - other.at)
      .map(({ at, page, ...post }) => ({ ...post, account: name(page), publishedAt: new Date(at).toISOString() }))
  }

  #ofPage(request: FakeRequest, edge: string, page: FakePage): FakeReply {
    const params = paramsOf(request)
    if (request.method === 'POST') {
      if (edge === 'feed') return this.#post(params, page)
      if (edge === 'photos') return this.#photo(request, page)
      if (edge === 'video_reels') return this.#reel(request, params, page)
      if (edge === 'photo_stories') return this.#photoStory(params, page)
      if (edge === 'video_stories') return this.#videoStory(request, params, page)
    } else if (edge === 'stories') {
      const own = this.#state.stories.filter((story) => story.page === page.id).toReversed()
      return listPage(
        own.map((story) => storyView(request.base, story)),
        params,
      )
    } else if (edge === 'feed' || edge === 'posts' || edge === 'published_posts') {
      const since = Number(params['since'] ?? 0) * 1_000
      const own = this.#state.posts.filter((post) => post.page === page.id && post.at >= since).toReversed()
      return listPage(
        own.map((post) => this.#postView(request.base, post)),
        params,
      )
    }
    return missing(request.method, page.id)
  }

  #post(params: Params, page: FakePage): FakeReply {
    const message = (params['message'] ?? '').trim()
    const ids = Object.entries(params).flatMap(([name, value]) =>
      /^attached_media\[\d+\]$/.test(name) ? [(JSON.parse(value) as { media_fbid?: string }).media_fbid ?? ''] : [],
    )
    const listed = params['attached_media']
    if (listed !== undefined) ids.push(...(JSON.parse(listed) as { media_fbid: string }[]).map((one) => one.media_fbid))
    const problem = this.#postProblem(message, ids, params['link'], page)
    if (problem !== undefined) return problem
    const id = `${page.id}_${this.#nextId()}`
    this.#state.posts.push({
      id,
      page: page.id,
      message,
      link: params['link'] ?? null,
      photos: ids,
      at: this.#clock.now(),
    })
    for (const photo of ids) this.#state.photos[photo]!.post = id
    return json(200, { id })
  }

  #postProblem(
    message: string,
    ids: readonly string[],
    link: string | undefined,
    page: FakePage,
  ): FakeReply | undefined {
    const { photos, posts } = this.#state
    if (message === '' && ids.length === 0 && link === undefined) {
      return graphError(100, '(#100) You must provide message, link, place or attached_media', {
        user: 'The post is empty.',
      })
    }
    if (Array.from(message).length > MAX_CHARACTERS)
      return graphError(100, '(#100) Param message must be at most 63206 characters')
    if (link !== undefined && ids.length > 0)
      return graphError(100, '(#100) A post has either a link or attached media')
    if (link !== undefined && !/^https?:\/\/[^/]+\.[^/]+/.test(link)) {
      return graphError(1_500, 'The url you supplied is invalid')
    }
    if (ids.length > MAX_PHOTOS) return graphError(100, '(#100) Too many attached media')
    const found = ids.map((id) => photos[id])
    if (found.some((photo) => photo === undefined || photo.page !== page.id)) {
      return graphError(100, '(#100) Invalid parameter: attached_media')
    }
    if (found.some((photo) => photo?.post !== null)) {
      return graphError(100, 'Invalid parameter', {
        subcode: 1_366_051,
        title: 'Already Posted',
        user: 'These photos were already posted.',
      })
    }
    const last = posts.filter((post) => post.page === page.id).at(-1)
    const isSame = last !== undefined && last.message === message && message !== ''
    if (isSame && ids.length === 0 && last.photos.length === 0)
      return graphError(506, '(#506) Duplicate status message')
    return undefined
  }

  #photo(request: FakeRequest, page: FakePage): FakeReply {
    const parts = partsOf(request.headers['content-type'], request.bytes)
    const textOf = (name: string) => parts.find((part) => part.name === name)?.bytes.toString('utf8')
    const file = parts.find(({ name }) => name === 'source')
    if (file === undefined || !PHOTO_TYPES.test(file.type ?? '')) {
      return graphError(324, '(#324) Requires upload file', { user: 'Missing or invalid image file' })
    }
    if (file.bytes.length > PHOTO_BYTES)
      return graphError(1, '(#1) The image is too large', {
        subcode: 1_366_046,
        user: 'Photos should be less than 10 MB.',
      })
    const id = this.#nextId()
    this.#state.photos[id] = {
      id,
      page: page.id,
      type: file.type ?? '',
      altText: textOf('alt_text_custom') ?? null,
      post: null,
    }
    if (textOf('published') === 'false') return json(200, { id })
    const post = `${page.id}_${this.#nextId()}`
    this.#state.photos[id].post = post
    const message = textOf('message') ?? textOf('caption') ?? ''
    this.#state.posts.push({ id: post, page: page.id, message, link: null, photos: [id], at: this.#clock.now() })
    return json(200, { id, post_id: post })
  }

  /** Publishes an unpublished photo as a story (developers.facebook.com, Page Stories, 2026-11). */
  #photoStory(params: Params, page: FakePage): FakeReply {
    const photo = this.#state.photos[params['photo_id'] ?? '']
    if (photo?.page !== page.id) return graphError(100, '(#100) Invalid parameter: photo_id')
    if (photo.post !== null) return graphError(100, 'Invalid parameter', { user: 'This photo was already posted.' })
    const id = this.#addStory(page, photo.id, photo.type)
    photo.post = id
    return json(200, { success: true, post_id: id })
  }

  /** Starts and finishes the upload of a video that becomes a story. */
  #videoStory({ base }: FakeRequest, params: Params, page: FakePage): FakeReply {
    const phase = (params['upload_phase'] ?? '').toLowerCase()
    if (phase === 'start') return this.#startVideo(base, page, true)
    const video = this.#state.videos[params['video_id'] ?? '']
    if (phase !== 'finish' || video?.page !== page.id || video.isStory !== true) {
      return graphError(100, '(#100) Invalid parameter')
    }
    if (video.size === null || video.received < video.size) {
      return graphError(6_000, 'There was a problem uploading your video file. Please try again.', {
        subcode: 1_363_130,
      })
    }
    video.publishedAt ??= this.#clock.now()
    const known = this.#state.stories.find(({ media }) => media === video.id)
    const id = known?.id ?? (video.failure === null ? this.#addStory(page, video.id, 'video/mp4') : this.#nextId())
    return json(200, { success: true, post_id: id })
  }

  #addStory(page: FakePage, media: string, type: string): string {
    const id = this.#nextId()
    this.#state.stories.push({ id, page: page.id, media, type, at: this.#clock.now() })
    return id
  }

  #startVideo(base: string, page: FakePage, isStory: boolean): FakeReply {
    const id = this.#nextId()
    this.#state.videos[id] = {
      id,
      page: page.id,
      size: null,
      received: 0,
      description: '',
      pending: REEL_POLLS,
      failure: null,
      isStory,
      publishedAt: null,
    }
    return json(200, { video_id: id, upload_url: `${base}/video-upload/v24.0/${id}` })
  }

  #reel({ base }: FakeRequest, params: Params, page: FakePage): FakeReply {
    const phase = (params['upload_phase'] ?? '').toLowerCase()
    if (phase === 'start') return this.#startVideo(base, page, false)
    const video = this.#state.videos[params['video_id'] ?? '']
    if (phase !== 'finish' || video?.page !== page.id || video.isStory === true)
      return graphError(100, '(#100) Invalid parameter')
    if (video.size === null || video.received < video.size) {
      return graphError(6_000, 'There was a problem uploading your video file. Please try again.', {
        subcode: 1_363_130,
      })
    }
    if (Array.from(params['description'] ?? '').length > MAX_CHARACTERS)
      return graphError(100, '(#100) Param description must be at most 63206 characters')
    if (params['video_state'] !== 'PUBLISHED') return json(200, { success: true })
    const now = this.#clock.now()
    const today = Object.values(this.#state.videos).filter(
      (one) => one.page === page.id && one.publishedAt !== null && one.publishedAt > now - DAY_MS,
    )
    if (video.publishedAt === null && today.length >= REELS_PER_DAY) {
      return graphError(613, '(#613) Calls to this api have exceeded the rate limit.')
    }
    // A video is one reel, however often it is finished.
    video.publishedAt ??= now
    video.description = params['description'] ?? ''
    return json(200, { success: true, message: 'Reel is being processed' })
  }

  #ofObject(request: FakeRequest, id: string, page: FakePage): FakeReply {
    const { comments, posts, videos } = this.#state
    const params = paramsOf(request)
    const post = posts.find((one) => one.id === id && one.page === page.id)
    const video = videos[id]?.page === page.id ? videos[id] : undefined
    const comment = comments.find((one) => one.id === id && one.page === page.id)
    const found = post ?? video ?? comment
    if (found === undefined) return missing(request.method, id)
    if (request.method === 'DELETE') {
      if (post !== undefined) posts.splice(posts.indexOf(post), 1)
      if (comment !== undefined) comments.splice(comments.indexOf(comment), 1)
      if (video !== undefined) delete videos[id]
      return json(200, { success: true })
    }
    if (request.method === 'POST') {
      if (video !== undefined) video.description = params['description'] ?? video.description
      else (post ?? comment)!.message = params['message'] ?? ''
      return json(200, { success: true })
    }
    if (video !== undefined) return json(200, pick(this.#videoView(request.base, video), params['fields']))
    const view = post === undefined ? commentView(comment!, page) : this.#postView(request.base, post)
    return json(200, pick(view, params['fields']))
  }

  #ofEdge(request: FakeRequest, id: string, edge: string, page: FakePage): FakeReply {
    const { comments, posts, videos } = this.#state
    const isKnown = posts.some((post) => post.id === id) || videos[id]?.publishedAt !== undefined
    if (!isKnown || edge !== 'comments') return missing(request.method, id)
    const params = paramsOf(request)
    if (request.method === 'GET') {
      const own = comments.filter(({ object }) => object === id).toReversed()
      return listPage(
        own.map((comment) => commentView(comment, page)),
        params,
      )
    }
    const message = (params['message'] ?? '').trim()
    if (message === '') return graphError(100, '(#100) The parameter message is required')
    if (Array.from(message).length > MAX_COMMENT_CHARACTERS)
      return graphError(100, '(#100) Param message must be at most 8000 characters')
    const comment = {
      id: `${id.split('_').at(-1)}_${this.#nextId()}`,
      page: page.id,
      object: id,
      message,
      at: this.#clock.now(),
    }
    comments.push(comment)
    return json(200, { id: comment.id })
  }

  #postView(base: string, { at, id, message, photos }: FakePost) {
    const [first, ...more] = photos.map((photo) => ({ type: 'photo', target: { id: photo } }))
    const attachment = more.length === 0 ? first : { type: 'album', subattachments: { data: [first, ...more] } }
    return {
      id,
      message: message === '' ? undefined : message,
      created_time: graphTime(at),
      permalink_url: `${base}/${id.replace('_', '/posts/')}`,
      attachments: attachment === undefined ? undefined : { data: [attachment] },
      ...this.#figures(id),
    }
  }

  #videoView(base: string, video: FakeVideo) {
    const { description, failure, id, publishedAt, received, size } = video
    const isUploaded = size !== null && received === size
    const isPending = publishedAt !== null && video.pending > 0
    if (isPending) video.pending -= 1
    const isFailed = publishedAt !== null && !isPending && failure !== null
    return {
      id,
      description,
      views: 0,
      permalink_url: `/reel/${id}/`,
      status: {
        video_status: isFailed
          ? 'error'
          : publishedAt === null
            ? 'upload_complete'
            : isPending
              ? 'processing'
              : 'ready',
        uploading_phase: { status: isUploaded ? 'complete' : 'in_progress', bytes_transferred: received },
        processing_phase: {
          status: isFailed ? 'error' : publishedAt === null ? 'not_started' : isPending ? 'in_progress' : 'complete',
          ...(isFailed && { errors: [{ code: 1_363_128, message: failure }] }),
        },
        publishing_phase: {
          status: publishedAt === null || isFailed ? 'not_started' : isPending ? 'in_progress' : 'complete',
          ...(publishedAt !== null && { publish_status: 'published', publish_time: graphTime(publishedAt) }),
        },
      },
      ...this.#figures(id),
    }
  }

  #figures(id: string) {
    const count = this.#state.comments.filter(({ object }) => object === id).length
    return {
      reactions: { data: [], summary: { total_count: 0 } },
      comments: { data: [], summary: { total_count: count } },
      shares: { count: 0 },
    }
  }
}

function storyView(base: string, { at, id, media, type }: FakeStory) {
  return {
    post_id: id,
    status: 'PUBLISHED',
    creation_time: String(Math.floor(at / 1_000)),
    media_type: type.startsWith('video/') ? 'video' : 'photo',
    media_id: media,
    url: `${base}/stories/${id}`,
  }
}

function commentView({ at, id, message }: FakeComment, { id: page, name }: FakePage) {
  return { id, message, created_time: graphTime(at), from: { id: page, name } }
}

/** `2026-11-22T12:00:00+0000`. */
function graphTime(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, '+0000')
}

function missing(method: string, id: string): FakeReply {
  const message = `Unsupported ${method.toLowerCase()} request. Object with ID '${id}' does not exist, cannot be loaded due to missing permissions, or does not support this operation.`
  return graphError(100, message, { subcode: 33, type: 'GraphMethodException' })
}

function uploadError(type: string, message: string, retriable = false): FakeReply {
  return json(400, { debug_info: { retriable, type, message } })
}
