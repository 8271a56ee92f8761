import type { Clock } from '../../src/core/clock.ts'
import type { FakeReply, FakeRequest } from '../fake.ts'
import { isPoll, pollProblem, type FakePoll } from './polls.ts'
import { fault, inputFault } from './replies.ts'
import type { Uploads } from './uploads.ts'

export interface Post {
  readonly id: string
  readonly author: string
  commentary: string
  readonly media: readonly string[]
  readonly link: string | null
  readonly poll?: FakePoll | null
  /** The rest of the card of the link. */
  readonly card?: { readonly title?: string; readonly description?: string; readonly thumbnail?: string }
  readonly at: number
}

export interface Comment {
  readonly id: string
  readonly object: string
  readonly actor: string
  readonly text: string
  readonly at: number
}

export interface PostsState {
  readonly posts: Post[]
  readonly comments: Comment[]
  next: number
}

interface Content {
  readonly media?: { readonly id?: string; readonly title?: string; readonly altText?: string }
  readonly multiImage?: { readonly images?: readonly { readonly id?: string; readonly altText?: string }[] }
  readonly article?: {
    readonly source?: string
    readonly title?: string
    readonly description?: string
    readonly thumbnail?: string
  }
  readonly poll?: FakePoll
}

const DAY_MS = 86_400_000
const MAX_A_DAY = 150
const MAX_CHARACTERS = 3_000
const MAX_IN_ALT = 4_086
const MAX_IN_COMMENT = 1_250
const VISIBILITIES = new Set(['PUBLIC', 'CONNECTIONS', 'LOGGED_IN', 'CONTAINER'])

/** Posts and comments (learn.microsoft.com, Posts API and Comments API, 2026-11). */
export class Posts {
  readonly #state: PostsState
  readonly #clock: Clock
  readonly #uploads: Uploads

  constructor(state: PostsState, clock: Clock, uploads: Uploads) {
    this.#state = state
    this.#clock = clock
    this.#uploads = uploads
  }

