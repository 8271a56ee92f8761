import { expect, it } from 'vitest'
import { OpenCalls } from './calls.ts'
import type { RuntimeClock } from './ports.ts'

const command = { actor: 'a', operationId: 'one', caller: 'c', deadline: 1_000, payload: null }

it('waits for open calls only until the last one has ended', async () => {
  // Time stands still: nothing ends because of a limit.
  const clock: RuntimeClock = { monotonic: () => 0, soon: setImmediate, after: () => () => undefined }
  const calls = new OpenCalls(clock, 10)
  await calls.drained(5_000)
  const open = [1, 2].map(() =>
    calls.open(
      command,
      () => undefined,
      () => undefined,
    ),
  )
  const drained = calls.drained(5_000).then(() => calls.size)
  for (const call of open) call?.succeed(null)
  expect(await drained).toBe(0)
})
