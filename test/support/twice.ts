import { afterEach } from 'vitest'

/**
 * Fails the first attempt of every test that passed, so that it runs again on what the first attempt left behind. A test
 * whose second attempt fails could never pass when CI retries it. For `npm run test:twice`.
 */
afterEach(({ task }) => {
  if (task.result?.state === 'fail' || (task.result?.retryCount ?? 0) > 0) return
  throw new Error(FORCED)
})

const FORCED = 'this attempt is repeated by test:twice'
