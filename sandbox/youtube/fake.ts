import { randomBytes } from 'node:crypto'
import type { Fake, FakeOptions, FakeReply, FakeRequest, SandboxPost } from '../fake.ts'
import { FakeOAuth, newOAuthState, type OAuthState, type TokenHolder } from '../oauth-server.ts'
import { Playlists, type PlaylistsState } from './playlists.ts'
import { fault, listed, Videos, type VideosState } from './videos.ts'

interface Channel {
  readonly id: string
  readonly handle: string
  /** Whether the Google account has made a channel. */
  exists: boolean
  /** When the grant was given. */
  since: number
  /** Set by tests. */
  followers?: number
}

interface Comment {
  readonly id: string
  readonly video: string
  readonly channel: string
  text: string
  readonly at: number
}

interface State extends VideosState, PlaylistsState {
  readonly oauth: OAuthState
  readonly channels: Record<string, Channel>
  readonly comments: Comment[]
  /** Whether the consent screen of the app is in testing. */
  testing: boolean
  next: number
}

const SCOPE = 'https://www.googleapis.com/auth/youtube'
const SCOPES = [SCOPE, `${SCOPE}.upload`, `${SCOPE}.readonly`, `${SCOPE}.force-ssl`]
const HOUR = 3_600
const TESTING_MS = 7 * 86_400_000
const MAX_IN_COMMENT = 10_000

