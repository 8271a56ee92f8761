import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { LOCALHOST_CERTIFICATE, OTHER_CERTIFICATE, TEST_AUTHORITY } from '../testing/certificates.ts'
import { makeFlv, publishFlv } from '../testing/ffmpeg.ts'
import { newKey, startIngest, type IngestFixture } from '../testing/ingest-fixture.ts'
import { aacFrame, avcFrame } from '../testing/media-payloads.ts'
import { TestPublisher } from '../testing/publisher.ts'
import type { IngestLimits, RtmpsSettings } from './rtmp-ingest.ts'

let folder: string
let fixture: IngestFixture | undefined
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-rtmps-'))
})
afterEach(async () => {
  await fixture?.ingest.close()
  fixture = undefined
  await rm(folder, { recursive: true })
})

async function install({ cert, key }: { cert: string; key: string }): Promise<RtmpsSettings> {
  const settings = { port: 0, certPath: join(folder, 'cert.pem'), keyPath: join(folder, 'key.pem'), reloadMs: 50 }
  await writeFile(settings.certPath, cert)
  await writeFile(settings.keyPath, key)
  return settings
}

async function start(limits: Partial<IngestLimits> = {}): Promise<number> {
  fixture = await startIngest(limits, { rtmps: await install(LOCALHOST_CERTIFICATE) })
  return fixture.ingest.rtmpsPort!
}

/** The common name in the certificate that a new connection gets. */
async function certificateName(port: number): Promise<string> {
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { CN } = socket.getPeerCertificate().subject
  socket.destroy()
  return String(CN)
}

test('receives publishers with and without TLS', async () => {
  const rtmpsPort = await start()
  const secure = await TestPublisher.connect({ port: rtmpsPort, tls: { ca: TEST_AUTHORITY, servername: 'localhost' } })
  const plain = await TestPublisher.connect({ port: fixture!.port })
  for (const publisher of [secure, plain]) {
    expect(await publisher.publish(newKey())).toMatchObject({ code: 'NetStream.Publish.Start' })
    publisher.video(0, avcFrame(true, 100_000))
    publisher.audio(20, aacFrame())
  }
  await waitFor(() => fixture!.sessions.every(({ messages }) => messages.length === 2))
  expect(fixture!.sessions.map(({ publisher }) => publisher.remoteAddress)).toEqual(['127.0.0.1', '127.0.0.1'])
  secure.close()
  plain.close()
  await waitFor(() => fixture!.ingest.connections() === 0)
})

test('receives ffmpeg over TLS', async () => {
  const rtmpsPort = await start()
  const file = join(folder, 'one.flv')
  await makeFlv(file, 1)
  await publishFlv(file, `rtmps://localhost:${rtmpsPort}/live/${newKey()}`, { realTime: false })
  await waitFor(() => fixture!.sessions[0]?.ended)
  expect(fixture!.sessions[0]!.messages.filter(({ kind }) => kind === 'video').length).toBeGreaterThanOrEqual(30)
})

test('reloads the certificate when it changes, and keeps the old one when the new one is invalid', async () => {
  const rtmpsPort = await start()
  expect(await certificateName(rtmpsPort)).toBe('localhost')
  await writeFile(join(folder, 'cert.pem'), 'nonsense')
  await waitFor(() => fixture!.lines.some((line) => line.includes('keeping the old one')))
  expect(await certificateName(rtmpsPort)).toBe('localhost')
  await install(OTHER_CERTIFICATE)
  await waitFor(async () => (await certificateName(rtmpsPort)) === 'other')
})

test('closes peers that do not speak TLS or send nothing, and no longer counts them', async () => {
  const rtmpsPort = await start({ handshakeTimeoutMs: 200, maxUnadmittedPerAddress: 3 })
  const plainHttp = connect(rtmpsPort, '127.0.0.1')
  plainHttp.on('error', () => {})
  plainHttp.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await once(plainHttp, 'close')
  const silent = Array.from({ length: 5 }, () => connect(rtmpsPort, '127.0.0.1').on('error', () => {}))
  await waitFor(() => silent.filter(({ closed }) => closed).length >= 2)
  await waitFor(() => silent.every(({ closed }) => closed))
  await waitFor(() => fixture!.ingest.connections() === 0)
  const withoutRtmp = connectTls({ port: rtmpsPort, host: '127.0.0.1', ca: TEST_AUTHORITY, servername: 'localhost' })
  withoutRtmp.on('error', () => {})
  await once(withoutRtmp, 'secureConnect')
  await once(withoutRtmp, 'close')
  await waitFor(() => fixture!.ingest.connections() === 0)
})

test('an invalid certificate rejects the start', async () => {
  const rtmps = await install({ cert: LOCALHOST_CERTIFICATE.cert, key: OTHER_CERTIFICATE.key })
  await expect(startIngest({}, { rtmps })).rejects.toThrow(/Cannot load the RTMPS certificate/)
})
