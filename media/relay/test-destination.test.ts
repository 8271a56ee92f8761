import { afterEach, expect, test } from 'vitest'
import { LOCALHOST_CERTIFICATE, TEST_AUTHORITY } from '../testing/certificates.ts'
import { startSink, type Sink, type SinkOptions } from '../testing/sink.ts'
import { testDestination } from './test-destination.ts'

const open: Sink[] = []
afterEach(async () => {
  for (const sink of open.splice(0)) await sink.close()
})

async function sinkWith(options: SinkOptions): Promise<Sink> {
  const sink = await startSink(options)
  open.push(sink)
  return sink
}

const TIMEOUTS = { resolveMs: 1_000, connectMs: 1_000, handshakeMs: 300, publishMs: 300, closeMs: 300 }
const run = (url: string, options: object = {}) =>
  testDestination({
    url,
    streamKey: 'a-secret-key',
    allowPrivateAddresses: true,
    clip: undefined,
    mediaMs: 300,
    timeouts: TIMEOUTS,
    ...options,
  })

test('a server that accepts the stream gets media, acknowledges it, and is left in order', async () => {
  const sink = await sinkWith({})
  const report = await run(`rtmp://127.0.0.1:${sink.port}/live`)
  expect(report).toMatchObject({
    passed: ['resolve', 'connect', 'handshake', 'publish', 'media'],
    failed: null,
    fault: null,
    sent: 'silence',
  })
  expect(report.bytesAcknowledged).toBe(report.bytesSent)
  const connection = sink.last()
  expect(connection?.streamKey).toBe('a-secret-key')
  expect(connection?.of('audio').length).toBeGreaterThan(10)
  expect(connection?.commands.map(({ name }) => name)).toContain('deleteStream')
})

test('each failure names the step that it got to', async () => {
  const refused = await sinkWith({ refuse: { code: 'NetStream.Publish.BadName' } })
  const silent = await sinkWith({ blackhole: true })
  const ignoring = await sinkWith({ ignorePublish: true })
  const closing = await sinkWith({ closes: 'at publish' })
  const closed = await startSink()
  await closed.close()
  const at = (sink: Sink, scheme = 'rtmp') => `${scheme}://127.0.0.1:${sink.port}/live`
  const cases = [
    [at(refused), 'publish', 'rejected'],
    [at(silent), 'handshake', 'handshake_failed'],
    [at(ignoring), 'publish', 'publish_timeout'],
    [at(closing), 'publish', 'closed_on_publish'],
    [at(closed), 'connect', 'connection_refused'],
    [at(refused, 'rtmps'), 'tls', 'tls_failed'],
    ['rtmp://no-such-host.invalid/live', 'resolve', 'dns_failed'],
  ] as const
  for (const [url, failed, code] of cases) {
    const report = await run(url)
    expect({ url, failed: report.failed, code: report.fault?.code }).toEqual({ url, failed, code })
    expect(report.passed).not.toContain(failed)
    expect(JSON.stringify(report)).not.toContain('a-secret-key')
  }
})

test('a private address is refused before a connection is opened', async () => {
  const sink = await sinkWith({})
  const report = await run(`rtmp://127.0.0.1:${sink.port}/live`, { allowPrivateAddresses: false })
  expect(report).toMatchObject({ passed: [], failed: 'resolve', fault: { code: 'address_refused' } })
  expect(sink.connections).toHaveLength(0)
})

test('a server with TLS passes the step tls', async () => {
  const sink = await sinkWith({ tls: LOCALHOST_CERTIFICATE })
  const report = await run(`rtmps://localhost:${sink.port}/live`, { ca: TEST_AUTHORITY })
  expect(report.passed).toEqual(['resolve', 'connect', 'tls', 'handshake', 'publish', 'media'])
})
