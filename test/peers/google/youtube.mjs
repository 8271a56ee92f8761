/** Uploads with Google's client to the fake, and keeps playlists. Arguments: the address of the fake and a token. */
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { auth, youtube } from '@googleapis/youtube'

const [url, accessToken] = process.argv.slice(-2)
const client = new auth.OAuth2()
client.setCredentials({ access_token: accessToken })
const api = youtube({ version: 'v3', auth: client })
/** The client ignores a global rootUrl for uploads. */
const options = { rootUrl: `${url}/`, retry: false }

const { data: mine } = await api.channels.list({ part: ['snippet'], mine: true }, options)
assert.equal(mine.items?.length, 1)
const { data: video } = await api.videos.insert(
  {
    part: ['snippet', 'status'],
    requestBody: { snippet: { title: 'By Google', description: 'One request' }, status: { privacyStatus: 'unlisted' } },
    media: { mimeType: 'video/mp4', body: Readable.from([Buffer.alloc(300_000, 7)]) },
  },
  options,
)
assert.equal(video.snippet?.title, 'By Google')
assert.equal(video.status?.privacyStatus, 'unlisted')
const { data: list } = await api.playlists.insert(
  { part: ['snippet', 'status'], requestBody: { snippet: { title: 'Ours' }, status: { privacyStatus: 'private' } } },
  options,
)
const playlistId = list.id ?? ''
const { data: item } = await api.playlistItems.insert(
  {
    part: ['snippet'],
    requestBody: { snippet: { playlistId, resourceId: { kind: 'youtube#video', videoId: video.id ?? '' } } },
  },
  options,
)
assert.equal(item.snippet?.resourceId?.videoId, video.id)
const { data: lists } = await api.playlists.list({ part: ['snippet', 'contentDetails'], mine: true }, options)
assert.ok(lists.items?.some(({ contentDetails, id }) => id === playlistId && contentDetails?.itemCount === 1))
const { data: items } = await api.playlistItems.list(
  { part: ['snippet'], playlistId, videoId: video.id ?? '' },
  options,
)
assert.equal(items.items?.length, 1)
await assert.rejects(
  api.playlistItems.list({ part: ['snippet'], playlistId: 'PLunknown' }, options),
  ({ code, status }) => (status ?? Number(code)) === 404,
)
await api.playlistItems.delete({ id: item.id ?? '' }, options)
await api.playlists.delete({ id: playlistId }, options)
await api.videos.delete({ id: video.id ?? '' }, options)
console.log('a multipart upload, a playlist and its items')
