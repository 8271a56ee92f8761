import { expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { runFfmpeg } from '../testing/ffmpeg.ts'
import { newKey } from '../testing/ingest-fixture.ts'
import { useIngest } from '../testing/use-ingest.ts'

const { start, connect } = useIngest()

test('refusals are logged individually at first, then only counted', async () => {
  const limits = { maxUnadmitted: 1_000, maxUnadmittedPerAddress: 1_000 }
  const refuse = async () => ({ allowed: false as const, reason: 'unknown key' })
  const fixture = await start(limits, { authorizePublish: refuse })
  const startedAt = performance.now()
  const refusals = () => fixture.lines.filter((line) => line.includes('peer refused'))
  const url = `rtmp://127.0.0.1:${fixture.port}/live/${newKey()}`
  await expect(runFfmpeg('-f', 'lavfi', '-i', 'sine', '-c:a', 'aac', '-t', '1', '-f', 'flv', url)).rejects.toThrow()
  expect(refusals()).toEqual([expect.stringContaining('unknown key')])
  for (let round = 0; round < 20; round++) {
    const peers = await Promise.all(Array.from({ length: 20 }, () => connect(fixture)))
    for (const peer of peers) expect((await peer.publish(newKey()))?.code).toBe('NetStream.Publish.BadName')
    for (const peer of peers) peer.close()
  }
  await waitFor(() => fixture.ingest.connections() === 0)
  await fixture.ingest.close()
  // Five lines and one with the count per started ten seconds.
  const windows = Math.ceil((performance.now() - startedAt) / 10_000) + 1
  expect(refusals().length).toBeLessThanOrEqual(6 * windows)
  const counts = refusals().flatMap((line) => /"count":(\d+)/.exec(line)?.[1] ?? [])
  const individual = refusals().length - counts.length
  expect(individual + counts.reduce((sum, count) => sum + Number(count), 0)).toBe(401)
})