/** Google’s OAuth and the YouTube Data API v3 (developers.google.com/youtube/v3, 2026-11). */
export function youtubeFake({ clock, state }: FakeOptions<State>): Fake<State> {
  const kept: State = {
    oauth: newOAuthState(),
    channels: {},
    videos: [],
    playlists: {},
    sessions: {},
    comments: [],
    audited: true,
    phoneVerified: true,
    channelLimit: 100,
    rejectNext: null,
    testing: false,
    next: 0,
    ...state,
  }
  const channel = (handle: string): Channel => {
    const known = Object.values(kept.channels).find((one) => one.handle === handle)
    if (known !== undefined) return known
    const id = `UC${randomBytes(16).toString('base64url')}`
    // An account with this name has not made a channel.
    return (kept.channels[id] = { id, handle, exists: handle !== 'without_channel', since: clock.now() })
  }
  const oauth = new FakeOAuth({
    title: 'Google',
    clock,
    state: kept.oauth,
    scopes: SCOPES,
    accountOf: (name) => channel(name).id,
    clientAuth: 'body',
    pkce: 'optional',
    accessLife: HOUR,
    refresh: 'reusable',
    repeatsRefreshToken: false,
  })
  const videos = new Videos(kept, clock)
  const playlists = new Playlists(kept, () => clock.now())

  const token = (request: FakeRequest): FakeReply => {
    const { code, refresh_token: refreshToken = '' } = request.body as Record<string, string | undefined>
    const { refreshTokens } = kept.oauth
    const known = kept.channels[kept.oauth.codes[code ?? '']?.account ?? '']
    if (known !== undefined) known.since = clock.now()
    const owner = kept.channels[refreshTokens[refreshToken]?.account ?? '']
    if (kept.testing && owner !== undefined && owner.since + TESTING_MS <= clock.now()) oauth.revoke(refreshToken)
    return oauth.token(request)
  }

  const revoke = ({ body }: FakeRequest): FakeReply =>
    oauth.revoke(String(body['token']))
      ? { status: 200, body: {} }
      : { status: 400, body: { error: 'invalid_token', error_description: 'Token expired or revoked' } }

  const channels = ({ base, query }: FakeRequest, { account }: TokenHolder): FakeReply => {
    const known = kept.channels[account]
    const pageInfo = { totalResults: 0, resultsPerPage: 5 }
    // Google leaves out an empty list.
    if (known?.exists !== true) return { status: 200, body: { kind: 'youtube#channelListResponse', pageInfo } }
    const parts = listed(query, 'part')
    const snippet = {
      title: known.handle,
      customUrl: `@${known.handle}`,
      thumbnails: { default: { url: `${base}/${known.id}.jpg` } },
    }
    const longUploadsStatus = kept.phoneVerified ? 'allowed' : 'eligible'
    const status = { privacyStatus: 'public', isLinked: true, longUploadsStatus, madeForKids: false }
    const item = {
      kind: 'youtube#channel',
      id: known.id,
      ...(parts.includes('snippet') && { snippet }),
      ...(parts.includes('status') && { status }),
      ...(parts.includes('statistics') && {
        statistics: {
          viewCount: '0',
          subscriberCount: String(known.followers ?? 0),
          hiddenSubscriberCount: false,
          videoCount: String(kept.videos.filter((video) => video.channel === known.id).length),
        },
      }),
    }
    return { status: 200, body: { kind: 'youtube#channelListResponse', pageInfo, items: [item] } }
  }

  const ofVideos = (request: FakeRequest, { account }: TokenHolder): FakeReply => {
    const { method, query } = request
    if (method === 'PUT') return videos.update(request, account)
    if (method === 'DELETE') return videos.remove(query.get('id'), account)
    const parts = listed(query, 'part')
    const found = listed(query, 'id').flatMap((id) => videos.find(id) ?? [])
    if (parts.includes('status')) for (const video of found) videos.process(video)
    const items = found.map((video) => videos.view(video, parts))
    return { status: 200, body: { kind: 'youtube#videoListResponse', items } }
  }

  const threadView = ({ at, channel: author, id, text, video }: Comment) => ({
    kind: 'youtube#commentThread',
    id,
    snippet: {
      videoId: video,
      topLevelComment: {
        id,
        snippet: {
          textOriginal: text,
          textDisplay: text,
          authorChannelId: { value: author },
          publishedAt: new Date(at).toISOString(),
        },
      },
    },
  })

  const threads = ({ body, method, query }: FakeRequest, { account }: TokenHolder): FakeReply => {
    const { topLevelComment, videoId } = (body['snippet'] ?? {}) as {
      videoId?: string
      topLevelComment?: { snippet?: { textOriginal?: string } }
    }
    const video = videos.find(videoId ?? query.get('videoId'))
    if (video === undefined) return fault(404, 'videoNotFound', 'The video cannot be found.', 'youtube.commentThread')
    if (video.madeForKids) {
      return fault(403, 'commentsDisabled', 'The video has disabled comments.', 'youtube.commentThread')
    }
    if (method === 'GET') {
      const items = kept.comments.filter((one) => one.video === video.id).toReversed()
      return { status: 200, body: { kind: 'youtube#commentThreadListResponse', items: items.map(threadView) } }
    }
    const text = topLevelComment?.snippet?.textOriginal ?? ''
    if (text === '') return fault(400, 'commentTextRequired', 'The comment has no text.', 'youtube.commentThread')
    if (Array.from(text).length > MAX_IN_COMMENT) return fault(400, 'commentTextTooLong', 'The comment is too long.')
    const comment = {
      id: `Ug${randomBytes(15).toString('base64url')}`,
      video: video.id,
      channel: account,
      text,
      at: clock.now(),
    }
    kept.comments.push(comment)
    return { status: 200, body: threadView(comment) }
  }

  const comments = ({ body, method, query }: FakeRequest, { account }: TokenHolder): FakeReply => {
    const id = method === 'DELETE' ? query.get('id') : body['id']
    const index = kept.comments.findIndex((one) => one.id === id && one.channel === account)
    const comment = kept.comments[index]
    if (comment === undefined) return fault(404, 'commentNotFound', 'The comment cannot be found.', 'youtube.comment')
    if (method === 'DELETE') {
      kept.comments.splice(index, 1)
      return { status: 204 }
    }
    comment.text = (body['snippet'] as { textOriginal?: string } | undefined)?.textOriginal ?? comment.text
    return { status: 200, body: threadView(comment).snippet.topLevelComment }
  }

  const asAccount = (request: FakeRequest, holder: TokenHolder): FakeReply => {
    const { method, path } = request
    const isUpload = method === 'POST' && path === '/upload/youtube/v3/videos'
    const needed = isUpload ? ['upload', 'force-ssl'] : method === 'GET' ? ['readonly', 'force-ssl'] : ['force-ssl']
    if (!needed.some((name) => holder.scopes.includes(`${SCOPE}.${name}`)) && !holder.scopes.includes(SCOPE)) {
      const message = 'Request had insufficient authentication scopes.'
      return fault(403, 'insufficientPermissions', message, 'global')
    }
    if (path === '/youtube/v3/channels') return channels(request, holder)
    if (kept.channels[holder.account]?.exists !== true) {
      return fault(401, 'youtubeSignupRequired', 'Unauthorized', 'youtube.header')
    }
    if (isUpload) return videos.upload(request, holder.account)
    if (path === '/upload/youtube/v3/thumbnails/set') return videos.thumbnail(request, holder.account)
    if (path === '/youtube/v3/videos') return ofVideos(request, holder)
    if (path === '/youtube/v3/playlists') return playlists.handle(request, holder.account)
    if (path === '/youtube/v3/playlistItems') return playlists.items(request, holder.account)
    if (path === '/youtube/v3/commentThreads') return threads(request, holder)
    return path === '/youtube/v3/comments' ? comments(request, holder) : fault(404, 'notFound', 'Not Found', 'global')
  }

  return {
    state: kept,
    handle: (request) => {
      const { method, path } = request
      if (path === '/o/oauth2/v2/auth') return oauth.authorize(request)
      if (method === 'POST' && path === '/token') return token(request)
      if (method === 'POST' && path === '/revoke') return revoke(request)
      if (method === 'PUT' && path === '/upload/youtube/v3/videos') return videos.put(request)
      const holder = oauth.holder(request)
      return holder === undefined
        ? fault(401, 'authError', 'Invalid Credentials', 'global')
        : asAccount(request, holder)
    },
    newAccount: () => {
      const { id } = channel(`sandbox_${(kept.next += 1)}`)
      playlists.add(id, 'Sandbox playlist')
      return oauth.grant(id)
    },
    posts: () => [
      ...kept.videos.map(({ at, channel: author, id, thumbnail, title, type }): SandboxPost => ({
        id,
        account: kept.channels[author]?.handle ?? author,
        text: title,
        media: thumbnail === null ? [type] : [type, thumbnail],
        replyTo: null,
        publishedAt: new Date(at).toISOString(),
      })),
      ...kept.comments.map(({ at, channel: author, id, text, video }): SandboxPost => ({
        id,
        account: kept.channels[author]?.handle ?? author,
        text,
        media: [],
        replyTo: video,
        publishedAt: new Date(at).toISOString(),
      })),
    ],
  }
}
