import { expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { newKey } from '../testing/ingest-fixture.ts'
import { avcFrame } from '../testing/media-payloads.ts'
import { floodUntilClosed, useIngest } from '../testing/use-ingest.ts'

const { start, connect } = useIngest()

test('the host decides before Publish.Start; a refused publisher gets the reason and none of its media is delivered', async () => {
  let refuse = (): void => {}
  const asked = new Promise<void>((resolve) => (refuse = resolve))
  const fixture = await start(
    {},
    { authorizePublish: async () => (await asked, { allowed: false, reason: 'This key was replaced.' }) },
  )
  const publisher = await connect(fixture, { ignoreFin: true })
  const reply = publisher.publish(newKey())
  for (let index = 0; index < 50; index++) publisher.video(index, avcFrame(true))
  // A reply shows that the server has processed everything up to `publish`.
  await waitFor(() => publisher.messages.length > 0)
  expect(publisher.statuses).toEqual([])
  refuse()
  expect(await reply).toEqual({
    level: 'error',
    code: 'NetStream.Publish.BadName',
    description: 'This key was replaced.',
  })
  // The peer ignores the FIN and keeps sending. The server destroys its socket.
  await floodUntilClosed(publisher)
  expect(fixture.sessions).toEqual([])
  expect(publisher.messages.some((one) => one.payload.includes('Publish.Start'))).toBe(false)
  await waitFor(() => fixture.ingest.connections() === 0)
})

test.each(['', 'mystream', 'mystream1-tooshort', '../../etc/passwd'])(
  'refuses %j, which is not a key, without asking the host',
  async (name) => {
    const fixture = await start()
    const publisher = await connect(fixture)
    expect(await publisher.publish(name)).toMatchObject({ code: 'NetStream.Publish.BadName' })
    expect(fixture.requests).toEqual([])
  },
)

test('refuses a publisher when the check fails or times out', async () => {
  const failing = await start({}, { authorizePublish: () => Promise.reject(new Error('database is down')) })
  expect(await (await connect(failing)).publish(newKey())).toMatchObject({ code: 'NetStream.Publish.BadName' })
  const hanging = await start({ authorizeTimeoutMs: 50 }, { authorizePublish: () => new Promise(() => {}) })
  const reply = await (await connect(hanging)).publish(newKey())
  expect(reply?.description).toContain('could not be checked')
})

test('media sent before the reply is buffered within limits and delivered after admission', async () => {
  let admit = (): void => {}
  const asked = new Promise<void>((resolve) => (admit = resolve))
  const fixture = await start(
    {},
    {
      authorizePublish: async ({ path, keyHash }) => {
        await asked
        return { allowed: true, stream: { streamId: 's', path, keyHash, live: true, destinations: [] } }
      },
    },
  )
  const publisher = await connect(fixture)
  const reply = publisher.publish(newKey())
  for (let index = 0; index < 100; index++) publisher.video(index, avcFrame(true, 20_000))
  await waitFor(() => publisher.socket.writableLength > 0 || publisher.socket.bytesWritten > 2_000_000)
  expect(fixture.sessions).toEqual([])
  admit()
  expect(await reply).toMatchObject({ code: 'NetStream.Publish.Start' })
  await waitFor(() => fixture.sessions[0]?.messages.length === 100)
})

test('refuses players', async () => {
  const fixture = await start()
  const live = await connect(fixture)
  const key = newKey()
  await live.publish(key)
  const player = await connect(fixture)
  player.command('play', 4, null, key)
  await player.closed
  expect(player.statuses).toMatchObject([{ level: 'error', code: 'NetStream.Play.Failed' }])
  expect(fixture.sessions[0]?.ended).toBeNull()
})

test('refuses other application names', async () => {
  const fixture = await start()
  const publisher = await connect(fixture, { app: 'other/app' })
  await publisher.closed
  expect(publisher.statuses).toMatchObject([{ code: 'NetConnection.Connect.Rejected' }])
})

test('a newer publisher takes over, and media of the older one is no longer delivered', async () => {
  const fixture = await start()
  const key = newKey()
  const older = await connect(fixture, { ignoreFin: true })
  await older.publish(key)
  older.video(0, avcFrame(true))
  await waitFor(() => fixture.sessions[0]?.messages.length === 1)
  const flooding = floodUntilClosed(older)
  const newer = await connect(fixture)
  expect(await newer.publish(key)).toMatchObject({ code: 'NetStream.Publish.Start' })
  expect(fixture.sessions[0]?.ended).toBe('replaced')
  const delivered = fixture.sessions[0]!.messages.length
  newer.video(5, avcFrame(true))
  await waitFor(() => fixture.sessions[1]?.messages.length === 1)
  await flooding
  expect(fixture.sessions[0]?.messages).toHaveLength(delivered)
  expect(fixture.sessions[1]?.ended).toBeNull()
})

test('of two publishers that await authorization, the later one wins', async () => {
  const answers: (() => void)[] = []
  const fixture = await start(
    {},
    {
      authorizePublish: async ({ path, keyHash }) => {
        await new Promise<void>((resolve) => answers.push(resolve))
        return { allowed: true, stream: { streamId: 's', path, keyHash, live: true, destinations: [] } }
      },
    },
  )
  const key = newKey()
  const [first, second] = [await connect(fixture), await connect(fixture)]
  const firstAnswer = first.publish(key)
  await waitFor(() => answers.length === 1)
  const secondAnswer = second.publish(key)
  await waitFor(() => answers.length === 2)
  answers[1]!()
  expect(await secondAnswer).toMatchObject({ code: 'NetStream.Publish.Start' })
  answers[0]!()
  expect(await firstAnswer).toMatchObject({ code: 'NetStream.Publish.BadName' })
  expect(fixture.sessions.map((session) => session.ended)).toEqual([null])
})

test('drop destroys the socket of a publisher that ignores the FIN, and delivers nothing more', async () => {
  const fixture = await start()
  const publisher = await connect(fixture, { ignoreFin: true })
  await publisher.publish(newKey())
  // Dropped during a delivery: the rest of the same read must not be delivered.
  const session = fixture.sessions[0]!
  session.publisher.onMessage = (message) => {
    session.messages.push(message)
    session.publisher.drop('minutes used up')
  }
  publisher.write(
    Buffer.concat(
      [0, 1, 2].map((timestamp) =>
        publisher.encoder.encode({ type: 9, streamId: 1, chunkStreamId: 6, timestamp, payload: avcFrame(true) }),
      ),
    ),
  )
  await floodUntilClosed(publisher)
  expect(session.ended).toBe('minutes used up')
  expect(session.messages).toHaveLength(1)
})