  create({ body }: FakeRequest, author: string): FakeReply {
    const { distribution, lifecycleState, visibility } = body
    const commentary = (body['commentary'] as string | undefined) ?? ''
    const content = (body['content'] ?? {}) as Content
    if (body['commentary'] === undefined) return missing('commentary')
    if (!VISIBILITIES.has(String(visibility))) return inputFault(400, 'INVALID_VALUE', 'visibility is invalid')
    if (author.startsWith('urn:li:organization:') && visibility === 'CONNECTIONS') {
      return inputFault(400, 'INVALID_VALUE', 'An organization has no connections')
    }
    if (lifecycleState !== 'PUBLISHED') return missing('lifecycleState')
    if ((distribution as { feedDistribution?: string } | undefined)?.feedDistribution === undefined) {
      return missing('distribution')
    }
    const text = readLittleText(commentary)
    if (text === undefined) return inputFault(400, 'INVALID_VALUE', 'commentary is not valid Little Text')
    if (text.length > MAX_CHARACTERS) return inputFault(400, 'FIELD_LENGTH_TOO_LONG', 'commentary is too long')
    const images = content.multiImage?.images
    if (images !== undefined && (images.length < 2 || images.length > 20)) {
      return inputFault(400, 'INVALID_VALUE', 'multiImage takes 2 to 20 images')
    }
    if (images?.some(({ id }) => !this.#uploads.isPicture(id ?? '')) === true) {
      return inputFault(400, 'INVALID_VALUE', 'multiImage takes images only')
    }
    const { article, media: single, poll } = content
    const problem = isPoll(content) ? pollProblem(content) : undefined
    if (problem !== undefined) return problem
    if ([...(images ?? []), single].some((one) => (one?.altText ?? '').length > MAX_IN_ALT)) {
      return inputFault(400, 'FIELD_LENGTH_TOO_LONG', 'altText is too long')
    }
    if (article !== undefined && (!article.source || !article.title)) return missing('content.article.title')
    if (single?.id?.startsWith('urn:li:document:') === true && !single.title) return missing('content.media.title')
    const media = [...(images ?? []), ...(single === undefined ? [] : [single])].map(({ id }) => id ?? '')
    if (text.trim() === '' && media.length === 0 && article === undefined) return missing('commentary')
    if (article?.thumbnail !== undefined && !this.#uploads.isPicture(article.thumbnail)) {
      return inputFault(400, 'INVALID_VALUE', 'thumbnail takes an image')
    }
    for (const urn of [...media, ...(article?.thumbnail === undefined ? [] : [article.thumbnail])]) {
      const problem = this.#uploads.problemOf(urn, author)
      if (problem !== undefined) return problem
    }
    const refused = this.#overDay(author) ?? this.#duplicate(author, commentary, media, article?.source ?? null)
    if (refused !== undefined) return refused
    const kind = media.some((urn) => urn.startsWith('urn:li:video:')) ? 'ugcPost' : 'share'
    const id = `urn:li:${kind}:7${String((this.#state.next += 1)).padStart(18, '0')}`
    const { source: link = null, ...card } = article ?? {}
    this.#state.posts.push({
      id,
      author,
      commentary,
      media,
      link,
      card,
      poll: poll ?? null,
      at: this.#clock.now(),
    })
    return { status: 201, headers: { 'x-restli-id': id, Location: `/posts/${encodeURIComponent(id)}` } }
  }

  find(id: string): Post | undefined {
    return this.#state.posts.find((post) => post.id === id)
  }

  listOf(author: string, count: number): FakeReply {
    const own = this.#state.posts.filter((post) => post.author === author).toReversed()
    const elements = own.slice(0, count).map(({ at, commentary, id, poll }) => ({
      id,
      author,
      commentary,
      createdAt: at,
      publishedAt: at,
      lifecycleState: 'PUBLISHED',
      visibility: 'PUBLIC',
      ...(poll && { content: { poll: { ...poll, uniqueVotersCount: 0 } } }),
    }))
    return { status: 200, body: { paging: { start: 0, count, links: [] }, elements } }
  }

  update({ body, headers }: FakeRequest, post: Post): FakeReply {
    if (headers['x-restli-method'] !== 'PARTIAL_UPDATE')
      return fault(400, 'INVALID_METHOD', 'X-RestLi-Method is missing')
    const { $set } = (body['patch'] ?? {}) as { $set?: { commentary?: string } }
    const text = readLittleText($set?.commentary ?? '')
    if (text === undefined) return inputFault(400, 'INVALID_VALUE', 'commentary is not valid Little Text')
    if (text.length > MAX_CHARACTERS) return inputFault(400, 'FIELD_LENGTH_TOO_LONG', 'commentary is too long')
    post.commentary = $set?.commentary ?? ''
    return { status: 204 }
  }

  remove(post: Post): FakeReply {
    this.#state.posts.splice(this.#state.posts.indexOf(post), 1)
    return { status: 204 }
  }

  comment({ body }: FakeRequest, object: string, actor: string): FakeReply {
    const text = (body['message'] as { text?: string } | undefined)?.text ?? ''
    if (this.find(object) === undefined) return fault(404, 'NOT_FOUND', 'The post does not exist')
    if (text === '') return missing('message.text')
    if (text.length > MAX_IN_COMMENT) return inputFault(400, 'FIELD_LENGTH_TOO_LONG', 'message.text is too long')
    const id = `7${String((this.#state.next += 1)).padStart(18, '0')}`
    this.#state.comments.push({ id, object, actor, text, at: this.#clock.now() })
    return {
      status: 201,
      headers: { 'x-restli-id': id },
      body: { id, actor, object, message: { text }, commentUrn: `urn:li:comment:(${object},${id})` },
    }
  }

  commentsOf(object: string): FakeReply {
    const elements = this.#state.comments
      .filter((one) => one.object === object)
      .map(({ actor, at, id, text }) => ({ id, actor, object, message: { text }, created: { actor, time: at } }))
    return { status: 200, body: { paging: { start: 0, count: 10, links: [] }, elements } }
  }

  removeComment(object: string, id: string, actor: string | null): FakeReply {
    const index = this.#state.comments.findIndex((one) => one.object === object && one.id === id && one.actor === actor)
    if (index === -1) return fault(404, 'NOT_FOUND', 'The comment does not exist')
    this.#state.comments.splice(index, 1)
    return { status: 204 }
  }

  #overDay(author: string): FakeReply | undefined {
    const now = this.#clock.now()
    const midnight = now - (now % DAY_MS)
    const today = this.#state.posts.filter((post) => post.author === author && post.at >= midnight)
    if (today.length < MAX_A_DAY) return undefined
    const message = 'Resource level throttle MEMBER DAY limit for calls to this resource is reached.'
    const reply = fault(429, 'TOO_MANY_REQUESTS', message, 101)
    return { ...reply, headers: { ...reply.headers, Date: new Date(now).toUTCString() } }
  }

  #duplicate(author: string, commentary: string, media: readonly string[], link: string | null): FakeReply | undefined {
    const known = this.#state.posts.find(
      (post) =>
        post.author === author &&
        post.commentary === commentary &&
        post.link === link &&
        post.media.length === 0 &&
        media.length === 0,
    )
    return known && inputFault(422, 'DUPLICATE_POST', `Content is a duplicate of ${known.id}`)
  }
}

/** The text of Little Text; undefined when a reserved character is neither escaped nor part of an element. */
export function readLittleText(commentary: string): string | undefined {
  let text = ''
  for (let rest = commentary; rest !== '';) {
    const element =
      /^\{hashtag\|\\#\|((?:\\.|[^\\|{}@[\]()<>#*_~])+)\}/u.exec(rest) ??
      /^(#)[\p{L}\p{N}]+/u.exec(rest) ??
      /^\\([\\|{}@[\]()<>#*_~])/.exec(rest) ??
      /^[^\\|{}@[\]()<>#*_~]+/.exec(rest)
    if (element === null) return undefined
    const [whole, inner] = element
    if (whole.startsWith('{')) text += `#${inner?.replaceAll(/\\(.)/g, '$1')}`
    else text += whole.startsWith('\\') ? inner : whole
    rest = rest.slice(whole.length)
  }
  return text
}

function missing(field: string): FakeReply {
  return inputFault(400, 'MISSING_FIELD', `${field} is required`)
}
