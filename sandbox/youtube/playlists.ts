import { randomBytes } from 'node:crypto'
import type { FakeReply, FakeRequest } from '../fake.ts'
import { fault, listed, type Video } from './videos.ts'

/** A playlist of a channel. */
export interface FakePlaylist {
  readonly id: string
  readonly channel: string
  readonly title: string
  readonly privacyStatus: string
  readonly at: number
  items: readonly { readonly id: string; readonly video: string; readonly at: number }[]
}

export interface PlaylistsState {
  readonly playlists: Record<string, FakePlaylist>
  readonly videos: Video[]
}

const MAX_ITEMS = 5_000
const NOT_FOUND = fault(404, 'playlistNotFound', 'The playlist cannot be found.', 'youtube.playlistItem')

/** Playlists and what is in them (developers.google.com/youtube/v3/docs/playlists and /playlistItems, 2026-11). */
export class Playlists {
  readonly #state: PlaylistsState
  readonly #now: () => number

  constructor(state: PlaylistsState, now: () => number) {
    this.#state = state
    this.#now = now
  }

  add(channel: string, title: string, privacyStatus = 'public'): FakePlaylist {
    const id = `PL${randomBytes(24).toString('base64url')}`
    return (this.#state.playlists[id] = { id, channel, title, privacyStatus, at: this.#now(), items: [] })
  }

  /** `/youtube/v3/playlists`. */
  handle({ body, method, query }: FakeRequest, channel: string): FakeReply {
    if (method === 'POST') {
      const { title = '' } = (body['snippet'] ?? {}) as { title?: string }
      const { privacyStatus } = (body['status'] ?? {}) as { privacyStatus?: string }
      if (title.trim() === '' || Array.from(title).length > 150) {
        return fault(400, 'playlistTitleRequired', 'The title is missing or too long.', 'youtube.playlist')
      }
      return { status: 200, body: this.#view(this.add(channel, title, privacyStatus)) }
    }
    const asked = query.has('id') ? listed(query, 'id') : undefined
    const all = Object.values(this.#state.playlists)
    if (method === 'DELETE') {
      const found = all.find(({ id }) => id === query.get('id'))
      if (found?.channel !== channel) return NOT_FOUND
      delete this.#state.playlists[found.id]
      return { status: 204 }
    }
    const owner = query.get('channelId') ?? channel
    const found = all.filter((one) => (asked === undefined ? one.channel === owner : asked.includes(one.id)))
    return paged(
      'youtube#playlistListResponse',
      query,
      found.toReversed().map((one) => this.#view(one)),
    )
  }

  /** `/youtube/v3/playlistItems`. The uploads of a channel are a playlist, whose id begins with UU. */
  items({ body, method, query }: FakeRequest, channel: string): FakeReply {
    if (method === 'DELETE') return this.#removeItem(query.get('id'), channel)
    if (method === 'POST') return this.#addItem(body, channel)
    const id = query.get('playlistId') ?? ''
    const owner = id.replace(/^UU/, 'UC')
    const list = this.#state.playlists[id]
    const { videos } = this.#state
    if (list === undefined && !(id.startsWith('UU') && this.#isChannel(owner, channel))) return NOT_FOUND
    const entries =
      list?.items ??
      videos
        .filter((video) => video.channel === owner)
        .toReversed()
        .map(({ at, id: video }) => ({ id: `${id}.${video}`, video, at }))
    const videoId = query.get('videoId')
    const views = entries
      .filter(({ video }) => videoId === null || video === videoId)
      .map((entry, position) => this.#itemView(id, entry, position))
    return paged('youtube#playlistItemListResponse', query, views)
  }

  #isChannel(owner: string, channel: string): boolean {
    return owner === channel || this.#state.videos.some((video) => video.channel === owner)
  }

  #addItem(body: FakeRequest['body'], channel: string): FakeReply {
    const { playlistId = '', resourceId } = (body['snippet'] ?? {}) as {
      playlistId?: string
      resourceId?: { kind?: string; videoId?: string }
    }
    const list = this.#state.playlists[playlistId]
    if (list === undefined) return NOT_FOUND
    if (list.channel !== channel) {
      return fault(403, 'playlistItemsNotAccessible', 'The request is not authorized.', 'youtube.playlistItem')
    }
    if (resourceId?.kind !== 'youtube#video') {
      return fault(400, 'invalidResourceType', 'The type of the resource is invalid.', 'youtube.playlistItem')
    }
    const video = this.#state.videos.find((one) => one.id === resourceId.videoId)
    if (video === undefined) return fault(404, 'videoNotFound', 'Video not found.', 'youtube.playlistItem')
    if (list.items.length >= MAX_ITEMS) {
      const message = 'The playlist already contains the maximum allowed number of items.'
      return fault(403, 'playlistContainsMaximumNumberOfVideos', message, 'youtube.playlistItem')
    }
    const entry = { id: randomBytes(24).toString('base64url'), video: video.id, at: this.#now() }
    list.items = [...list.items, entry]
    return { status: 200, body: this.#itemView(list.id, entry, list.items.length - 1) }
  }

  #removeItem(id: string | null, channel: string): FakeReply {
    const list = Object.values(this.#state.playlists).find(
      (one) => one.channel === channel && one.items.some((entry) => entry.id === id),
    )
    if (list === undefined) {
      return fault(404, 'playlistItemNotFound', 'The item cannot be found.', 'youtube.playlistItem')
    }
    list.items = list.items.filter((entry) => entry.id !== id)
    return { status: 204 }
  }

  #view({ at, channel, id, items, privacyStatus, title }: FakePlaylist) {
    return {
      kind: 'youtube#playlist',
      id,
      snippet: { publishedAt: new Date(at).toISOString(), channelId: channel, title, description: '' },
      status: { privacyStatus },
      contentDetails: { itemCount: items.length },
    }
  }

  #itemView(playlistId: string, { at, id, video }: { id: string; video: string; at: number }, position: number) {
    const title = this.#state.videos.find((one) => one.id === video)?.title ?? 'Deleted video'
    const resourceId = { kind: 'youtube#video', videoId: video }
    const snippet = { title, publishedAt: new Date(at).toISOString(), playlistId, position, resourceId }
    return { kind: 'youtube#playlistItem', id, snippet, contentDetails: { videoId: video } }
  }
}

/** A page of a list. Google leaves out an empty one. */
function paged(kind: string, query: URLSearchParams, all: readonly object[]): FakeReply {
  const most = Number(query.get('maxResults') ?? 5)
  if (most > 50) return fault(400, 'invalidParameter', 'maxResults is at most 50')
  const first = Number(query.get('pageToken') ?? 0)
  const items = all.slice(first, first + most)
  const next = first + most < all.length ? { nextPageToken: String(first + most) } : {}
  const pageInfo = { totalResults: all.length, resultsPerPage: most }
  return { status: 200, body: { kind, pageInfo, ...(items.length > 0 && { items }), ...next } }
}
