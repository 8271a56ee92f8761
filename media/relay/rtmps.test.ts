import { afterEach, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { LOCALHOST_CERTIFICATE, OTHER_CERTIFICATE, TEST_AUTHORITY } from '../testing/certificates.ts'
import { Feed } from '../testing/feed.ts'
import { startNode, type NodeFixture } from '../testing/node-fixture.ts'
import { startSink, type Sink } from '../testing/sink.ts'

let fixture: NodeFixture
let sink: Sink
let feed: Feed | undefined
afterEach(async () => {
  feed?.stop()
  await fixture.node.close()
  await sink.close()
})

async function run(tls: { key: string; cert: string }, host: string, ca: string | null): Promise<void> {
  sink = await startSink({ tls })
  const destination = { id: 'd0', url: `rtmps://${host}:${sink.port}/app`, streamKey: 'secret-key' }
  fixture = await startNode([destination], {}, ca === null ? {} : { destinationCa: ca })
  feed = new Feed(await fixture.publish()).start()
}

test.each(['localhost', '127.0.0.1'])('relays over TLS to %s', async (host) => {
  await run(LOCALHOST_CERTIFICATE, host, TEST_AUTHORITY)
  await waitFor(() => fixture.destination('d0').state === 'live')
  await waitFor(() => sink.messages('video').length > 50)
  expect(sink.last()!.connectObject['tcUrl']).toBe(`rtmps://${host}:${sink.port}/app`)
})

test.each([
  ['with an unknown issuer', LOCALHOST_CERTIFICATE, null, 'not signed by a known authority'],
  ['for another host name', OTHER_CERTIFICATE, TEST_AUTHORITY, 'belongs to another name'],
])('refuses a certificate %s', async (_what, certificate, ca, message) => {
  await run(certificate, 'localhost', ca)
  await waitFor(() => fixture.destination('d0').lastError !== null)
  expect(fixture.destination('d0').lastError!.code).toBe('tls_failed')
  expect(fixture.destination('d0').lastError!.message).toContain(message)
  // No RTMP was sent before the certificate was checked.
  expect(sink.connections.flatMap(({ commands }) => commands)).toEqual([])
})

test('reports a server without TLS behind an rtmps URL', async () => {
  sink = await startSink()
  const destination = { id: 'd0', url: `rtmps://localhost:${sink.port}/app`, streamKey: 'secret-key' }
  fixture = await startNode([destination])
  feed = new Feed(await fixture.publish()).start()
  await waitFor(() => ['tls_failed', 'connect_timeout'].includes(fixture.destination('d0').lastError?.code ?? ''))
})
