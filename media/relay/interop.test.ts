import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { nginxRtmpModule, toolPath } from '../../test/support/tools.ts'
import { waitFor } from '../../test/support/wait.ts'
import { startNode, type NodeFixture } from '../testing/node-fixture.ts'

const run = promisify(execFile)
const SECONDS = 3

let folder: string
let source: string
const children: ChildProcess[] = []
let fixture: NodeFixture | undefined

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'media-interop-'))
  source = join(folder, 'source.flv')
  const video = ['-f', 'lavfi', '-i', 'testsrc2=size=320x180:rate=30', '-c:v', 'libx264', '-preset', 'ultrafast']
  const audio = ['-f', 'lavfi', '-i', 'sine=frequency=440', '-c:a', 'aac']
  const inputs = [...video.slice(0, 4), ...audio.slice(0, 4), '-t', String(SECONDS)]
  await run('ffmpeg', ['-v', 'error', ...inputs, ...video.slice(4), '-g', '30', ...audio.slice(4), '-y', source])
})

afterEach(async () => {
  await fixture?.node.close()
  fixture = undefined
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

afterAll(() => rm(folder, { recursive: true, force: true }))

function start(command: string, args: string[]): ChildProcess {
  const child = spawn(command, args, { stdio: 'ignore' })
  children.push(child)
  return child
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** MD5 of every packet of both streams, in order. */
async function packets(file: string): Promise<{ video: string[]; audio: string[] }> {
  const hashes = async (stream: string): Promise<string[]> => {
    const { stdout } = await run('ffmpeg', [
      '-v',
      'error',
      '-i',
      file,
      '-map',
      `0:${stream}:0`,
      '-c',
      'copy',
      '-f',
      'framemd5',
      '-',
    ])
    return stdout.split('\n').flatMap((line) => (/^\d/.test(line) ? [line.split(',')[5]!.trim()] : []))
  }
  return { video: await hashes('v'), audio: await hashes('a') }
}

async function nginxSink(rules = ''): Promise<{ port: number; recording: () => Promise<string> }> {
  const port = await freeLoopbackPort()
  const prefix = join(folder, 'nginx')
  const recordings = join(prefix, 'recordings')
  await mkdir(recordings, { recursive: true })
  const configuration = `
    load_module ${nginxRtmpModule()};
    daemon off;
    master_process off;
    pid ${prefix}/nginx.pid;
    error_log ${prefix}/error.log;
    events { worker_connections 64; }
    rtmp { access_log off; server { listen 127.0.0.1:${port}; application live { live on; ${rules} record all; record_path ${recordings}; } } }
  `
  await writeFile(join(prefix, 'nginx.conf'), configuration)
  start(toolPath('nginx').command, ['-p', prefix, '-c', join(prefix, 'nginx.conf'), '-e', join(prefix, 'error.log')])
  await waitFor(() => listens(port))
  return { port, recording: async () => join(recordings, (await readdir(recordings))[0]!) }
}

test('relays every packet from ffmpeg unchanged to nginx-rtmp and to ffmpeg', async () => {
  const nginx = await nginxSink()
  const ffmpegPort = await freeLoopbackPort()
  const received = join(folder, 'received.flv')
  const url = `rtmp://127.0.0.1:${ffmpegPort}/live/received-key`
  const receiver = start('ffmpeg', ['-v', 'error', '-listen', '1', '-i', url, '-c', 'copy', '-y', received])
  fixture = await startNode([
    { id: 'nginx', url: `rtmp://127.0.0.1:${nginx.port}/live`, streamKey: 'nginx-key' },
    { id: 'ffmpeg', url: `rtmp://127.0.0.1:${ffmpegPort}/live`, streamKey: 'received-key' },
  ])
  const { port, key, destination } = fixture
  // A publisher without media connects first, so that both destinations are ready before the first frame.
  const first = await fixture.publish()
  await waitFor(() => destination('nginx').state === 'publishing' && destination('ffmpeg').state === 'publishing')
  await waitFor(() => fixture!.node.status().connections === 1)
  first.close()
  const target = `rtmp://127.0.0.1:${port}/live/${key}`
  const publisher = start('ffmpeg', ['-v', 'error', '-re', '-i', source, '-c', 'copy', '-f', 'flv', target])
  await waitFor(() => destination('nginx').state === 'live' && destination('ffmpeg').state === 'live')
  await once(publisher, 'exit')
  const ended = once(receiver, 'exit')
  await fixture.node.close()
  await ended
  const [sent, byNginx, byFfmpeg] = await Promise.all([
    packets(source),
    nginx.recording().then(packets),
    packets(received),
  ])
  expect(sent.video).toHaveLength(SECONDS * 30)
  expect(byNginx).toEqual(sent)
  expect(byFfmpeg).toEqual(sent)
  expect(fixture.lines.join('\n')).not.toContain('received-key')
})

test('reports a key that is in use at nginx-rtmp, and retries until it is free', async () => {
  // Two destinations with the same key at one server: the second one is refused while the first one publishes.
  const { port } = await nginxSink()
  const url = `rtmp://127.0.0.1:${port}/live`
  fixture = await startNode([{ id: 'first', url, streamKey: 'one-key' }])
  const publisher = await fixture.publish()
  publisher.audio(0, Buffer.from('af001190', 'hex'))
  await waitFor(() => fixture!.destination('first').state === 'live')
  fixture.change({ destinations: [...fixture.stream.destinations, { id: 'second', url, streamKey: 'one-key' }] })
  await waitFor(() => fixture!.destination('second').reconnects > 3)
  expect(fixture.destination('second').lastError!.code).toBe('key_in_use')
  expect(fixture.destination('first').state).toBe('live')
  fixture.change({ destinations: fixture.stream.destinations.filter(({ id }) => id === 'second') })
  publisher.audio(20, Buffer.from('af0121', 'hex'))
  await waitFor(() => fixture!.destination('second').state === 'live')
})

test('suggests a wrong key when nginx-rtmp denies publishing', async () => {
  const { port } = await nginxSink('deny publish all;')
  fixture = await startNode([{ id: 'denied', url: `rtmp://127.0.0.1:${port}/live`, streamKey: 'one-key' }])
  const publisher = await fixture.publish()
  publisher.audio(0, Buffer.from('af001190', 'hex'))
  await waitFor(() => fixture!.destination('denied').lastError?.hint)
  expect(fixture.destination('denied').lastError!.hint).toMatch(/stream key and the application/)
})
