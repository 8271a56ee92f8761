import { expect, test } from 'vitest'
import { createLog } from './log.ts'

test('many loggers of one process add one listener for its exit', () => {
  const before = process.listenerCount('exit')
  for (let made = 0; made < 20; made += 1) createLog({ level: 'silent' })
  expect(process.listenerCount('exit') - before).toBeLessThanOrEqual(1)
})
