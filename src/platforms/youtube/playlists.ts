import { PlatformError } from '../error-kinds.ts'
import type { AccountContext, Place } from '../platform.ts'
import { call } from './api.ts'

interface Playlists {
  readonly items?: readonly { readonly id: string; readonly snippet?: { readonly title?: string } }[]
  readonly nextPageToken?: string
}

const PAGE = 50
/** More than users see in a list. */
const MAX_PAGES = 10

/** The playlists of a channel (developers.google.com/youtube/v3/docs/playlists/list, 2026-11). @throws PlatformError */
export async function playlistsOf(context: AccountContext): Promise<readonly Place[]> {
  const found: Place[] = []
  let pageToken: string | undefined
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const query = { part: 'snippet', mine: true, maxResults: PAGE, pageToken }
    const { items = [], nextPageToken } = (await call(context, '/youtube/v3/playlists', { query })).json as Playlists
    for (const { id, snippet } of items) {
      const url = `https://www.youtube.com/playlist?list=${id}`
      found.push({ id, name: snippet?.title ?? id, kind: 'playlist', url })
    }
    pageToken = nextPageToken
    if (pageToken === undefined) break
  }
  return found
}

/**
 * Adds a video to a playlist, unless it is there already: a playlist can have a video twice
 * (developers.google.com/youtube/v3/docs/playlistItems/insert, 2026-11).
 * @returns why YouTube refuses it; undefined when the video is in the playlist
 * @throws PlatformError for an error that can end
 */
export async function addToPlaylist(
  context: AccountContext,
  playlistId: string,
  videoId: string,
): Promise<string | undefined> {
  try {
    const query = { part: 'snippet', playlistId, videoId, maxResults: 1 }
    const { items = [] } = (await call(context, '/youtube/v3/playlistItems', { query })).json as Playlists
    if (items.length > 0) return undefined
    await call(context, '/youtube/v3/playlistItems', {
      method: 'POST',
      query: { part: 'snippet' },
      json: { snippet: { playlistId, resourceId: { kind: 'youtube#video', videoId } } },
    })
    return undefined
  } catch (error) {
    if (!(error instanceof PlatformError) || error.retry !== 'never') throw error
    return error.detail ?? error.message
  }
}
