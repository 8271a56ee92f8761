import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runFfmpeg } from '../../media/testing/ffmpeg.ts'
import { expectStatus, PostWorld } from '../support/post-world.ts'
import { Sockets } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'

/**
 * From a recording to a publication on a fresh installation, without a model: caption, post, transcript, subtitles, a video
 * of the studio, its asset, and the publication at a sandbox.
 */

const SPOKEN = ['Hello from the stage.', 'The tour begins in May.']
let world: PostWorld
let folder: string
const sockets = new Sockets(() => world.app)

beforeEach(async () => {
  world = await PostWorld.start('flow')
  folder = await mkdtemp(join(tmpdir(), 'crier-flow-'))
})
afterEach(async () => {
  sockets.end()
  await world.stop()
  await rm(folder, { recursive: true, force: true })
})

/** The result of a job that was requested; again while the file has not been examined. */
async function result(route: string, body: object) {
  const requested = await waitFor(
    async () => {
      const reply = await world.send(route, { body: { workspaceId: world.workspaceId, ...body } })
      return reply.body.code === 'not_transcribable' ? undefined : reply
    },
    { what: 'an examined file' },
  )
  const { _id: id } = expectStatus(requested, 202).data
  return waitFor(
    async () => {
      const { data } = (await world.send('GET /api/ai/jobs/{id}', { path: { id } })).body
      if (data.state === 'failed') throw new Error(data.error)
      return data.state === 'done' ? data.result : undefined
    },
    { what: `the end of ${route}` },
  )
}

async function upload(name: string, type: string, content: Uint8Array<ArrayBuffer>): Promise<string> {
  const body = { workspaceId: world.workspaceId }
  return expectStatus(await world.send('POST /api/assets/upload', { body, file: { name, type, content } }), 201).data
    ._id
}

/** A video of two seconds with embedded subtitles. */
async function recording(): Promise<Uint8Array<ArrayBuffer>> {
  const at = (name: string) => join(folder, name)
  const cues = SPOKEN.map((text, index) => `${index + 1}\n00:00:0${index},000 --> 00:00:0${index + 1},000\n${text}\n`)
  await writeFile(at('talk.srt'), cues.join('\n'))
  const picture = ['-f', 'lavfi', '-i', 'color=black:size=64x64:rate=5:duration=2']
  await runFfmpeg(...picture, '-i', at('talk.srt'), '-c:v', 'libx264', '-c:s', 'mov_text', at('talk.mp4'))
  return new Uint8Array(await readFile(at('talk.mp4')))
}

test('caption, post, transcript, subtitles, studio video, asset, publication', async () => {
  const { events } = await sockets.connect(world.owner.apiKey)
  const accountId = await world.account()
  const assetId = await upload('talk.mp4', 'video/mp4', await recording())
  const altText = 'The band greets the audience.'
  expectStatus(await world.send('PATCH /api/assets/{id}', { path: { id: assetId }, body: { altText } }), 200)

  const { captions } = await result('POST /api/ai/captions', { assetId, platforms: ['mastodon'], variantCount: 1 })
  expect(captions).toMatchObject([{ platform: 'mastodon', origin: 'selected', model: null }])
  const content: string = captions[0].content
  expect(content).toContain('The band greets the audience.')
  // A caption is only text until somebody asks for its publication.
  const post = await world.create({ content, targets: [{ accountId }] })
  expect(post.status).toBe('draft')

  const { transcript } = await result('POST /api/ai/transcriptions', { assetId })
  expect(transcript).toMatchObject({ origin: 'subtitles', text: SPOKEN.join('\n') })
  expect(transcript.srt).toContain(`00:00:01,000 --> 00:00:02,000\n${SPOKEN[1]}`)

  const made = await world.send('POST /api/studio/templates/{templateKey}/projects', {
    path: { templateKey: 'subtitles' },
    body: {
      workspaceId: world.workspaceId,
      name: 'Greeting',
      values: { videoAssetId: assetId, transcriptId: transcript._id },
    },
  })
  const project = expectStatus(made, 201).data
  const texts = project.projectData.pages.flatMap(({ layers }: { layers: { kind: string; text?: string }[] }) =>
    layers.filter(({ kind }) => kind === 'text').map(({ text }) => text),
  )
  expect(texts).toEqual(SPOKEN)
  const path = { id: project._id }
  const requested = await world.send('POST /api/studio/projects/{id}/render', { path, body: { format: 'mp4' } })
  const { _id: renderId } = expectStatus(requested, 202).data
  const rendered = await waitFor(
    async () => {
      const { data } = (await world.send('GET /api/studio/renders/{id}', { path: { id: renderId } })).body
      if (data.status === 'failed') throw new Error(data.error)
      return data.status === 'done' ? data : undefined
    },
    { what: 'a rendered video' },
  )
  const [videoId] = rendered.assetIds
  const video = await waitFor(async () => {
    const { data } = (await world.send('GET /api/assets/{id}', { path: { id: videoId } })).body
    return data.duration === null ? undefined : data
  })
  expect(video).toMatchObject({ name: 'Greeting.mp4', kind: 'video', width: 1080, height: 1920 })
  expect(video.duration).toBeCloseTo(2, 0)

  expectStatus(await world.on(post._id, 'PATCH ', { body: { media: [{ assetId: videoId }] } }), 200)
  expectStatus(await world.on(post._id, 'publish'), 200)
  const published = await world.passing(post._id, ({ status }) => status === 'published')
  expect(published.targets).toMatchObject([{ status: 'published' }])
  expect(await world.published('The band greets the audience.')).toHaveLength(1)
  const names = new Set(events.map(({ name }) => name))
  for (const name of ['aiJob.created', 'aiJob.updated', 'post.created']) expect(names).toContain(name)
})
