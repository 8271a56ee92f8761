import { afterEach, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { Feed } from '../testing/feed.ts'
import { startNode, towards } from '../testing/node-fixture.ts'
import { startSink } from '../testing/sink.ts'

const closers: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

test('sends every message to every destination', async () => {
  const sinks = [await startSink(), await startSink({ messageStreamId: 7 })]
  const fixture = await startNode(sinks.map((sink, index) => towards(sink, `d${index}`)))
  closers.push(() => fixture.node.close(), ...sinks.map((sink) => () => sink.close()))
  const publisher = await fixture.publish()
  await waitFor(() => sinks.every((sink) => sink.last()?.publishedAt))
  const feed = new Feed(publisher).start()
  await waitFor(() => fixture.destination('d0').state === 'live' && fixture.destination('d1').state === 'live')
  await waitFor(() => feed.sent.length > 200)
  feed.stop()
  for (const sink of sinks) {
    await waitFor(() => sink.messages('audio').length === feed.of('audio').length)
    for (const kind of ['audio', 'video'] as const) {
      expect(sink.messages(kind).map(({ checksum }) => checksum)).toEqual(feed.of(kind).map(({ checksum }) => checksum))
    }
  }
  expect(new Set(sinks[1]!.messages().map(({ streamId }) => streamId))).toEqual(new Set([7]))
})
