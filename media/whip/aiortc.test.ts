import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { findAiortc } from '../../test/support/tools.ts'
import { waitFor } from '../../test/support/wait.ts'
import { useFfmpeg } from '../testing/ffmpeg.ts'
import { hashOf, startNodeWithSinks, type NodeWithSinks } from '../testing/node-fixture.ts'
import { startSink } from '../testing/sink.ts'

/** Publishes with aiortc, a WebRTC implementation that shares no code with ours: SDP, ICE, DTLS, SRTP and RTCP feedback. */

const SCRIPT = fileURLToPath(new URL('../testing/aiortc-whip.py', import.meta.url))
/** Python encodes in real time, also on a busy machine. */
const aiortc = findAiortc()
if (aiortc === undefined)
  console.warn('Not tested with aiortc: the package python3-aiortc is missing or does not work.')

let scene: NodeWithSinks
let server: Server
let client: ChildProcess | undefined
let clientStderr = ''

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const offer = { path: scene.stream.path, keyHash: hashOf('the token'), remoteAddress: '127.0.0.1' }
  const reply = await scene.node.whip({ type: 'offer', ...offer, normalise: false, sdp: await text(request) })
  const isAccepted = reply.ok && reply.session !== undefined
  response.writeHead(isAccepted ? 201 : 400, { 'Content-Type': 'application/sdp' })
  response.end(isAccepted ? reply.sdp : JSON.stringify(reply))
}

beforeAll(async () => {
  scene = await startNodeWithSinks(
    [await startSink()],
    {},
    { whip: { host: '127.0.0.1', port: 0, ffmpeg: await useFfmpeg() } },
  )
  scene.change({ whipHash: hashOf('the token') })
  server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterEach(async () => {
  client?.stdin?.end()
  await waitFor(() => scene.node.status().streams[0]?.ingest === null)
  client?.kill('SIGKILL')
  for (const { messages } of scene.sinks[0]!.connections) messages.length = 0
})
afterAll(async () => {
  server?.close()
  await scene?.close()
})

test.skipIf(aiortc === undefined).each(['H264', 'VP8'])('accepts %s and Opus from aiortc', async (codec) => {
  const { port } = server.address() as AddressInfo
  const { command, env } = aiortc!
  client = spawn(command, [SCRIPT, `http://127.0.0.1:${port}/whip`, 'the token', codec], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  clientStderr = ''
  client.stderr!.setEncoding('utf8').on('data', (more: string) => (clientStderr += more))
  const frames = (kind: 'audio' | 'video') =>
    scene.sinks[0]!.messages(kind).filter(({ isSequenceHeader }) => !isSequenceHeader)
  await waitFor(() => client!.exitCode !== null || (frames('video').length > 60 && frames('audio').length > 90))
  expect(client.exitCode, clientStderr).toBeNull()
  expect(scene.node.status().streams[0]?.ingest).toMatchObject({ videoCodec: 'h264', audioCodec: 'aac' })
  const times = frames('video').map(({ timestamp }) => timestamp)
  expect(times).toEqual(times.toSorted((a, b) => a - b))
  expect(frames('video')[0]).toMatchObject({ isKeyframe: true })
})
